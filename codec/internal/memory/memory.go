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
