package shop

import "time"

// Color is a number.
type Color int8

// Label is a string.
type Label string

// Order has a field of every kind.
type Order struct {
	ID       int64         `weft:"1"`
	Paid     bool          `weft:"2"`
	Color    Color         `weft:"3"`
	Small    int16         `weft:"4"`
	I32      int32         `weft:"5"`
	U8       uint8         `weft:"6"`
	U16      uint16        `weft:"7"`
	U64      uint64        `weft:"8"`
	Zig32    int32         `weft:"9,zigzag"`
	Zig64    int64         `weft:"10,zigzag"`
	Fix32    uint32        `weft:"11,fixed"`
	Fix64    int64         `weft:"12,fixed"`
	Float    float32       `weft:"13"`
	Double   float64       `weft:"14"`
	Text     string        `weft:"15"`
	Label    Label         `weft:"16"`
	Raw      []byte        `weft:"17"`
	Item     Item          `weft:"18"`
	Maybe    *Item         `weft:"19"`
	Number   *int32        `weft:"20"`
	Title    *string       `weft:"21"`
	Flag     *bool         `weft:"22"`
	Ints     []int32       `weft:"23"`
	Zigs     []int64       `weft:"24,zigzag"`
	Doubles  []float64     `weft:"25"`
	Bools    []bool        `weft:"26"`
	Fixed    []uint32      `weft:"27,fixed"`
	Texts    []string      `weft:"28"`
	Blobs    [][]byte      `weft:"29"`
	Items    []Item        `weft:"30"`
	Pointers []*Item       `weft:"31"`
	At       time.Time     `weft:"32"`
	Took     time.Duration `weft:"33"`
	Times    []time.Time   `weft:"34"`
	Colors   []Color       `weft:"35"`
	Skip     any           `weft:"-"`
	secret   func()
	Far      string            `weft:"3000"`
	Notes    map[string]string `weft:"300000"`
	Last     uint64            `weft:"536870911"`
}
