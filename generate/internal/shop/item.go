package shop

// Query asks for orders.
type Query struct {
	N int64 `weft:"1"`
}

// Item is a part of an order.
type Item struct {
	Name  string  `weft:"1"`
	Price float64 `weft:"2"`
	Count uint32  `weft:"3"`
	Sub   *Item   `weft:"4"`
	Int   int     `weft:"5"`
	Uint  uint    `weft:"6"`
	Zig   int     `weft:"7,zigzag"`
	note  string
}
