package shop

// Crate takes much memory for few bytes.
type Crate struct {
	Next     *Crate      `weft:"1"`
	Many     []Crate     `weft:"2"`
	Pointers []*Crate    `weft:"3"`
	Room     [1000]int64 `weft:"-"`
}
