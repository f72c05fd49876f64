package numbered

import (
	"errors"
	"fmt"

	"github.com/weftrpc/weft/codec/internal/plain"
	"github.com/weftrpc/weft/codec/internal/tags"
)

// ErrCollision is the error of a plain struct of which two fields have one number.
var ErrCollision = errors.New("two fields have one number")

// plain completes the node of the plain struct n.typ: its fields have numbers by their names.
func (c *compiler) plain(n *node) error {
	sent, rest, err := plain.Fields(n.typ)
	if err != nil {
		return err
	}
	for _, f := range rest {
		n.others = append(n.others, other{f.At, f.Type, f.Name})
	}
	for _, f := range sent {
		value, err := c.field(f.Type, "")
		if err != nil {
			return fmt.Errorf("%s.%s: %w", n.typ, f.Name, err)
		}
		number := tags.NumberOf(f.JSON)
		n.declare(number, f.JSON, f.Path)
		n.fields = append(n.fields, field{number: number, at: f.At, node: value, name: f.Name})
	}
	return n.order(true)
}
