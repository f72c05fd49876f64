package envelope_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestReader(t *testing.T) {
	const stream = " \n{\"a\":\"}\\\"]\"}[1,[2]]\r\n\t{}[]"
	for _, r := range []io.Reader{strings.NewReader(stream), iotest.OneByteReader(strings.NewReader(stream))} {
		values := envelope.NewReader(r, 100, nil)
		for _, want := range []string{`{"a":"}\"]"}`, `[1,[2]]`, `{}`, `[]`} {
			if got, err := values.Next(); string(got) != want || err != nil {
				t.Errorf("%s, %v, want %s", got, err, want)
			}
		}
		if _, err := values.Next(); err != io.EOF {
			t.Error(err)
		}
	}
	for text, want := range map[string]error{`{"a`: io.ErrUnexpectedEOF, `x`: envelope.ErrSyntax, ` 1`: envelope.ErrSyntax, `"{}"`: envelope.ErrSyntax,
		"[" + strings.Repeat(" ", 10000) + "]": envelope.ErrTooLarge, "": io.EOF, "  ": io.EOF} {
		if _, err := envelope.NewReader(strings.NewReader(text), 100, nil).Next(); !errors.Is(err, want) {
			t.Errorf("%.10q: %v, want %v", text, err, want)
		}
	}
}

// TestReaderLimit reads values of the limit and of one byte more, whose ends come with their first
// bytes and later.
func TestReaderLimit(t *testing.T) {
	for _, limit := range []int{2, 100, 4096, 5000, 10000} {
		for _, more := range []int{0, 1, 2, limit - 1} {
			text := "[" + strings.Repeat(" ", limit+more-2) + "]"
			for _, r := range []io.Reader{strings.NewReader(" {}" + text), iotest.OneByteReader(strings.NewReader("{} " + text))} {
				values := envelope.NewReader(r, limit, nil)
				if _, err := values.Next(); err != nil {
					t.Fatal(err)
				}
				value, err := values.Next()
				if more == 0 && (err != nil || len(value) != limit) || more > 0 && !errors.Is(err, envelope.ErrTooLarge) {
					t.Errorf("limit %d, value of %d: %d bytes, %v", limit, len(text), len(value), err)
				}
			}
		}
	}
}

func TestResponses(t *testing.T) {
	for text, check := range map[string]func(r envelope.Response) bool{
		`{"id":1,"result":{"a":[1]},"error":null}`:                                                func(r envelope.Response) bool { return r.Error == nil && string(r.Result) == `{"a":[1]}` },
		`{"id":"x","result":null,"error":"bad"}`:                                                  func(r envelope.Response) bool { return r.Text == "bad" && string(r.ID) == `"x"` },
		`{"jsonrpc":"2.0","error":{"code":-32601,"message":"m","data":[1]},"id":1}`:               func(r envelope.Response) bool { return r.Error.Code == -32601 && r.Error.Data == nil },
		`{"jsonrpc":"2.0","error":{"code":1,"message":"m","data":{"code":"NotFound"}},"id":null}`: func(r envelope.Response) bool { return r.Error.Data.Code == "NotFound" },
		`{"id":1,"error":5}`: func(r envelope.Response) bool { return r.Error != nil && r.Text == "5" },
	} {
		if r, err := envelope.ReadResponse([]byte(text)); err != nil || !check(r) {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
	for _, text := range []string{`[]`, `{`, `{}`, `{"id":1,"error":{"code":"x"}}`} {
		if r, err := envelope.ReadResponse([]byte(text)); err == nil {
			t.Errorf("%s was read: %+v", text, r)
		}
	}
}

// FuzzEnvelope splits any stream into values, and reads valid ones as requests and responses.
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","method":"a","params":[1,"]",{}],"id":1}`), true)
	f.Add([]byte(`[{"id":"\u0022","method":"a"}, 1 ,[ ]]`), false)
	f.Fuzz(func(t *testing.T, b []byte, batch bool) {
		values := envelope.NewReader(bytes.NewReader(b), 1<<16, nil)
		for {
			v, err := values.Next()
			if err != nil {
				return
			}
			if !json.Valid(v) {
				continue
			}
			if v[0] == '[' {
				var want []json.RawMessage
				if err := json.Unmarshal(v, &want); err != nil {
					t.Fatal(err)
				}
				got := envelope.Elements(v, 50)
				if len(got) != min(len(want), 51) {
					t.Fatalf("%d elements of %s, want %d", len(got), v, len(want))
				}
				for i, e := range got {
					if !bytes.Equal(bytes.TrimSpace(want[i]), e) {
						t.Fatalf("element %d of %s is %s", i, v, e)
					}
				}
				continue
			}
			r := envelope.ReadRequest(v, batch)
			if r.Wrong == "" && r.Method == "" {
				t.Errorf("%s has no method", v)
			}
			for _, out := range [][]byte{envelope.Result(&r, []byte("1")), envelope.Error(&r, &envelope.Failure{Code: 1}, "x")} {
				if !json.Valid(out) {
					t.Errorf("%s is answered %s", v, out)
				}
			}
			_, _ = envelope.ReadResponse(v)
		}
	})
}
