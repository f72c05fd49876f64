package protocol

import (
	"encoding/hex"
	"math"
	"strconv"
)

// AppendJSON appends a struct of the binary protocol in the JSON protocol.
func AppendJSON(b, structure []byte) ([]byte, error) {
	t := toJSON{b: b}
	t.Reset(structure, false)
	t.structure()
	return t.b, t.Err()
}

// toJSON translates a struct.
type toJSON struct {
	Reader
	b []byte
}

func (t *toJSON) structure() {
	t.Enter()
	t.b = append(t.b, '{')
	for first := true; t.err == nil; first = false {
		typ, id := t.Field()
		if typ == Stop {
			break
		}
		if !first {
			t.b = append(t.b, ',')
		}
		t.b = append(strconv.AppendInt(append(t.b, '"'), int64(id), 10), `":{`...)
		t.name(typ)
		t.b = append(t.b, ':')
		t.value(typ, false)
		t.b = append(t.b, '}')
	}
	t.b = append(t.b, '}')
	t.Leave()
}

// name appends the name of a type.
func (t *toJSON) name(typ Type) {
	name := jsonName(typ)
	if name == "" {
		t.Fail(errType)
	}
	t.b = append(append(append(t.b, '"'), name...), '"')
}

// value appends a value. Numbers stand in quotes if they are keys.
func (t *toJSON) value(typ Type, key bool) {
	from := len(t.b)
	switch typ {
	case Bool:
		c := byte('0')
		if t.Bool() {
			c = '1'
		}
		t.b = append(t.b, c)
	case I8, I16, I32, I64:
		v, _ := t.Int(typ)
		t.b = strconv.AppendInt(t.b, v, 10)
	case Double:
		switch v := t.Double(); {
		case math.IsNaN(v):
			t.b = append(t.b, `"NaN"`...)
			return
		case math.IsInf(v, 1):
			t.b = append(t.b, `"Infinity"`...)
			return
		case math.IsInf(v, -1):
			t.b = append(t.b, `"-Infinity"`...)
			return
		default:
			t.b = strconv.AppendFloat(t.b, v, 'g', -1, 64)
		}
	case String:
		t.b = appendText(t.b, raw(&t.Reader))
		return
	case UUID:
		id := t.UUID()
		text := hex.EncodeToString(id[:])
		t.b = appendText(t.b, []byte(text[:8]+"-"+text[8:12]+"-"+text[12:16]+"-"+text[16:20]+"-"+text[20:]))
		return
	case Struct:
		t.structure()
	case List, Set:
		t.list()
	case Map:
		t.pairs()
	default:
		t.Fail(errType)
	}
	if key {
		t.b = append(t.b, 0, 0)
		copy(t.b[from+1:], t.b[from:len(t.b)-2])
		t.b[from], t.b[len(t.b)-1] = '"', '"'
	}
}

func (t *toJSON) list() {
	t.Enter()
	typ, n := t.List()
	t.b = append(t.b, '[')
	t.name(typ)
	t.b = strconv.AppendInt(append(t.b, ','), int64(n), 10)
	for ; n > 0 && t.err == nil; n-- {
		t.b = append(t.b, ',')
		t.value(typ, false)
	}
	t.b = append(t.b, ']')
	t.Leave()
}

func (t *toJSON) pairs() {
	t.Enter()
	key, value, n := t.Map()
	t.b = append(t.b, '[')
	t.name(key)
	t.b = append(t.b, ',')
	t.name(value)
	t.b = append(strconv.AppendInt(append(t.b, ','), int64(n), 10), ",{"...)
	for i := 0; i < n && t.err == nil; i++ {
		if i > 0 {
			t.b = append(t.b, ',')
		}
		t.value(key, true)
		t.b = append(t.b, ':')
		t.value(value, false)
	}
	t.b = append(t.b, "}]"...)
	t.Leave()
}
