package shop

import (
	"encoding/binary"
	"errors"
	"math/big"
	"net/netip"
)

// Cents travel as bytes, by methods of package codec.
type Cents uint64

// MarshalWeft implements codec.Marshaler.
func (c Cents) MarshalWeft(dst []byte) ([]byte, error) {
	switch c {
	case 0:
		return dst, nil
	case 1<<64 - 1:
		return nil, errors.New("so much cannot be paid")
	}
	return binary.AppendUvarint(dst, uint64(c)), nil
}

// UnmarshalWeft implements codec.Unmarshaler.
func (c *Cents) UnmarshalWeft(b []byte) error {
	v, n := binary.Uvarint(b)
	if n != len(b) || *c != 0 {
		return errors.New("these are no cents")
	}
	*c = Cents(v)
	return nil
}

// Parcel has fields of types that encode themselves, arrays, and any.
type Parcel struct {
	Price  Cents        `weft:"1"`
	Last   *Cents       `weft:"2"`
	Prices []Cents      `weft:"3"`
	From   netip.Addr   `weft:"4"`
	Via    []netip.Addr `weft:"5"`
	Weight big.Int      `weft:"6"`
	Limit  *big.Int     `weft:"7"`
	Any    any          `weft:"8"`
	Anys   []any        `weft:"9"`
	Code   [4]byte      `weft:"10"`
	Codes  [][2]byte    `weft:"11"`
	Maybe  *[2]byte     `weft:"12"`
	Size   [3]int32     `weft:"13,zigzag"`
	Scale  [2]float64   `weft:"14"`
	Names  [2]string    `weft:"15"`
	Items  [2]Item      `weft:"16"`
	Sub    [1]*Item     `weft:"17"`
	Pair   [2]any       `weft:"18"`
	Stamp  Stamp        `weft:"19"`
	Flags  [2]bool      `weft:"3000"`
}

// Stamp is on a parcel.
type Stamp struct {
	Hops    [2]netip.Addr `weft:"1"`
	Raw     [2][]byte     `weft:"2"`
	Letters [2][3]byte    `weft:"3"`
	None    [0]int32      `weft:"4"`
	Serial  int           `weft:"5,fixed"`
	Serials []uint        `weft:"6,fixed"`
	Spare   *int          `weft:"7,fixed"`
}
