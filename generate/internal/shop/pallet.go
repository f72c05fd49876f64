package shop

import "errors"

// Seal takes much memory for few bytes, by methods of package codec.
type Seal [1024]uint8

// MarshalWeft implements codec.Marshaler.
func (s *Seal) MarshalWeft(dst []byte) ([]byte, error) { return append(dst, s[0]), nil }

// UnmarshalWeft implements codec.Unmarshaler.
func (s *Seal) UnmarshalWeft(b []byte) error {
	if len(b) > 1 {
		return errors.New("this is no seal")
	}
	copy(s[:], b)
	return nil
}

// Pallet has lists whose elements take much memory for few bytes.
type Pallet struct {
	Blocks [][4096]byte `weft:"1"`
	Seals  []Seal       `weft:"2"`
	Seal   *Seal        `weft:"3"`
	Block  *[4096]byte  `weft:"4"`
	Many   []Pallet     `weft:"5"`
}
