// Package self finds types whose values encode and decode themselves, as bytes or as a string, and calls their methods.
package self

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// Form says what a value that encodes itself travels as.
type Form uint8

// The forms, in the order in which they are looked for.
const (
	None   Form = iota // it does not encode itself
	Weft               // bytes: MarshalWeft and UnmarshalWeft, of package codec
	Binary             // bytes: MarshalBinary and UnmarshalBinary
	Text               // a string: MarshalText and UnmarshalText, of a struct
)

type marshaler interface {
	MarshalWeft(dst []byte) ([]byte, error)
}

type unmarshaler interface {
	UnmarshalWeft(b []byte) error
}

// Of returns the form of values of the type t. Codecs have a form of their own for a time.Time, and follow pointers.
func Of(t reflect.Type) Form {
	switch {
	case t == reflect.TypeFor[time.Time](), t.Kind() == reflect.Pointer, t.Kind() == reflect.Interface:
		return None
	case Pair[marshaler, unmarshaler](t):
		return Weft
	case Pair[encoding.BinaryMarshaler, encoding.BinaryUnmarshaler](t):
		return Binary
	case t.Kind() == reflect.Struct && Pair[encoding.TextMarshaler, encoding.TextUnmarshaler](t):
		return Text
	}
	return None
}

// Check returns an error for a type with a method that is called as one of package codec and is another, or that lacks the
// other one of the two: nothing would call it.
func Check(t reflect.Type) error {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface || Has[marshaler](t) && Has[unmarshaler](t) {
		return nil
	}
	_, marshals := reflect.PointerTo(t).MethodByName("MarshalWeft")
	_, unmarshals := reflect.PointerTo(t).MethodByName("UnmarshalWeft")
	if marshals || unmarshals {
		return fmt.Errorf("a %s needs both of MarshalWeft(dst []byte) ([]byte, error) and UnmarshalWeft(b []byte) error, in this form", t)
	}
	return nil
}

// Has reports whether a pointer to t has the methods of M.
func Has[M any](t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[M]())
}

// Pair reports whether t has the methods of M and U, and not because it embeds a
// type that has some: those say nothing of its other fields.
func Pair[M, U any](t reflect.Type) bool {
	if !Has[M](t) || !Has[U](t) {
		return false
	}
	if t.Kind() != reflect.Struct {
		return true
	}
	for f := range t.Fields() {
		if f.Anonymous && f.Type.Kind() == reflect.Interface && (f.Type.Implements(reflect.TypeFor[M]()) || f.Type.Implements(reflect.TypeFor[U]())) {
			return false
		}
		if f.Anonymous && f.Type.Kind() != reflect.Interface && (Has[M](base(f.Type)) || Has[U](base(f.Type))) {
			return false
		}
	}
	return true
}

// base returns t, or what it points to.
func base(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// Append appends what the value travels as to which v points.
func (f Form) Append(dst []byte, v any) ([]byte, error) {
	var b []byte
	var err error
	switch f {
	case Weft:
		if b, err = v.(marshaler).MarshalWeft(dst); err == nil && len(b) < len(dst) {
			err = fmt.Errorf("it returned %d bytes, fewer than it got", len(b))
		}
	case Binary:
		b, err = v.(encoding.BinaryMarshaler).MarshalBinary()
		b = append(dst, b...)
	default:
		b, err = v.(encoding.TextMarshaler).MarshalText()
		b = append(dst, b...)
	}
	if err != nil {
		return dst, fmt.Errorf("%s%s: %w", "Marshal", f, err)
	}
	return b, nil
}

// Set sets the value to which v points, and which is zero, to the one that travels as b. The methods copy what they keep of b.
func (f Form) Set(v any, b []byte) error {
	var err error
	switch f {
	case Weft:
		err = v.(unmarshaler).UnmarshalWeft(b)
	case Binary:
		err = v.(encoding.BinaryUnmarshaler).UnmarshalBinary(b)
	default:
		err = v.(encoding.TextUnmarshaler).UnmarshalText(b)
	}
	if err != nil {
		return fmt.Errorf("%s%s of a %s: %w", "Unmarshal", f, reflect.TypeOf(v).Elem(), shorten(err))
	}
	return nil
}

// mostText is how many bytes of the text of a method's error are told. That may have all of the value in it, and errors of the values
// around it hold a copy each.
const mostText = 512

// shortened is an error with a shorter text.
type shortened struct {
	error
	text string
}

func (s *shortened) Error() string { return s.text }
func (s *shortened) Unwrap() error { return s.error }

func shorten(err error) error {
	if text := err.Error(); len(text) > mostText {
		return &shortened{err, strings.ToValidUTF8(text[:mostText], "") + " …"}
	}
	return err
}

// String is the end of the names of the methods.
func (f Form) String() string { return [...]string{"", "Weft", "Binary", "Text"}[f] }
