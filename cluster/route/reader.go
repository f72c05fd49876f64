package route

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weftrpc/weft"
)

// Error says what is wrong with a document. It is a weft.InvalidArgument.
type Error struct {
	// Line and Column are where the text is wrong, both from 1, Column in
	// characters. 0: it is not about a place.
	Line, Column int

	// Field is what is wrong, such as "routes[0].to[1].percent". "": the whole.
	Field string

	// Reason says what is wrong and what to do.
	Reason string
}

// Error is such as "rules: line 3, column 14: routes[0].to: the percentages add up to 95: make it 100".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("rules: ")
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d, column %d: ", e.Line, e.Column)
	}
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	b.WriteString(e.Reason)
	return b.String()
}

// Unwrap gives the code.
func (e *Error) Unwrap() error { return weft.InvalidArgument }

// reader reads one document of JSON strictly, and remembers where in the text
// everything is.
type reader struct {
	doc   []byte
	dec   *json.Decoder
	place map[string]int // of each value, by its path
}

// value reads the next value, which has this path.
type value func(path string) error

// newReader checks that the text is one value of JSON and nothing else, so what
// reads it meets no wrong syntax.
func newReader(doc []byte) (*reader, error) {
	r := &reader{doc: doc, dec: json.NewDecoder(bytes.NewReader(doc)), place: make(map[string]int)}
	r.dec.UseNumber()
	switch {
	case len(bytes.TrimSpace(doc)) == 0:
		return nil, &Error{Reason: "the document is empty: write {} for no rules"}
	case !utf8.Valid(doc):
		return nil, r.at(validPrefix(doc), "", "a byte is not UTF-8: save the file as UTF-8")
	}
	var all json.RawMessage
	if err := json.Unmarshal(doc, &all); err != nil {
		offset := len(doc)
		if wrong, ok := errors.AsType[*json.SyntaxError](err); ok && int(wrong.Offset) <= len(doc) {
			offset = max(int(wrong.Offset)-1, 0)
		}
		return nil, r.at(offset, "", "this is not JSON: %v", err)
	}
	return r, nil
}

// validPrefix is how many bytes are UTF-8.
func validPrefix(doc []byte) int {
	good := 0
	for good < len(doc) {
		c, n := utf8.DecodeRune(doc[good:])
		if c == utf8.RuneError && n == 1 {
			break
		}
		good += n
	}
	return good
}

// at is an error about a place of the text.
func (r *reader) at(offset int, field, format string, args ...any) *Error {
	before := r.doc[:offset]
	line := bytes.LastIndexByte(before, '\n') + 1
	return &Error{
		Line:   bytes.Count(before, []byte{'\n'}) + 1,
		Column: utf8.RuneCount(before[line:]) + 1,
		Field:  field,
		Reason: fmt.Sprintf(format, args...),
	}
}

// wrong is an error about a value, or, where it is missing, what should have it.
func (r *reader) wrong(path, format string, args ...any) *Error {
	for field := path; ; field = field[:max(strings.LastIndexAny(field, ".["), 0)] {
		if offset, ok := r.place[field]; ok || field == "" {
			return r.at(offset, path, format, args...)
		}
	}
}

// here is where the next token begins.
func (r *reader) here() int {
	at := int(r.dec.InputOffset())
	for at < len(r.doc) && strings.IndexByte(" \t\r\n,:", r.doc[at]) >= 0 {
		at++
	}
	return at
}

// token returns the next token, which is to be what the sentence says.
func token[T any](r *reader, path, want string) (T, error) {
	t, err := r.dec.Token()
	if err != nil {
		var none T
		return none, r.wrong(path, "%v", err)
	}
	v, ok := t.(T)
	if !ok {
		return v, r.wrong(path, "this is %s: it must be %s", kind(t), want)
	}
	return v, nil
}

// open reads the beginning of an object or a list.
func (r *reader) open(path string, delim json.Delim, want string) error {
	d, err := token[json.Delim](r, path, want)
	if err == nil && d != delim {
		err = r.wrong(path, "this is %s: it must be %s", kind(d), want)
	}
	return err
}

func kind(t json.Token) string {
	switch t {
	case nil:
		return "null"
	case json.Delim('{'):
		return "an object"
	case json.Delim('['):
		return "a list"
	}
	if s, ok := t.(string); ok {
		return strconv.Quote(shorten(s))
	}
	return shorten(fmt.Sprint(t))
}

// pairs reads an object.
func (r *reader) pairs(path string, each func(key string) (path string, read value, err error)) error {
	if err := r.open(path, '{', "an object, {…}"); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for r.dec.More() {
		begin := r.here()
		key, err := token[string](r, path, "a name")
		if err != nil {
			return err
		}
		if seen[key] {
			return r.at(begin, path, "%q stands here twice: remove one of them", shorten(key))
		}
		seen[key] = true
		inner, read, err := each(key)
		if err != nil {
			return r.at(begin, path, "%v", err)
		}
		r.place[inner] = r.here()
		if err := read(inner); err != nil {
			return err
		}
	}
	_, err := r.dec.Token()
	return err
}

// object reads an object with fixed names.
func (r *reader) object(fields map[string]value) value {
	return func(path string) error {
		return r.pairs(path, func(key string) (string, value, error) {
			read, ok := fields[key]
			if !ok {
				known := strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
				return "", nil, fmt.Errorf("there is no field %q: the fields are %s", shorten(key), known)
			}
			return strings.TrimPrefix(path+"."+key, "."), read, nil
		})
	}
}

// table reads an object with names of the user's.
func table[T any](r *reader, limit int, dst *map[string]T, item func(*T) value) value {
	return func(path string) error {
		all := make(map[string]T)
		*dst = all
		return r.pairs(path, func(key string) (string, value, error) {
			if len(all) == limit {
				return "", nil, fmt.Errorf("there are more than %d entries: remove some", limit)
			}
			inner := path + "[" + strconv.Quote(key) + "]"
			return inner, func(string) error {
				var v T
				err := item(&v)(inner)
				all[key] = v
				return err
			}, nil
		})
	}
}

// list reads a list.
func list[T any](r *reader, limit int, dst *[]T, item func(*T) value) value {
	return func(path string) error {
		if err := r.open(path, '[', "a list, […]"); err != nil {
			return err
		}
		for i := 0; r.dec.More(); i++ {
			if i == limit {
				return r.wrong(path, "there are more than %d entries: remove some", limit)
			}
			inner := path + "[" + strconv.Itoa(i) + "]"
			r.place[inner] = r.here()
			*dst = append(*dst, *new(T))
			if err := item(&(*dst)[i])(inner); err != nil {
				return err
			}
		}
		_, err := r.dec.Token()
		return err
	}
}

func (r *reader) string(dst *string) value {
	return func(path string) (err error) {
		*dst, err = token[string](r, path, `a string, "…"`)
		return err
	}
}

func (r *reader) bool(dst **bool) value {
	return func(path string) error {
		b, err := token[bool](r, path, "true or false")
		*dst = &b
		return err
	}
}

func (r *reader) number(dst *float64) value {
	return func(path string) error {
		n, err := token[json.Number](r, path, "a number")
		if err != nil {
			return err
		}
		if *dst, err = n.Float64(); err != nil {
			return r.wrong(path, "%s is too large", shorten(n.String()))
		}
		return nil
	}
}

func (r *reader) int(dst *int) value {
	return func(path string) error {
		n, err := token[json.Number](r, path, "a whole number")
		if err != nil {
			return err
		}
		if *dst, err = strconv.Atoi(n.String()); err != nil {
			return r.wrong(path, "%s is not a whole number, or too large", shorten(n.String()))
		}
		return nil
	}
}

// duration reads a time span in Go's notation.
func (r *reader) duration(dst *time.Duration) value {
	return func(path string) error {
		const want = `a time such as "250ms", "1.5s" or "2m"`
		s, err := token[string](r, path, want)
		if err != nil {
			return err
		}
		if *dst, err = time.ParseDuration(s); err != nil {
			return r.wrong(path, "%q is not %s", shorten(s), want)
		}
		return nil
	}
}

// time reads a moment.
func (r *reader) time(dst *time.Time) value {
	return func(path string) error {
		const want = `a moment such as "2026-01-31T15:04:05Z"`
		s, err := token[string](r, path, want)
		if err != nil {
			return err
		}
		if *dst, err = time.Parse(time.RFC3339Nano, s); err != nil {
			return r.wrong(path, "%q is not %s", shorten(s), want)
		}
		return nil
	}
}

// skip reads any value and leaves it.
func (r *reader) skip() value {
	return func(path string) error {
		var ignored json.RawMessage
		if err := r.dec.Decode(&ignored); err != nil {
			return r.wrong(path, "%v", err)
		}
		return nil
	}
}
