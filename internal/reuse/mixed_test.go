package reuse_test

import (
	"bytes"
	stdjson "encoding/json"
	"testing"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/gencode"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/msgpack"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/internal/reuse"
)

// gen has the methods as github.com/andyleap/gencode writes them for one field of bytes.
type gen struct {
	Data []byte `weft:"1"`
}

func (d *gen) Size() (s uint64) { return uint64(1 + len(d.Data)) }
func (d *gen) Marshal(buf []byte) ([]byte, error) {
	size := d.Size()
	if uint64(cap(buf)) >= size {
		buf = buf[:size]
	} else {
		buf = make([]byte, size)
	}
	buf[0] = byte(len(d.Data))
	copy(buf[1:], d.Data)
	return buf, nil
}
func (d *gen) Unmarshal(buf []byte) (uint64, error) {
	l := uint64(buf[0])
	if uint64(cap(d.Data)) >= l {
		d.Data = d.Data[:l]
	} else {
		d.Data = make([]byte, l)
	}
	copy(d.Data, buf[1:])
	return 1 + l, nil
}

// mixed decodes bodies of two connections into v, one after the other. The first connection uses its buffer again in between.
func mixed(t *testing.T, first, second codec.Codec, v, a, b any) {
	t.Helper()
	one, err := first.Append(nil, a)
	if err != nil {
		t.Fatal(err)
	}
	two, err := second.Append(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	if err := reuse.Decode(first, one, v); err != nil {
		t.Fatal(err)
	}
	next := bytes.Repeat([]byte{'V'}, len(one))
	copy(one, next)
	if err := reuse.Decode(second, two, v); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, next) {
		t.Errorf("%s, then %s into a %T: the buffer of the first connection has become %q", first.Name(), second.Name(), v, one)
	}
}

// What a codec leaves in a message, parts of a body, is not written to by another codec.
func TestMixedCodecs(t *testing.T) {
	a, b := bytes.Repeat([]byte{'a'}, 20), []byte("EVIL EVIL")
	mixed(t, msgpack.New(), raw.New(), new([]byte), &a, &b)
	ra, rb := stdjson.RawMessage(`"aaaaaaaaaaaaaaaaaaaa"`), stdjson.RawMessage(`"EVIL"`)
	mixed(t, msgpack.New(), json.New(), new(stdjson.RawMessage), &ra, &rb)
	mixed(t, protobuf.New(), gencode.New(), new(gen), &gen{a}, &gen{b})
	mixed(t, msgpack.New(), gencode.New(), new(gen), &gen{a}, &gen{b})
}
