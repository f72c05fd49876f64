package gencode_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/codectest"
	"github.com/weftrpc/weft/codec/gencode"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// person is what gencode makes of a struct of a string, a number, a flag and a
// pointer, down to its want of checks.
type person struct {
	Name string
	Age  int64
	Wise bool
	Next *person
}

func (d *person) Size() (s uint64) {
	for t := uint64(len(d.Name)); ; t >>= 7 {
		s++
		if t < 0x80 {
			break
		}
	}
	s += uint64(len(d.Name))
	if d.Next != nil {
		s += d.Next.Size()
	}
	return s + 10
}

func (d *person) Marshal(buf []byte) ([]byte, error) {
	if size := d.Size(); uint64(cap(buf)) >= size {
		buf = buf[:size]
	} else {
		buf = make([]byte, size)
	}
	i := 0
	t := uint64(len(d.Name))
	for t >= 0x80 {
		buf[i] = byte(t) | 0x80
		t >>= 7
		i++
	}
	buf[i] = byte(t)
	i++
	i += copy(buf[i:], d.Name)
	for shift := range 8 {
		buf[i+shift] = byte(d.Age >> (8 * shift))
	}
	buf[i+8], buf[i+9] = 0, 0
	if d.Wise {
		buf[i+8] = 1
	}
	i += 10
	if d.Next != nil {
		buf[i-1] = 1
		b, err := d.Next.Marshal(buf[i:])
		if err != nil {
			return nil, err
		}
		i += len(b)
	}
	return buf[:i], nil
}

func (d *person) Unmarshal(buf []byte) (uint64, error) {
	i, l := uint64(0), uint64(0)
	for shift := 0; ; shift += 7 {
		l |= uint64(buf[i]&0x7f) << shift
		i++
		if buf[i-1] < 0x80 {
			break
		}
	}
	d.Name = string(buf[i : i+l])
	i += l
	d.Age = 0
	for shift := range uint64(8) {
		d.Age |= int64(buf[i+shift]) << (8 * shift)
	}
	d.Wise = buf[i+8] == 1
	i += 10
	if buf[i-1] == 1 {
		if d.Next == nil {
			d.Next = new(person)
		}
		n, err := d.Next.Unmarshal(buf[i:])
		return i + n, err
	}
	d.Next = nil
	return i, nil
}

// stubborn never writes into the slice it is given.
type stubborn struct{ person }

func (s *stubborn) Marshal([]byte) ([]byte, error) { return s.person.Marshal(nil) }

// liar has another size than it says.
type liar struct {
	person
	size uint64
}

func (l *liar) Size() uint64 { return l.size }

func sample() *person {
	return &person{Name: strings.Repeat("许多往事在眼前一幕一幕", 17), Age: -100000, Wise: true}
}

func TestConformance(t *testing.T) {
	codectest.Run(t, gencode.New(), codectest.Config{
		Values: []any{
			&person{}, sample(), &person{Name: "a", Next: &person{Age: 1 << 62, Next: &person{}}}, &stubborn{*sample()},
		},
		Refused: []any{7, "text", person{}, new(string), make(chan int), func() {}, &liar{size: 1 << 40}},
	})
}

func TestErrorsSayWhatToDo(t *testing.T) {
	c := gencode.New()
	encode := func(v any) error { _, err := c.Append(nil, v); return err }
	decode := func(body string, v any) error { return c.Decode([]byte(body), v) }
	for want, err := range map[string]error{
		"a int has no Size, Marshal and Unmarshal methods; generate them":                  encode(7),
		"a gencode_test.person has no Size, Marshal and Unmarshal methods; pass a pointer": encode(person{}),
		"encoding a *gencode_test.person: runtime error":                                   encode((*person)(nil)),
		"a *gencode_test.liar has 14 bytes where 99 were announced":                        encode(&liar{person{Name: "abc"}, 99}),
		"says its size is 1099511627776":                                                   encode(&liar{size: 1 << 40}),
		"decoding into a *gencode_test.person: runtime error: slice bounds":                decode("\x7f12", new(person)),
		"a *gencode_test.person ends at byte 11 of 13":                                     decode("\x00123456780000", new(person))} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
}

func TestNoAllocations(t *testing.T) {
	c := gencode.New()
	s := c.(codec.Sizer)
	v, got, dst := &Args{7, 8}, new(Args), make([]byte, 0, 64)
	if allocs := testing.AllocsPerRun(100, func() {
		n, _ := s.Size(v)
		body, _ := s.AppendSized(dst, v, n)
		body, _ = c.Append(body[:0], v)
		_ = c.Decode(body, got)
	}); allocs != 0 || *got != *v {
		t.Errorf("%v allocations per encoding and decoding, want 0; got %v", allocs, got)
	}
}

func FuzzDecode(f *testing.F) {
	c := gencode.New()
	for _, v := range []*person{{}, sample(), {Next: &person{Name: "x"}}} {
		body, err := c.Append(nil, v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		v, got := new(person), new(person)
		if c.Decode(body, v) != nil {
			return
		}
		again, err := c.Append(nil, v)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Decode(again, got); err != nil || !reflect.DeepEqual(got, v) {
			t.Fatalf("decoded %+v from %x, and %+v from that encoded: %v", v, body, got, err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	c, v, dst := gencode.New(), sample(), make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Append(dst, v); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	c, got := gencode.New(), new(person)
	body, err := c.Append(nil, sample())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Decode(body, got); err != nil {
			b.Fatal(err)
		}
	}
}

func TestCyclicValues(t *testing.T) {
	c, ring := gencode.New(), &person{Name: "ring"}
	ring.Next = &person{Next: ring}
	if _, ok := c.(codec.Sizer).Size(ring); ok {
		t.Error("a value that contains itself has a size")
	}
	if _, err := c.Append(nil, ring); err == nil || !strings.Contains(err.Error(), "contains itself") {
		t.Errorf("Append: %v", err)
	}
	var long *person
	for range 1000 {
		long = &person{Next: long}
	}
	if _, err := c.Append(nil, long); err != nil {
		t.Errorf("1000 deep: %v", err)
	}
}
