package thrift

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/thrift/internal/plan"
)

// thrownType begins the type of a detail that is an exception; the number of its field follows.
const thrownType = "thrift.exception/"

// Throw is the error of a handler whose method declares an exception: a client of Thrift gets v as the field id of the result, as in
// "throws (1: NotFound missing)". v is a struct with tags, or one that the Thrift compiler has generated. A client of weft reads it by
// Caught. The error has the code Unknown and, if v is an error, its text; WithReason and the like may add to it.
func Throw(id int16, v any) *weft.Error {
	t, err := plan.Throw(id, v)
	if err != nil {
		return weft.Errorf(weft.Internal, "thrift: throw a %T: %w", v, err).WithReason(weft.ReasonEncode)
	}
	if id <= 0 {
		return weft.Errorf(weft.Internal, "thrift: throw a %T as the field %d: the exceptions of a method are numbered from 1 on", v, id)
	}
	text := fmt.Sprintf("the method threw %T, its exception %d", v, id)
	if e, ok := v.(error); ok {
		text = e.Error()
	}
	return withThrown(weft.Errorf(weft.Unknown, "%s", text), t)
}

// armor ends the type of a detail whose bytes that are no text stand in base64.
const armor = "/base64"

// withThrown adds an exception to an error.
func withThrown(e *weft.Error, t *plan.Thrown) *weft.Error {
	name := thrownType + strconv.Itoa(int(t.ID))
	if t.Body != nil {
		e = e.WithDetail(name, t.Body)
	}
	if t.Armored != nil {
		e = e.WithDetail(name+armor, t.Armored)
	}
	return e
}

// Caught reports whether an error of a call is the exception that the method declares as the field
// id of its result, and decodes it into v, a pointer.
func Caught(err error, id int16, v any) bool {
	e, ok := errors.AsType[*weft.Error](err)
	if !ok {
		return false
	}
	t := thrownOf(e)
	return t != nil && t.ID == id && t.Decode(v) == nil
}

// thrownOf is the exception that an error carries; nil: none.
func thrownOf(e *weft.Error) *plan.Thrown {
	var t *plan.Thrown
	for _, d := range e.Details {
		text, ok := strings.CutPrefix(d.Type, thrownType)
		if !ok {
			continue
		}
		text, armored := strings.CutSuffix(text, armor)
		id, err := strconv.ParseInt(text, 10, 16)
		if err != nil || id <= 0 || t != nil && t.ID != int16(id) {
			continue
		}
		if t == nil {
			t = &plan.Thrown{ID: int16(id)}
		}
		if armored {
			t.Armored = d.Value
		} else {
			t.Body = d.Value
		}
	}
	return t
}
