package fit

import (
	"reflect"
	"sync/atomic"
)

// pair are the types of the messages of a call.
type pair struct{ args, reply reflect.Type }

// Known remembers types of calls that were found to be fine, so that a call whose types are known is not delayed by
// a look at them. Most programs have few; the codecs remember the others. The zero value is ready; it may
// be used concurrently.
type Known [8]atomic.Pointer[pair]

// Has reports whether the types of the messages of a call were added.
func (k *Known) Has(args, reply any) bool {
	a, r := reflect.TypeOf(args), reflect.TypeOf(reply)
	for i := range k {
		switch known := k[i].Load(); {
		case known == nil:
			return false
		case known.args == a && known.reply == r:
			return true
		}
	}
	return false
}

// Add adds the types of the messages of a call, while there is room.
func (k *Known) Add(args, reply any) {
	for i := range k {
		if k[i].Load() == nil && k[i].CompareAndSwap(nil, &pair{reflect.TypeOf(args), reflect.TypeOf(reply)}) {
			return
		}
	}
}
