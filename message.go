package weft

import "reflect"

// checkMessages finds what can be known to be wrong with the values of a call before it is sent.
func checkMessages(args, reply any) error {
	switch {
	case args == nil:
		return Errorf(InvalidArgument, "the arguments are nil; for a method without arguments pass &struct{}{}")
	case isNilPointer(args):
		return Errorf(InvalidArgument, "the arguments are a nil %T", args)
	case reply != nil && isNilPointer(reply):
		return Errorf(InvalidArgument, "the reply is a nil %T", reply)
	case reply != nil && reflect.TypeOf(reply).Kind() != reflect.Pointer:
		return Errorf(InvalidArgument, "the reply has type %T, want a pointer or nil", reply)
	}
	return nil
}

func isNilPointer(v any) bool {
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}
