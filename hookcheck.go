package weft

import (
	"fmt"
	"reflect"
)

// hookTypes are the hook interfaces, of one method each.
func hookTypes() []reflect.Type {
	return []reflect.Type{
		reflect.TypeFor[ServiceRegisteredHook](), reflect.TypeFor[ListeningHook](), reflect.TypeFor[ConnAcceptedHook](),
		reflect.TypeFor[ConnOpenedHook](), reflect.TypeFor[ConnClosedHook](),
		reflect.TypeFor[AfterReadRequestHeaderHook](), reflect.TypeFor[BeforeReadRequestBodyHook](), reflect.TypeFor[AfterReadRequestBodyHook](),
		reflect.TypeFor[BeforeWriteReplyHook](), reflect.TypeFor[AfterWriteReplyHook](),
		reflect.TypeFor[BeforeWriteRequestHook](), reflect.TypeFor[AfterWriteRequestHook](), reflect.TypeFor[BeforeReadReplyHeaderHook](),
		reflect.TypeFor[AfterReadReplyHeaderHook](), reflect.TypeFor[BeforeReadReplyBodyHook](), reflect.TypeFor[AfterReadReplyBodyHook](),
	}
}

// nearHook finds a method of a value that has the name of a hook and not its signature: it would never be called. "" means none.
func nearHook(v any) string {
	t := reflect.TypeOf(v)
	for _, hook := range hookTypes() {
		want := hook.Method(0)
		if m, ok := t.MethodByName(want.Name); ok && !t.Implements(hook) {
			return fmt.Sprintf("%s is %v, want %v", want.Name, reflect.ValueOf(v).Method(m.Index).Type(), want.Type)
		}
	}
	return ""
}
