package numbered

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weftrpc/weft/codec/generated"
	"github.com/weftrpc/weft/codec/internal/coded"
	"github.com/weftrpc/weft/codec/internal/memory"
	"github.com/weftrpc/weft/codec/internal/room"
)

// byCode decodes body into v, to which r refers, with generated code, and what that leaves by the plan.
func (p *Plan) byCode(body []byte, reuse bool, v any, r memory.Ref) error {
	var code generated.Reader // filled in where it is: to copy it would wait for what was just written
	code.Body, code.Alias, code.Reuse, code.Room = body, memory.String(body), reuse, room.For(len(body))
	if reuse {
		code.Texts.Share(body)
	} else {
		code.Texts.Expect(p.node.frame)
		code.Texts.Apart()
	}
	from := v.(generated.Message).DecodeWeft(memory.Hidden(&code), 0, len(body), MaxDepth)
	if from == len(body) && code.Room >= 0 {
		return nil
	}
	return p.behindCode(&code, from, r)
}

// behindCode stands apart, since it is seldom called and has a large frame.
//
//go:noinline
func (p *Plan) behindCode(code *generated.Reader, from int, r memory.Ref) error {
	var d decoder
	if code.Room >= 0 {
		d = decoder{body: code.Body, reuse: code.Reuse, texts: code.Texts, room: code.Room}
		d.message(p.node, r, from, len(d.body), MaxDepth, false)
		if !d.full {
			return d.err
		}
	}
	// The code may have counted messages that the plan has decoded again.
	d = decoder{}
	d.begin(p.node, code.Body, code.Reuse)
	if !d.reuse {
		r.Value(p.node.typ).SetZero()
	}
	d.message(p.node, r, 0, len(d.body), MaxDepth, d.reuse)
	return d.err
}

// hasCode reports whether there is generated code for the struct n. Code that was generated
// for other fields than n has now, or than a struct has whose code it calls, is an error.
func hasCode(n *node) (bool, error) {
	if _, ok := coded.Fields(n.typ); !ok {
		return false, nil
	}
	err := n.checkCode(make(map[*node]bool))
	return err == nil, err
}

// checkCode returns an error unless the generated code of the struct n, and of all structs whose code that
// calls, is for the fields that they have.
func (n *node) checkCode(seen map[*node]bool) error {
	if seen[n] {
		return nil
	}
	seen[n] = true
	got, ok := coded.Fields(n.typ)
	if !ok {
		return fmt.Errorf("%s has no code of its own, which the code of a struct that contains it calls: run weft generate -codec again", n.typ)
	}
	if want := n.describe(); got != want {
		return fmt.Errorf("the code of %s is for other fields than it has: run weft generate -codec again (it is for %s, and there is %s)", n.typ, got, want)
	}
	for i := range n.fields {
		part := n.fields[i].node
		for part.op == opPointer || part.op == opList || part.op == opArray { // maps are left to the plan
			part = part.elem
		}
		if part.op != opMessage {
			continue
		}
		if err := part.checkCode(seen); err != nil {
			return err
		}
	}
	return nil
}

// describe returns what FieldsWeft of generated code for the struct n returns. The names of fields that do
// not travel are in it, since the code empties them.
func (n *node) describe() string {
	var parts, others []string
	for _, f := range n.fields {
		parts = append(parts, fmt.Sprintf("%d %s %s", f.number, f.name, f.node.form()))
	}
	for _, o := range n.others {
		if o.name != "_" {
			others = append(others, "- "+o.name)
		}
	}
	slices.Sort(others)
	return n.typ.Name() + "{" + strings.Join(append(parts, others...), "; ") + "}"
}

// declaredBits is n.bits, but for int and uint it is 64, as on machines with 64 bits: the encoding is the same.
func (n *node) declaredBits() int {
	if kind := n.typ.Kind(); kind == reflect.Int || kind == reflect.Uint {
		return 64
	}
	return n.bits
}

// form says how a field is encoded.
func (n *node) form() string {
	switch n.op {
	case opBool:
		return "bool"
	case opInt:
		return fmt.Sprint("int", n.declaredBits())
	case opZigzag:
		return fmt.Sprint("zigzag", n.declaredBits())
	case opUint:
		return fmt.Sprint("uint", n.declaredBits())
	case opFixed:
		return fmt.Sprint("fixed", n.bits)
	case opFloat:
		return fmt.Sprint("float", n.bits)
	case opText:
		return "string"
	case opBytes:
		return "bytes"
	case opMessage:
		return "struct " + n.typ.Name()
	case opTime:
		return "time"
	case opDuration:
		return "duration"
	case opOctets:
		return fmt.Sprintf("[%d]bytes", n.typ.Len())
	case opOwn:
		return "own " + n.own.String()
	case opAny:
		return "any"
	case opPointer:
		return "*" + n.elem.form()
	case opList:
		return "[]" + n.elem.form()
	case opArray:
		return fmt.Sprintf("[%d]%s", n.typ.Len(), n.elem.form())
	}
	return "map"
}
