package gob

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"io"
	"reflect"
	"sync"
	"sync/atomic"
)

const (
	// maxKnown is how many descriptions are remembered for one type that is
	// decoded into. Peers of one version of a program send one.
	maxKnown = 8

	// maxInterfaces is how many values behind interfaces a decoder decodes before
	// it is replaced: it keeps what it compiles for each type among them.
	maxInterfaces = 256
)

// A receiver decodes into variables of one type.
type receiver struct {
	known atomic.Pointer[map[heading]*known]

	mu   sync.Mutex // held while known is replaced
	ring []*known   // its values, in the order in which they are replaced
	hand int
}

// A heading is what stands before a value: descriptions of types, and the number
// of the value's type.
type heading struct {
	defs string
	top  int64
}

// A known heading has decoders that have read it.
type known struct {
	heading heading
	top     part
	used    atomic.Bool // since the hand of the ring passed
	idle    sync.Pool   // of *decoder
}

// decode decodes body into v.
func (r *receiver) decode(body []byte, v any) error {
	if defs, message, contents, ok := cut(body); ok {
		if id, at := topOf(contents); at > 0 {
			if k := r.find(defs, id); k != nil && check(contents[at:], k.top) {
				return k.decode(message, 0, v)
			}
		}
	}
	s, err := scan(body, reflect.TypeOf(v))
	if err != nil {
		return fmt.Errorf("codec/gob: %w", err)
	}
	k := r.find(s.defs, s.top)
	if k == nil {
		k = r.learn(s)
	}
	return k.decode(appendMessage(nil, s.out), len(s.interfaces), v)
}

func (r *receiver) find(defs []byte, top int64) *known {
	all := r.known.Load()
	if all == nil {
		return nil
	}
	k := (*all)[heading{string(defs), top}]
	if k != nil && !k.used.Load() {
		k.used.Store(true)
	}
	return k
}

// learn remembers the heading that s read, unless it is long, and forgets
// another when there are many: the first one in the ring that was not used since
// the last time. So headings that come once do not displace those in use.
func (r *receiver) learn(s *scanner) *known {
	s.types.link()
	k := &known{heading: heading{string(s.defs), s.top}, top: part{s.top, s.types[s.top]}}
	if len(s.defs) > maxKept/maxKnown {
		return k
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make(map[heading]*known, maxKnown)
	if old := r.known.Load(); old != nil {
		for h, k := range *old {
			all[h] = k
		}
	}
	if other := all[k.heading]; other != nil {
		return other
	}
	if len(r.ring) < maxKnown {
		r.ring = append(r.ring, k)
	} else {
		for range maxKnown {
			if !r.ring[r.hand].used.Swap(false) {
				break
			}
			r.hand = (r.hand + 1) % maxKnown
		}
		delete(all, r.ring[r.hand].heading)
		r.ring[r.hand] = k
		r.hand = (r.hand + 1) % maxKnown
	}
	all[k.heading] = k
	r.known.Store(&all)
	return k
}

// decode decodes message, a value behind the heading with so many values behind
// interfaces, into v. Nothing in it is unsound.
func (k *known) decode(message []byte, interfaces int, v any) (err error) {
	d, _ := k.idle.Get().(*decoder)
	if d == nil {
		d = newDecoder(k.heading.defs)
	}
	// encoding/gob turns its own panics into errors, but not those of package
	// reflect, such as for a map key behind an interface that has no equality.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("codec/gob: decoding into a %T: %v", v, r)
		}
	}()
	d.value.Reset(message)
	if err := d.dec.Decode(v); err != nil {
		return err // and d is not used again
	}
	d.interfaces += interfaces
	clean := d.defs.Len() == 0 && d.value.Len() == 0
	d.value.Reset(nil)
	if clean && d.interfaces <= maxInterfaces && len(message) <= maxKept {
		k.idle.Put(d)
	}
	return nil
}

// A decoder reads descriptions of types once, and then values.
type decoder struct {
	dec        *gob.Decoder
	defs       bytes.Reader
	value      bytes.Reader
	interfaces int // how many values behind interfaces it has decoded
}

func newDecoder(defs string) *decoder {
	d := new(decoder)
	d.defs.Reset([]byte(defs))
	d.dec = gob.NewDecoder(d)
	return d
}

// ReadByte and Read take from the descriptions first.
func (d *decoder) ReadByte() (byte, error) {
	if d.defs.Len() > 0 {
		return d.defs.ReadByte()
	}
	return d.value.ReadByte()
}

func (d *decoder) Read(p []byte) (int, error) {
	if d.defs.Len() > 0 {
		return d.defs.Read(p)
	}
	return d.value.Read(p)
}

var _ io.ByteReader = (*decoder)(nil)
