package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/wire"
)

// The vectors are the truth. With -update their bytes are written anew from the
// meanings beside them, which is how a new vector is made: write the meaning,
// leave "hex" empty, run with -update, read the bytes before believing them.
var update = flag.Bool("update", false, "write the bytes of testdata/vectors from their meanings")

const vectorDir = "../../testdata/vectors"

// load reads one file of vectors into v, and writes it back at the end with -update.
func load(t testing.TB, name string, v any) {
	t.Helper()
	path := filepath.Join(vectorDir, name+".json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if !*update {
		return
	}
	t.Cleanup(func() {
		var out bytes.Buffer
		e := json.NewEncoder(&out)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		if err := e.Encode(v); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	})
}

// same compares the bytes that a meaning gives with the bytes of the vector, or
// takes them over with -update.
func same(t *testing.T, vector *hexBytes, made []byte) {
	t.Helper()
	if *update {
		*vector = made
	}
	if !bytes.Equal(*vector, made) {
		t.Errorf("the meaning gives\n%x, the vector has\n%x", made, []byte(*vector))
	}
}

func TestVectorFrames(t *testing.T) {
	var vectors []struct {
		Name  string      `json:"name"`
		Doc   string      `json:"doc"`
		Hex   hexBytes    `json:"hex"`
		Frame vectorFrame `json:"frame"`
	}
	load(t, "frames", &vectors)
	seen := map[wire.Type]bool{}
	for i := range vectors {
		v := &vectors[i]
		t.Run(v.Name, func(t *testing.T) {
			same(t, &v.Hex, v.Frame.bytes(t))
			h, payload, rest := cutFrame(t, v.Hex, false)
			if len(rest) != 0 {
				t.Errorf("%d bytes behind the frame", len(rest))
			}
			v.Frame.check(t, h, payload)
			seen[h.Type] = true
		})
	}
	for typ := wire.TypeHello; typ.Known(); typ++ {
		if !seen[typ] {
			t.Errorf("no vector for type %d", typ)
		}
	}
}

func TestVectorHellos(t *testing.T) {
	var vectors []struct {
		Name      string      `json:"name"`
		Doc       string      `json:"doc"`
		ParseOnly bool        `json:"parse_only,omitempty"`
		Hex       hexBytes    `json:"hex"`
		Hello     vectorHello `json:"hello"`
	}
	load(t, "hellos", &vectors)
	for i := range vectors {
		v := &vectors[i]
		t.Run(v.Name, func(t *testing.T) {
			if !v.ParseOnly {
				same(t, &v.Hex, wire.AppendHello(nil, v.Hello.wire()))
			}
			got, err := wire.ParseHello(v.Hex)
			if err != nil {
				t.Fatal(err)
			}
			if want := v.Hello.wire(); !reflect.DeepEqual(got, want) {
				t.Errorf("parsed %+v, want %+v", got, want)
			}
		})
	}
}

func TestVectorMetadata(t *testing.T) {
	var vectors []struct {
		Name  string       `json:"name"`
		Doc   string       `json:"doc"`
		Hex   hexBytes     `json:"hex"`
		Pairs []vectorPair `json:"pairs"`
		Rest  hexBytes     `json:"rest"`
	}
	load(t, "metadata", &vectors)
	for i := range vectors {
		v := &vectors[i]
		t.Run(v.Name, func(t *testing.T) {
			same(t, &v.Hex, append(appendMeta(nil, v.Pairs), v.Rest...))
			pairs, rest, err := wire.SplitMeta(v.Hex, wire.MaxMetaBlock)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(rest, v.Rest) {
				t.Errorf("rest is %x, want %x", rest, []byte(v.Rest))
			}
			if got := pairsOf(pairs); !samePairs(got, v.Pairs) {
				t.Errorf("pairs are %v, want %v", got, v.Pairs)
			}
		})
	}
}

func TestVectorStatus(t *testing.T) {
	var vectors []struct {
		Name   string       `json:"name"`
		Doc    string       `json:"doc"`
		Hex    hexBytes     `json:"hex"`
		Status vectorStatus `json:"status"`
	}
	load(t, "status", &vectors)
	for i := range vectors {
		v := &vectors[i]
		t.Run(v.Name, func(t *testing.T) {
			same(t, &v.Hex, wire.AppendStatus(nil, v.Status.wire()))
			var got wire.Status
			if err := wire.ParseStatus(v.Hex, &got); err != nil {
				t.Fatal(err)
			}
			if want := v.Status.wire(); !sameStatus(&got, want) {
				t.Errorf("parsed %+v, want %+v", got, want)
			}
		})
	}
}

func TestVectorChecksums(t *testing.T) {
	var vectors []struct {
		Name     string   `json:"name"`
		Doc      string   `json:"doc"`
		Hex      hexBytes `json:"hex"`
		Checksum hexBytes `json:"checksum"`
	}
	load(t, "checksums", &vectors)
	for i := range vectors {
		v := &vectors[i]
		t.Run(v.Name, func(t *testing.T) {
			same(t, &v.Checksum, wire.AppendChecksum(bytes.Clone(v.Hex), 0)[len(v.Hex):])
			if !wire.ChecksumOK(v.Hex, v.Checksum) {
				t.Error("the checksum does not fit")
			}
		})
	}
}

// TestVectorInvalid shows that what must not be accepted is refused, with an
// error and not in any other way.
func TestVectorInvalid(t *testing.T) {
	var vectors []struct {
		Kind  string   `json:"kind"`
		Name  string   `json:"name"`
		Why   string   `json:"why"`
		Hex   hexBytes `json:"hex"`
		Limit int      `json:"limit,omitempty"` // of metadata, where it is not the default
	}
	load(t, "invalid", &vectors)
	for _, v := range vectors {
		t.Run(v.Kind+"/"+v.Name, func(t *testing.T) {
			err := parseKind(v.Kind, v.Hex, v.Limit)
			if err == nil {
				t.Fatalf("accepted: %s", v.Why)
			}
			if strings.HasPrefix(err.Error(), "no kind") {
				t.Fatal(err)
			}
		})
	}
}

func parseKind(kind string, b []byte, limit int) (err error) {
	switch kind {
	case "preface":
		if string(b) != wire.Preface {
			err = errors.New("other preface")
		}
	case "header":
		h := wire.ParseHeader(b)
		err = h.Check()
	case "hello":
		_, err = wire.ParseHello(b)
	case "bind":
		_, _, err = wire.ParseBind(b)
	case "metadata":
		if limit == 0 {
			limit = 16 << 10
		}
		_, _, err = wire.SplitMeta(b, limit)
	case "status":
		err = wire.ParseStatus(b, &wire.Status{})
	default:
		err = errors.New("no kind " + kind)
	}
	return err
}

// TestVectorViolations shows that the bytes of each violation are what its frames
// say. What a server answers is tested where there is a server.
func TestVectorViolations(t *testing.T) {
	var file struct {
		Server  vectorHello `json:"server"`
		Methods []struct {
			Name string `json:"name"`
			Does string `json:"does"`
		} `json:"methods"`
		Vectors []struct {
			Name          string        `json:"name"`
			Doc           string        `json:"doc"`
			Hex           hexBytes      `json:"hex"`
			Preface       hexBytes      `json:"preface,omitempty"`
			Frames        []vectorFrame `json:"frames"`
			Raw           hexBytes      `json:"raw,omitempty"`
			WrongChecksum bool          `json:"wrong_checksum,omitempty"`
			Expect        struct {
				GoAway uint16   `json:"goaway,omitempty"`
				Pong   hexBytes `json:"pong,omitempty"`
				Close  bool     `json:"close,omitempty"`
				Error  *struct {
					Slot       uint16 `json:"slot,omitempty"`
					Generation uint16 `json:"generation,omitempty"`
					Code       uint16 `json:"code"`
					Refused    bool   `json:"refused,omitempty"`
					Either     bool   `json:"either,omitempty"` // refused or not
				} `json:"error,omitempty"`
			} `json:"expect"`
		} `json:"vectors"`
	}
	load(t, "violations", &file)
	for i := range file.Vectors {
		v := &file.Vectors[i]
		t.Run(v.Name, func(t *testing.T) {
			made := []byte(wire.Preface)
			if v.Preface != nil {
				made = bytes.Clone(v.Preface)
			}
			for i := range v.Frames {
				at := len(made)
				made = append(made, v.Frames[i].bytes(t)...)
				if v.WrongChecksum && i > 0 {
					made = wire.AppendChecksum(made, at)
				}
			}
			if v.WrongChecksum {
				made[len(made)-1] ^= 0xff
			}
			same(t, &v.Hex, append(made, v.Raw...))
			e := &v.Expect
			if (e.GoAway != 0) == (e.Error != nil || e.Pong != nil || e.Close) {
				t.Errorf("expects %+v, want exactly one thing", e)
			}
		})
	}
}
