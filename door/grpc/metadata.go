package grpc

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/internal/hpack"
)

// binarySuffix ends the keys whose values are any bytes, which travel as base64.
const binarySuffix = "-bin"

// pairs gathers the metadata of a header block.
type pairs struct {
	all   []string
	wrong string
}

// add adds a field. A binary one may have several values.
func (p *pairs) add(f *hpack.Field) {
	if !strings.HasSuffix(f.Name, binarySuffix) {
		p.all = append(p.all, f.Name, f.Value)
		return
	}
	for v := range strings.SplitSeq(f.Value, ",") {
		b, err := decodeBinary(v)
		if err != nil {
			p.wrong = "the value of " + f.Name + " is no base64"
			return
		}
		p.all = append(p.all, f.Name, string(b))
	}
}

// metadata is what add has gathered.
func (p *pairs) metadata() weft.Metadata {
	if len(p.all) == 0 {
		return weft.Metadata{}
	}
	return weft.NewMetadata(p.all...)
}

// size is how many bytes add has gathered.
func (p *pairs) size() int {
	n := 0
	for _, s := range p.all {
		n += len(s)
	}
	return n
}

// decodeBinary decodes base64 with or without padding.
func decodeBinary(s string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(s), "="))
}

// checkMetadata tells why metadata cannot travel by gRPC.
func checkMetadata(m weft.Metadata) error {
	for k, v := range m.All() {
		if err := checkPair(k, v); err != nil {
			return err
		}
	}
	return nil
}

func checkPair(key, value string) error {
	for i := range len(key) {
		switch c := key[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		default:
			return fmt.Errorf("metadata key %q: gRPC allows letters, digits and -_. alone", key)
		}
	}
	key = strings.ToLower(key)
	switch key {
	case contentType, "te", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "user-agent", "content-length", "host":
		return fmt.Errorf("metadata key %q is one of HTTP's own", key)
	}
	if strings.HasPrefix(key, "grpc-") && !strings.HasSuffix(key, binarySuffix) {
		return fmt.Errorf("metadata key %q: keys that begin with grpc- are reserved", key)
	}
	if strings.HasSuffix(key, binarySuffix) {
		return nil
	}
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' {
			return fmt.Errorf("the value of metadata key %q has the byte %#x: name a key with such values %s%s", key, c, key, binarySuffix)
		}
	}
	return nil
}

// appendPair appends a pair to a header block. Pairs that cannot travel are left out.
func appendPair(e *hpack.Encoder, b []byte, key, value string) []byte {
	key = strings.ToLower(key)
	if strings.HasPrefix(key, reservedPrefix) || checkPair(key, value) != nil {
		return b
	}
	if strings.HasSuffix(key, binarySuffix) {
		value = base64.RawStdEncoding.EncodeToString([]byte(value))
	}
	if key == "authorization" {
		return e.Secret(b, key, value)
	}
	return e.Literal(b, key, value)
}
