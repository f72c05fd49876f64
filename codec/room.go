package codec

import (
	"reflect"
	"sync"
	"unicode"

	"github.com/weftrpc/weft/codec/internal/room"
)

// What the parts of a value in an any take: the interface itself, a list, a map
// without entries, and an entry. A map has room for eight from the first one on.
const (
	sizeAny   = 16
	sizeList  = 24
	sizeMap   = 48
	sizeEntry = 33
	leastMap  = 8
)

// Rooms bounds the memory that the elements of a body make a decoder take. An
// element may be a byte or two on the wire and a struct of hundreds of bytes in
// memory, so that a body of the allowed length could fill the memory of the
// process. A codec over a decoder without such a bound of its own has a Tally
// count the elements before.
//
// A body may take 32 MiB, and 16 times its length, in elements of slices and
// maps and in what pointers point to. A few bytes clear a whole array, as often as
// they come: all that come may have four times as much, and as the variable, so
// that those of a value which come once, each in up to four others, are never too
// many. What a type takes that decodes itself is not known and not counted.
type Rooms struct {
	// Least is the number of bytes that an element has at least.
	Least int

	// Behind is the number of bytes that an element may take in a value behind an
	// interface, where that may be of any type; 0 means that it is a list, a map or
	// a scalar.
	Behind int

	// Opaque reports whether values of a type decode themselves; nil means that
	// none do.
	Opaque func(reflect.Type) bool

	// Name returns the name of a field in a body, "" when it is not decoded. An
	// embedded struct whose fields stand in a body as those of the struct around
	// it has embedded true.
	Name func(f reflect.StructField) (name string, embedded bool)

	// Fold says that the case of names does not matter.
	Fold bool

	roots sync.Map // reflect.Type to *root
}

// A root is what is known of a type that bodies are decoded into.
type root struct {
	shape shape
	most  int64 // the largest room that one element takes
	whole int64 // the size of the largest array
	size  int64 // of the type
}

// rootOf looks at a type.
func (r *Rooms) rootOf(t reflect.Type) *root {
	known, ok := r.roots.Load(t)
	if !ok {
		nodes := make(map[reflect.Type]*node)
		k := &root{shape: r.shapeOf(t, nodes), size: int64(t.Size())}
		k.most = r.mostOf(k.shape, nodes)
		for _, n := range nodes {
			k.whole = max(k.whole, n.whole)
		}
		known, _ = r.roots.LoadOrStore(t, k)
	}
	return known.(*root)
}

// clears is how many bytes of arrays may come in a body whose elements may take most.
func (k *root) clears(most int64) int64 { return clearAgain * (most + k.size) }

// clearAgain is how often all memory of a value may be cleared.
const clearAgain = 4

// A shape is how values of a type are made.
type shape struct {
	behind int64 // the room of what its pointers point to
	via    int   // of a field of an embedded pointer: one more than the index of that in node.embedded
	*node
}

type kind uint8

const (
	scalar kind = iota
	record
	list
	table
	anything
)

type node struct {
	kind   kind
	each   int64 // list, table: the room of an element
	whole  int64 // list: the size of an array, which is cleared where it comes
	elem   shape
	key    shape            // table
	fields map[string]shape // record: by name
	order  []shape          // record: in the order of the type

	embedded []int64 // record: the room of what its embedded pointers point to
}

// maxEmbedded is how many embedded pointers of a struct are counted.
const maxEmbedded = 64

// Tally returns what counts the elements of a body of that length, which is
// decoded into a variable of the type t. It is nil when the body cannot have too
// many, as nearly always.
func (r *Rooms) Tally(length int, t reflect.Type) *Tally {
	k, most := r.rootOf(t), room.For(length)
	if n := int64(length / r.Least); n*k.most > most || k.whole > 0 && n > k.clears(most)/k.whole {
		return &Tally{rooms: r, length: length, left: most, clears: k.clears(most), next: k.shape}
	}
	return nil
}

func (r *Rooms) shapeOf(t reflect.Type, nodes map[reflect.Type]*node) shape {
	s := shape{}
	for range maxPointers { // a pointer type may point to itself
		if t.Kind() != reflect.Pointer || r.opaque(t) {
			break
		}
		t = t.Elem()
		s.behind += int64(t.Size())
	}
	if known := nodes[t]; known != nil {
		s.node = known
		return s
	}
	n := new(node)
	s.node, nodes[t] = n, n
	if r.opaque(t) || len(nodes) >= maxTypes {
		return s
	}
	switch t.Kind() {
	case reflect.Interface:
		n.kind = anything
	case reflect.Slice, reflect.Array:
		n.kind, n.elem = list, r.shapeOf(t.Elem(), nodes)
		if t.Kind() == reflect.Slice {
			n.each = int64(t.Elem().Size())
		} else {
			n.whole = int64(t.Size())
		}
	case reflect.Map:
		n.kind, n.elem, n.key = table, r.shapeOf(t.Elem(), nodes), r.shapeOf(t.Key(), nodes)
		n.each = int64(t.Key().Size() + t.Elem().Size() + 1)
	case reflect.Struct:
		n.kind, n.fields = record, make(map[string]shape)
		r.addFields(n, t, 0, nodes, make(map[reflect.Type]bool))
	}
	return s
}

// maxTypes is how many types of one value are looked at. No value has so many.
const maxTypes = 10_000

// addFields adds the fields of t, those of embedded structs included. Of two with
// one name the one that takes more counts. via is that of their shapes.
func (r *Rooms) addFields(n *node, t reflect.Type, via int, nodes map[reflect.Type]*node, around map[reflect.Type]bool) {
	if around[t] {
		return
	}
	around[t] = true
	for f := range t.Fields() {
		name, embedded := r.Name(f)
		if embedded {
			inner, through := f.Type, via
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
				through = n.embed(inner, via)
			}
			r.addFields(n, inner, through, nodes, around)
			continue
		}
		if name == "" {
			continue
		}
		name = r.fold(name)
		s := r.shapeOf(f.Type, nodes)
		s.via = via
		n.order = append(n.order, s)
		if old, ok := n.fields[name]; !ok || old.kind == scalar && old.behind <= s.behind {
			n.fields[name] = s
		}
	}
}

// embed notes an embedded pointer to a struct of the type t, which is in that of via, and returns the via of its fields.
func (n *node) embed(t reflect.Type, via int) int {
	if len(n.embedded) == maxEmbedded {
		return via
	}
	behind := int64(t.Size())
	if via > 0 {
		behind += n.embedded[via-1] // it may be there for these fields alone
	}
	n.embedded = append(n.embedded, behind)
	return len(n.embedded)
}

func (r *Rooms) opaque(t reflect.Type) bool { return r.Opaque != nil && r.Opaque(t) }

// fold returns the same for names that differ in case alone.
func (r *Rooms) fold(name string) string {
	if !r.Fold {
		return name
	}
	folded := []rune(name)
	for i, c := range folded {
		least := c
		for o := unicode.SimpleFold(c); o != c; o = unicode.SimpleFold(o) {
			least = min(least, o)
		}
		folded[i] = least
	}
	return string(folded)
}

// mostOf returns the largest room that one element takes in a value of the shape.
func (r *Rooms) mostOf(s shape, nodes map[reflect.Type]*node) int64 {
	most := s.behind
	for _, n := range nodes {
		switch n.kind {
		case anything:
			most = max(most, sizeAny+sizeMap+leastMap*sizeEntry, int64(r.Behind))
		case table:
			most = max(most, sizeMap+leastMap*n.each+n.elem.behind+n.key.behind)
		case list:
			most = max(most, n.each+n.elem.behind)
		case record:
			for _, f := range n.fields {
				behind := f.behind
				if f.via > 0 {
					behind += n.embedded[f.via-1]
				}
				most = max(most, behind)
			}
		}
	}
	return most
}

// A Tally counts the room that the elements of one body take, as a codec reads
// through it: for each value Begin and End, Scalar or Null; before each entry of a map
// or struct, Key.
type Tally struct {
	rooms  *Rooms
	length int // of the body
	left   int64
	clears int64  // left of what arrays may have
	next   shape  // of the value that follows
	into   *shape // the same, in place of what the container says
	stack  []level
}

// A level is a container that is not read to its end.
type level struct {
	shape   shape
	keyed   bool   // it has entries
	entries int    // or elements of a struct, so far
	made    uint64 // bit i: what embedded pointer i of the struct points to is counted
}

// Begin begins a container with elements, or with entries that have keys.
func (t *Tally) Begin(entries bool) error {
	s := t.value()
	if s.node == nil {
		t.stack = append(t.stack, level{keyed: entries})
		return nil
	}
	switch {
	case s.kind == anything && entries, s.kind == table:
		t.left -= sizeMap
	case s.kind == anything:
		t.left -= sizeList
	case s.kind == list:
		t.clears -= s.whole
	}
	t.stack = append(t.stack, level{shape: s, keyed: entries})
	return t.enough()
}

// End ends the container that began last and has not ended.
func (t *Tally) End() { t.stack = t.stack[:len(t.stack)-1] }

// Key says that the entry with that name follows.
func (t *Tally) Key(name []byte) {
	l := &t.stack[len(t.stack)-1]
	t.next = shape{}
	if l.shape.node == nil {
		return
	}
	each := int64(0)
	switch l.shape.kind {
	case record:
		t.next = l.shape.fields[t.rooms.fold(string(name))]
		t.reach(l, t.next)
		return
	case table:
		t.next, each = l.shape.elem, l.shape.each
	case anything:
		t.next, each = shape{node: l.shape.node}, sizeEntry
	}
	if l.entries++; l.entries == 1 {
		each *= leastMap
	}
	t.left -= each
}

// MapKey says that a key with parts of its own may follow, where a format has
// such; then come that value and Key.
func (t *Tally) MapKey() {
	t.next = shape{}
	if l := t.stack[len(t.stack)-1]; l.shape.node != nil && l.shape.kind == table {
		t.next = l.shape.key
	}
}

// Scalar is a value without parts.
func (t *Tally) Scalar() error {
	if s := t.value(); s.node != nil && s.kind == anything {
		t.left -= 8
	}
	return t.enough()
}

// Null is a value that stands for nothing: it has its place, and a pointer there points to nothing.
func (t *Tally) Null() error {
	if len(t.stack) > 0 {
		t.element(&t.stack[len(t.stack)-1], t.next)
	}
	t.next, t.into = shape{}, nil
	return t.enough()
}

// Into says that the value that follows has a type of its own, as behind an
// interface.
func (t *Tally) Into(typ reflect.Type) {
	k := t.rooms.rootOf(typ)
	t.left -= k.size
	t.clears += clearAgain * k.size
	t.into = &k.shape
}

// value returns the shape of the value that follows, which it counts.
func (t *Tally) value() shape {
	s := t.next
	if len(t.stack) > 0 {
		s = t.element(&t.stack[len(t.stack)-1], s)
	}
	if t.into != nil {
		s = *t.into
	}
	t.next, t.into = shape{}, nil
	t.left -= s.behind
	return s
}

// element returns the shape of the next value in l, and counts its place; keyed
// is that which Key found.
func (t *Tally) element(l *level, keyed shape) shape {
	switch {
	case l.keyed || l.shape.node == nil:
		return keyed
	case l.shape.kind == list:
		t.left -= l.shape.each
		return l.shape.elem
	case l.shape.kind == anything:
		t.left -= sizeAny
		return shape{node: l.shape.node}
	case l.shape.kind == record && l.entries < len(l.shape.order): // a struct without names
		l.entries++
		s := l.shape.order[l.entries-1]
		t.reach(l, s)
		return s
	}
	return shape{}
}

// reach counts what the embedded pointer points to through which a field of the struct l is reached.
func (t *Tally) reach(l *level, s shape) {
	if bit := uint64(1) << max(s.via-1, 0); s.via > 0 && l.made&bit == 0 {
		l.made |= bit
		t.left -= l.shape.embedded[s.via-1]
	}
}

func (t *Tally) enough() error {
	if t.left < 0 || t.clears < 0 {
		return room.Error(t.length)
	}
	return nil
}
