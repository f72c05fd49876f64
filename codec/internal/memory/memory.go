// Package memory gives codecs access to variables whose types are known only at
// run time, without the cost of package reflect for each value.
//
// A codec looks at a Go type once, with package reflect, and writes down what
// lies where. It then works through [Ref], a reference to one variable. Its methods
// do not check the type of that variable: the codec calls Int32 only where the
// type is an int32. They never reach beyond a variable, and never see input:
// bodies are ordinary slices.
//
// This is the only package of weft that imports unsafe. With the build tag purego
// the same methods use package reflect alone, which is several times slower.
package memory

import "reflect"

// KeptEntries is how many entries a map may have to be emptied and kept for the next message. The time for that grows with the most entries
// that it ever had, so that one large message would delay all later ones.
const KeptEntries = 1024

// Empty empties a map for the next message, or makes it nil where it has more than KeptEntries.
func Empty(m reflect.Value) {
	if m.Len() > KeptEntries {
		m.SetZero()
	} else {
		m.Clear()
	}
}
