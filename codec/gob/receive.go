package gob

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weftrpc/weft/codec"
)

const (
	// What a codec remembers of descriptions: how many, and how many bytes of
	// them, in one and in all. In memory a description takes up to twenty times
	// its bytes. Peers of one version of a program send one for each type.
	maxKnown         = 512
	maxKnownSize     = 16 << 10
	maxKnownTogether = 512 << 10

	// maxStrong decoders of one codec, of short headings alone, outlive a collection of garbage: a
	// decoder compiles what it reads anew. Others are in pools.
	maxStrong     = 16
	maxStrongSize = 4 << 10

	// maxInterfaces is how many values behind interfaces a decoder decodes before
	// it is replaced: it keeps what it compiles for each type among them.
	maxInterfaces = 256
)

// A receiver decodes into variables of one type.
type receiver struct {
	rooms  *codec.Rooms
	memory *memory
	known  atomic.Pointer[map[heading]*known] // replaced under memory.mu
}

// A memory has all descriptions that a codec knows.
type memory struct {
	mu   sync.Mutex
	ring []*known
	hand int // where in the ring the next one is forgotten
	size int // how many bytes of descriptions there are

	strong atomic.Int32 // how many headings have a decoder that outlives a collection of garbage
}

// A heading is what stands before a value: descriptions of types, and the number
// of the value's type.
type heading struct {
	defs string
	top  int64
}

// A known heading has decoders that have read it.
type known struct {
	receiver *receiver
	heading  heading
	top      part
	used     atomic.Bool // since the hand passed
	gone     atomic.Bool // it was forgotten
	idle     sync.Pool   // of *decoder
	strong   atomic.Pointer[decoder]
}

// take returns a decoder that is not in use, or a new one.
func (k *known) take() *decoder {
	if d := k.weaken(); d != nil {
		return d
	}
	if d, _ := k.idle.Get().(*decoder); d != nil {
		return d
	}
	return newDecoder(k.heading.defs)
}

// weaken gives up the decoder that outlives a collection of garbage, if there is one.
func (k *known) weaken() *decoder {
	d := k.strong.Swap(nil)
	if d != nil {
		k.receiver.memory.strong.Add(-1)
	}
	return d
}

// give keeps a decoder for the next value.
func (k *known) give(d *decoder) {
	m := k.receiver.memory
	if len(k.heading.defs) <= maxStrongSize {
		if m.strong.Add(1) <= maxStrong && k.strong.CompareAndSwap(nil, d) {
			if k.gone.Load() {
				k.weaken()
			}
			return
		}
		m.strong.Add(-1)
	}
	k.idle.Put(d)
}

// decode decodes body into v.
func (r *receiver) decode(body []byte, v any) error {
	t := reflect.TypeOf(v)
	tally := r.rooms.Tally(len(body), t.Elem())
	if defs, message, contents, ok := cut(body); ok && tally == nil {
		if id, at := topOf(contents); at > 0 {
			if k := r.find(defs, id); k != nil && check(contents[at:], k.top) {
				return k.decode(message, 0, v)
			}
		}
	}
	s, err := scan(body, t, tally)
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

// learn remembers the heading that s read, unless it is long.
func (r *receiver) learn(s *scanner) *known {
	s.types.link()
	k := &known{receiver: r, heading: heading{string(s.defs), s.top}, top: part{s.top, s.types[s.top]}}
	if len(s.defs) > maxKnownSize {
		return k
	}
	m := r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if all := r.known.Load(); all != nil && (*all)[k.heading] != nil {
		return (*all)[k.heading]
	}
	for len(m.ring) >= maxKnown || m.size+len(k.heading.defs) > maxKnownTogether {
		m.forgetLocked()
	}
	m.ring = append(m.ring, k)
	m.size += len(k.heading.defs)
	r.changeLocked(func(all map[heading]*known) { all[k.heading] = k })
	return k
}

// forgetLocked forgets the first heading that was not used since the hand passed
// it. So headings that come once do not displace those in use.
func (m *memory) forgetLocked() {
	m.hand %= len(m.ring)
	for range m.ring {
		if !m.ring[m.hand].used.Swap(false) {
			break
		}
		m.hand = (m.hand + 1) % len(m.ring)
	}
	k := m.ring[m.hand]
	m.ring = slices.Delete(m.ring, m.hand, m.hand+1)
	m.size -= len(k.heading.defs)
	k.gone.Store(true)
	k.weaken()
	k.receiver.changeLocked(func(all map[heading]*known) { delete(all, k.heading) })
}

// changeLocked changes a copy of what is known, since readers take no lock.
func (r *receiver) changeLocked(change func(map[heading]*known)) {
	all := make(map[heading]*known)
	if old := r.known.Load(); old != nil {
		maps.Copy(all, *old)
	}
	change(all)
	r.known.Store(&all)
}

// decode decodes message, a value behind the heading with so many values behind
// interfaces, into v. Nothing in it is unsound.
func (k *known) decode(message []byte, interfaces int, v any) (err error) {
	d := k.take()
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
		k.give(d)
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
