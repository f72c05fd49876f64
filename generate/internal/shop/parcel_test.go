package shop

import (
	"bytes"
	"math"
	"math/big"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/protobuf"
)

// planned is a Parcel without the generated methods, which goes by its plan.
type planned Parcel

func parcel() *Parcel {
	last := Cents(300)
	return &Parcel{
		Price: 5, Last: &last, Prices: []Cents{0, 1, 1 << 40}, From: netip.MustParseAddr("10.0.0.1"), Via: []netip.Addr{{}, netip.MustParseAddr("fe80::1%eth0")},
		Weight: *big.NewInt(-5), Limit: new(big.Int).Lsh(big.NewInt(1), 200), Any: map[string]any{"k": []any{1.5, nil}}, Anys: []any{nil, "x"}, Code: [4]byte{1, 2},
		Codes: [][2]byte{{}, {3}}, Maybe: &[2]byte{4}, Size: [3]int32{-1, 0, 1 << 30}, Scale: [2]float64{0, -1}, Names: [2]string{"", "name"}, Items: [2]Item{{}, {Name: "i", Sub: &Item{Count: 1}}},
		Sub: [1]*Item{{Count: 7}}, Pair: [2]any{true, nil}, Stamp: Stamp{Hops: [2]netip.Addr{netip.MustParseAddr("::1")}, Raw: [2][]byte{nil, []byte("raw")}, Letters: [2][3]byte{{1}, {2}}, Serial: -2, Serials: []uint{1, math.MaxUint32}, Spare: new(int)}, Flags: [2]bool{false, true},
	}
}

// tidyParcel makes what is equal compare as equal: lists that are empty, numbers of package big, and NaNs in an any.
func tidyParcel(p *Parcel) {
	tidy(reflect.ValueOf(p))
	for _, n := range []*big.Int{&p.Weight, p.Limit} {
		if n != nil {
			n.SetBytes(append([]byte{byte(n.Sign() + 1)}, n.Bytes()...))
		}
	}
	for _, v := range []*any{&p.Any, &p.Pair[0], &p.Pair[1]} {
		if s, ok := (*v).(float64); ok && s != s {
			*v = "NaN"
		}
	}
	for i := range p.Scale {
		if p.Scale[i] != p.Scale[i] {
			p.Scale[i] = 0
		}
	}
	for i := range p.Stamp.Raw {
		if len(p.Stamp.Raw[i]) == 0 {
			p.Stamp.Raw[i] = nil
		}
	}
	for i := range p.Items {
		tidy(reflect.ValueOf(&p.Items[i]))
	}
}

// compareParcels decodes body with generated code, with it over an older value, and by the plan.
func compareParcels(t *testing.T, c codec.Codec, body []byte, used *Parcel) (good bool) {
	t.Helper()
	want, got := new(planned), new(Parcel)
	wantErr, err := c.Decode(body, want), c.Decode(body, got)
	usedErr := c.(codec.Reuser).DecodeReuse(body, used)
	plain := func(err error) string {
		return strings.NewReplacer("shop.planned", "", "shop.Parcel", "").Replace(reason(err))
	}
	if plain(err) != plain(wantErr) || plain(usedErr) != plain(wantErr) {
		t.Fatalf("%x: %v, over an older value %v, by the plan %v", body, err, usedErr, wantErr)
	}
	if err != nil {
		return false
	}
	for _, v := range []*Parcel{got, used, (*Parcel)(want)} {
		tidyParcel(v)
	}
	if !reflect.DeepEqual(got, (*Parcel)(want)) || !reflect.DeepEqual(used, got) {
		t.Fatalf("%x is\n%+v\n%+v\n%+v", body, got, used, want)
	}
	return true
}

// TestParcel holds generated code to the plan, for types that encode themselves, arrays, and any.
func TestParcel(t *testing.T) {
	r, c, used, good := rand.New(rand.NewPCG(1, 2)), protobuf.New(), new(Parcel), 0
	for _, v := range []*Parcel{parcel(), {Sub: [1]*Item{{}}}} {
		body, err := c.Append([]byte("head"), v)
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.Append([]byte("head"), (*planned)(v))
		if err != nil || !bytes.Equal(body, want) {
			t.Fatalf("%v\n got %x\nwant %x", err, body, want)
		}
		if body = body[4:]; !compareParcels(t, c, body, used) {
			t.Error("the whole body is refused")
		}
		for n := range body {
			compareParcels(t, c, body[:n:n], used)
		}
		for range 1500 {
			b := bytes.Clone(body)
			for range 1 + r.IntN(3) {
				switch at := r.IntN(len(b)); r.IntN(6) {
				case 0:
					b = append(b, b[at:]...) // fields that come twice
				case 1:
					b = append(b[at:len(b):len(b)], b[:at]...) // in another order
				case 2:
					b = b[:at+1]
				default:
					b[at] = byte(r.Uint32())
				}
			}
			if compareParcels(t, c, b[:len(b):len(b)], used) {
				good++
			}
		}
	}
	if good < 150 {
		t.Errorf("only %d changed bodies were good", good)
	}
}

// TestParcelRefused has what cannot be encoded: the code and the plan say the same.
func TestParcelRefused(t *testing.T) {
	c := protobuf.New()
	for want, v := range map[string]*Parcel{
		"Price: MarshalWeft: so much cannot be paid":  {Price: 1<<64 - 1, Sub: [1]*Item{{}}},
		"Prices: MarshalWeft: so much cannot be paid": {Prices: []Cents{1<<64 - 1}, Sub: [1]*Item{{}}},
		"Any: a func() in an any has no form":         {Any: func() {}, Sub: [1]*Item{{}}},
		"Sub: element 0 is nil":                       {},
	} {
		if _, err := c.Append(nil, v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
