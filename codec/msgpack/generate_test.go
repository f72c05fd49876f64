package msgpack

import (
	"encoding/binary"
	"math"
	"reflect"
	"time"
)

// dice makes values of any type out of the bytes of a fuzzer.
type dice struct {
	data    []byte
	entries int // of a map, at most
}

func (d *dice) roll(n int) int {
	if len(d.data) == 0 {
		return 0
	}
	c := d.data[0]
	d.data = d.data[1:]
	return int(c) % n
}

func (d *dice) bits() uint64 {
	var b [8]byte
	n := copy(b[:d.roll(9)], d.data)
	d.data = d.data[n:]
	return binary.LittleEndian.Uint64(b[:])
}

func (d *dice) text() string {
	n := d.roll(40)
	if d.roll(20) == 19 {
		n = d.roll(256) * 300 // beyond what shares memory, and 64 KiB
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	copy(b, d.data)
	d.data = d.data[min(n, len(d.data)):]
	return string(b)
}

// fill sets v, and what it contains at most depth deep.
func (d *dice) fill(v reflect.Value, depth int) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(int64(d.bits()), int64(d.bits()%1e9)).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(d.roll(2) == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(d.bits()) << (64 - v.Type().Bits()) >> (64 - v.Type().Bits()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(d.bits() << (64 - v.Type().Bits()) >> (64 - v.Type().Bits()))
	case reflect.Float32:
		v.SetFloat(float64(int32(d.bits())) / 64)
	case reflect.Float64:
		if f := math.Float64frombits(d.bits()); f == f {
			v.SetFloat(f)
		}
	case reflect.Complex64, reflect.Complex128:
		v.SetComplex(complex(float64(int16(d.bits())), float64(int16(d.bits()))))
	case reflect.String:
		v.SetString(d.text())
	case reflect.Pointer:
		if depth > 0 && d.roll(3) > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			d.fill(v.Elem(), depth-1)
		}
	case reflect.Slice:
		if depth > 0 && d.roll(4) > 0 {
			n := d.roll(20)
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				d.fill(v.Index(i), depth-1)
			}
		}
	case reflect.Array:
		for i := range v.Len() {
			d.fill(v.Index(i), depth-1)
		}
	case reflect.Map:
		if depth > 0 && d.roll(4) > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range d.roll(d.entries + 1) {
				key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				d.fill(key, depth-1)
				d.fill(elem, depth-1)
				if key.Comparable() {
					v.SetMapIndex(key, elem)
				}
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				d.fill(v.Field(i), depth)
			}
		}
	case reflect.Interface:
		if s := d.any(depth); s != nil {
			v.Set(reflect.ValueOf(s))
		}
	}
}

// any returns a value such as arrives in an any.
func (d *dice) any(depth int) any {
	n := d.roll(9)
	if depth <= 0 {
		n %= 6
	}
	switch n {
	case 1:
		return d.roll(2) == 1
	case 2:
		return uint8(d.roll(256))
	case 3:
		return int16(-1000 - d.roll(256))
	case 4:
		return d.text()
	case 5:
		return float64(d.roll(256)) / 4
	case 6:
		s := make([]any, d.roll(5))
		for i := range s {
			s[i] = d.any(depth - 1)
		}
		return s
	case 7:
		m := make(map[any]any)
		for range d.roll(d.entries + 1) {
			m[d.text()] = d.any(depth - 1)
		}
		return m
	case 8:
		return time.Unix(int64(d.roll(256)), 5).UTC()
	}
	return nil
}
