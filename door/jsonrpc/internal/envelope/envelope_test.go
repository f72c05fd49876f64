package envelope_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/jsonrpc/internal/envelope"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestReader(t *testing.T) {
	const stream = " \n{\"a\":\"}\\\"]\"}[1,[2]]\r\n\t{}[]"
	for _, r := range []io.Reader{strings.NewReader(stream), iotest.OneByteReader(strings.NewReader(stream))} {
		values := envelope.NewReader(r, 100, nil, nil)
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
		if _, err := envelope.NewReader(strings.NewReader(text), 100, nil, nil).Next(); !errors.Is(err, want) {
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
				values := envelope.NewReader(r, limit, nil, nil)
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
		`{"id":1,"result":{"a":[1]},"error":null}`:                                  func(r envelope.Response) bool { return r.Error == nil && string(r.Result) == `{"a":[1]}` },
		`{"id":"x","result":null,"error":"bad"}`:                                    func(r envelope.Response) bool { return r.Text == "bad" && string(r.ID) == `"x"` },
		`{"jsonrpc":"2.0","error":{"code":-32601,"message":"m","data":[1]},"id":1}`: func(r envelope.Response) bool { return r.Error.Code == -32601 && r.Error.Data == nil },
		`{"jsonrpc":"2.0","error":{"code":1,"message":"m","data":{"code":"NotFound","outcome":"Executed"}},"id":null}`: func(r envelope.Response) bool {
			code, outcome, ok := r.Error.Data.Names()
			return code == weft.NotFound && outcome == weft.Executed && ok
		},
		`{"id":1,"error":{"code":1,"message":"m","data":{"code":"Unauthenticated","outcome":"Unknown"}}}`: func(r envelope.Response) bool { return r.Error.Data != nil },
		`{"id":1,"error":{"code":1,"message":"m","data":{"code":"NotFound"}}}`:                            func(r envelope.Response) bool { return r.Error.Data == nil },
		`{"id":1,"error":{"code":1,"message":"m","data":{"code":"NotFound","outcome":"lost"}}}`:           func(r envelope.Response) bool { return r.Error.Data == nil },
		`{"id":1,"error":{"code":1,"message":"m","data":{"code":"OK","outcome":"Executed"}}}`:             func(r envelope.Response) bool { return r.Error.Data == nil },
		`{"id":1,"error":{"code":1,"message":"m","data":{"code":"NO_FUNDS","outcome":"Executed"}}}`:       func(r envelope.Response) bool { return r.Error.Data == nil },
		`{"id":1,"error":5}`: func(r envelope.Response) bool { return r.Error != nil && r.Error.Raw == nil && r.Text == "5" },
		`{"id":1,"error":{"message":"m"}}`: func(r envelope.Response) bool {
			return r.Error.Code == 0 && r.Error.Message == "m" && r.Error.Raw != nil
		},
		`{"id":1,"error":{"code":"x","message":7}}`: func(r envelope.Response) bool {
			return r.Error.Code == 0 && r.Error.Message == `{"code":"x","message":7}`
		},
		`{"id":1,"error":{"code":"-32601","message":"m"}}`:            func(r envelope.Response) bool { return r.Error.Code == -32601 && r.Error.Message == "m" },
		`{"id":1,"error":{"code":3.0,"message":"m","data":"0x08c3"}}`: func(r envelope.Response) bool { return r.Error.Code == 3 && r.Error.Data == nil },
		`{"id":1,"error":{"code":1e99,"message":"m"}}`:                func(r envelope.Response) bool { return r.Error.Code == 0 && r.Error.Message == "m" },
		`{"error":{"code":-32700,"message":"m"}}`:                     func(r envelope.Response) bool { return r.Error.Code == -32700 && r.ID == nil },
	} {
		if r, err := envelope.ReadResponse([]byte(text)); err != nil || !check(r) {
			t.Errorf("%s: %+v, %v", text, r, err)
		}
	}
	for _, text := range []string{`[]`, `{`, `{}`, `{"error":"x"}`, `{"error":{"message":"x"}}`} {
		if r, err := envelope.ReadResponse([]byte(text)); err == nil {
			t.Errorf("%s was read: %+v", text, r)
		}
	}
}

// TestSplit: a reader that goes on elsewhere has what was read ahead, and the last value stays as it is.
func TestSplit(t *testing.T) {
	rest := strings.Repeat(`{"a":"`+strings.Repeat("x", 100)+`"}`, 100)
	held := 0
	values := envelope.NewReader(io.MultiReader(strings.NewReader(`["first"]{"b`), strings.NewReader(`":1}`+rest)), 1<<20, nil, func(n int) { held += n })
	first, err := values.Next()
	if err != nil {
		t.Fatal(err)
	}
	values = values.Split()
	for i := range 101 {
		v, err := values.Next()
		if err != nil || i == 0 && string(v) != `{"b":1}` || i > 0 && len(v) != 108 {
			t.Fatalf("value %d is %s, %v", i, v, err)
		}
	}
	if string(first) != `["first"]` || held != 0 {
		t.Errorf("the first value has become %s; %d bytes are held", first, held)
	}
}

// TestHold: a value that is large is counted until it was returned.
func TestHold(t *testing.T) {
	held, most := 0, 0
	count := func(n int) {
		held += n
		most = max(most, held)
	}
	values := envelope.NewReader(strings.NewReader("["+strings.Repeat(" ", 1<<20)+"]{}"), 2<<20, nil, count)
	for range 2 {
		if _, err := values.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := values.Next(); err != io.EOF || most < 1<<20 || held != 0 {
		t.Errorf("%v; %d bytes were held, and %d are", err, most, held)
	}
}

// TestValid: values are valid for Valid where they are for encoding/json.
func TestValid(t *testing.T) {
	for _, text := range []string{"", " ", "{}", "[]", "{", "[", "}", "]", "[1]", "[1,]", "[,1]", "[1 2]", `{"a":1}`, `{"a":1,}`, `{,"a":1}`, `{"a" :1 , "b": [ ] }`, `{"a"}`, `{"a",1}`, `{1:2}`,
		`{"a":{}}`, `{"a":[{}]}`, `{"a":1]`, `[1}`, "[[]", "[]]", "{}{}", "{} ", " [] \n", "[0]", "[-0]", "[01]", "[-]", "[1.]", "[.1]", "[1.5e]", "[1e5]", "[1E+5]", "[1e-05]", "[1e+]", "[-1.25E-7]", "[+1]",
		"[true]", "[false]", "[null]", "[tru]", "[truex]", "[nul", `["a"]`, `["\n\u00e9\/"]`, `["\u00g0"]`, `["\u00"]`, `["\x"]`, `["\`, `["`, "[\"\n\"]", "[\"\x7f\"]", "[\"\xff\"]", "[\"\u2028\"]", "[1]\x00", "[1\x00]", "7", `"a"`,
		strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("[", 65) + strings.Repeat("]", 65), strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70), strings.Repeat("[", 70) + strings.Repeat("]", 69)} {
		if want, got := json.Valid([]byte(text)) && utf8.ValidString(text), envelope.Valid([]byte(text)); got != want {
			t.Errorf("%.80q is valid: %v, want %v", text, got, want)
		}
	}
}

// FuzzEnvelope splits any stream into values, and reads valid ones as requests and responses.
func FuzzEnvelope(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","method":"a","params":[1,"]",{}],"id":1}`), true)
	f.Add([]byte(`[{"id":"\u0022","method":"a"}, 1 ,[ ]]`), false)
	f.Fuzz(func(t *testing.T, b []byte, batch bool) {
		values := envelope.NewReader(bytes.NewReader(b), 1<<16, nil, nil)
		for {
			v, err := values.Next()
			if err != nil {
				return
			}
			if valid := json.Valid(v) && utf8.Valid(v); envelope.Valid(v) != valid {
				t.Fatalf("%q is valid: %v, found otherwise", v, valid)
			} else if !valid {
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
			for _, out := range [][]byte{envelope.EndResult(append(envelope.BeginResult(nil, &r), '1'), &r), envelope.Error(&r, &envelope.Failure{Code: 1}, "x")} {
				if !json.Valid(out) {
					t.Errorf("%s is answered %s", v, out)
				}
			}
			_, _ = envelope.ReadResponse(v)
		}
	})
}
