// Package coded holds the published message as package numbered has it, with the code that
// "weft generate -codec" makes.
package coded

//go:generate go run github.com/weftrpc/weft/generate/cmd/weft-generate -codec

// BenchmarkMessage is the published message with its numbers, so that it travels as Protocol Buffers.
type BenchmarkMessage struct {
	Field1   string   `weft:"1"`
	Field2   int32    `weft:"2"`
	Field3   int32    `weft:"3"`
	Field4   string   `weft:"4"`
	Field5   []uint64 `weft:"5,fixed"`
	Field6   int32    `weft:"6"`
	Field7   string   `weft:"7"`
	Field9   string   `weft:"9"`
	Field12  bool     `weft:"12"`
	Field13  bool     `weft:"13"`
	Field14  bool     `weft:"14"`
	Field16  int32    `weft:"16"`
	Field17  bool     `weft:"17"`
	Field18  string   `weft:"18"`
	Field22  int64    `weft:"22"`
	Field23  int32    `weft:"23"`
	Field24  bool     `weft:"24"`
	Field25  int32    `weft:"25"`
	Field29  int32    `weft:"29"`
	Field30  bool     `weft:"30"`
	Field59  bool     `weft:"59"`
	Field60  int32    `weft:"60"`
	Field67  int32    `weft:"67"`
	Field68  int32    `weft:"68"`
	Field78  bool     `weft:"78"`
	Field80  bool     `weft:"80"`
	Field81  bool     `weft:"81"`
	Field100 int32    `weft:"100"`
	Field101 int32    `weft:"101"`
	Field102 string   `weft:"102"`
	Field103 string   `weft:"103"`
	Field104 int32    `weft:"104"`
	Field128 int32    `weft:"128"`
	Field129 string   `weft:"129"`
	Field130 int32    `weft:"130"`
	Field131 int32    `weft:"131"`
	Field150 int32    `weft:"150"`
	Field271 int32    `weft:"271"`
	Field272 int32    `weft:"272"`
	Field280 int32    `weft:"280"`
}
