package fields

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
	"github.com/weftrpc/weft/schema"
)

// within is how long a server may take to describe a method before it is called without that.
const within = 2 * time.Second

// Learn asks the server of a target, or those that the registry has, for the fields and the kind of the request of a
// method. The error says why they are not known.
func Learn(ctx context.Context, p *shell.Shell, t *target.Target, method string) (f *Fields, kind string, err error) {
	ctx, cancel := context.WithTimeout(ctx, min(within, p.Settings.Timeout/4))
	defer cancel()
	err = t.Models(ctx, p, method, func(m *schema.Model) bool {
		f, kind = in(m, method)
		return f != nil
	})
	switch {
	case f != nil:
		f.plain = strings.HasPrefix(t.Scheme(), "rpcx")
	case err == nil:
		err = fmt.Errorf("it does not describe the method")
	}
	return f, kind, err
}

// CheckAt is Check for a request to a target. The servers of a service may be of several versions: where one that the
// registry has knows all fields, its fields are returned, and otherwise f.
func (f *Fields) CheckAt(ctx context.Context, p *shell.Shell, t *target.Target, text json.RawMessage) (*Fields, error) {
	err := f.Check(text)
	if err == nil || t.Cluster == nil {
		return f, err
	}
	ctx, cancel := context.WithTimeout(ctx, min(within, p.Settings.Timeout/4))
	defer cancel()
	known := f
	_ = t.Models(ctx, p, f.method, func(m *schema.Model) bool {
		other, _ := in(m, f.method)
		if other == nil || other.Check(text) != nil {
			return false
		}
		known, err = other, nil
		return true
	}) // without an answer the error of Check stays
	return known, err
}
