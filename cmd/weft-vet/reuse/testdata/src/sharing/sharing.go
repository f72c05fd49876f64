// Package sharing calls functions whose results share memory of their arguments, and functions that copy.
package sharing

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/weftrpc/weft"
)

type message struct {
	Name    string
	Names   []string
	Data    []byte
	Numbers []int
	Tags    map[string]string
	Counts  map[int]int
	Any     any
	Number  int
	Place   struct{ X, Y int }
	Places  [2]int
}

var (
	name    string
	names   []string
	data    []byte
	lists   [][]byte
	numbers []int
	number  int
	tags    map[string]string
	counts  map[int]int
	any_    any
	failure error
	text    *string
	pointer *int
	reader  *strings.Reader
	buffer  *bytes.Buffer
	word    = regexp.MustCompile(`\w+`)
	quoted  = strings.NewReplacer(`"`, `\"`)
)

func register(r weft.Registrar) {
	_ = weft.HandleReuse(r, "A.Parts", func(ctx context.Context, req, res *message) error {
		name = strings.TrimSpace(req.Name)              // want `strings.TrimSpace\(req.Name\) is stored in name, but the request is valid until its handler returns only: copy what is kept`
		name = strings.TrimPrefix(req.Name, "x")        // want `is stored in name`
		name = strings.TrimPrefix("x", req.Name)        // the prefix is no part of the result
		name = strings.ToLower(req.Name)                // want `is stored in name`
		name = strings.ReplaceAll(req.Name, "x", "y")   // want `is stored in name`
		name = strings.Map(lower, req.Name)             // want `is stored in name`
		name = quoted.Replace(req.Name)                 // want `is stored in name`
		names = strings.Split(req.Name, ",")            // want `is stored in names`
		names = strings.Fields(req.Name)                // want `is stored in names`
		name = strings.Fields(req.Name)[0]              // want `is stored in name`
		name = strings.Trim(strings.Fields(name)[0], x) // of another string
		data = bytes.TrimRight(req.Data, "x")           // want `is stored in data`
		lists = bytes.Split(req.Data, nil)              // want `is stored in lists`
		names = slices.Clip(req.Names)                  // want `is stored in names`
		names = slices.Grow(req.Names, 9)               // want `is stored in names`
		numbers = slices.Clip(req.Numbers)              // want `is stored in numbers`
		names = slices.Clone(req.Names)                 // want `slices.Clone\(req.Names\) is stored in names`
		names = slices.Insert(names, 0, req.Name)       // want `is stored in names`
		names = slices.Insert(names, 0, "x", req.Name)  // want `is stored in names`
		names = slices.Insert(names, 0, req.Names...)   // want `is stored in names`
		names = slices.Sorted(maps.Keys(req.Tags))      // want `is stored in names`
		name = slices.Max(req.Names)                    // want `is stored in name`
		tags = maps.Clone(req.Tags)                     // want `is stored in tags`
		name = max(name, req.Name)                      // want `is stored in name`
		name = cmp.Or(name, req.Name)                   // want `is stored in name`
		name = path.Base(req.Name)                      // want `is stored in name`
		name = word.FindString(req.Name)                // want `is stored in name`
		name = unsafe.String(&req.Data[0], 1)           // want `is stored in name`
		reader = strings.NewReader(req.Name)            // want `is stored in reader`
		buffer = bytes.NewBuffer(req.Data)              // want `is stored in buffer`
		failure = errors.New(req.Name)                  // want `is stored in failure`
		text = new(req.Name)                            // want `is stored in text`
		for part := range strings.SplitSeq(req.Name, "/") {
			name = part // want `part is stored in name`
		}
		for i, part := range strings.Split(req.Name, "/") {
			number = i
			name = part // want `part is stored in name`
		}
		ctx = context.WithValue(ctx, number, req.Name)
		go wait(ctx) // want `ctx is given to a goroutine`
		return errors.New(req.Name)
	})
	_ = weft.HandleReuse(r, "A.Several", func(ctx context.Context, req, res *message) (err error) {
		before, after, found := strings.Cut(req.Name, "=")
		name = before // want `before is stored in name`
		name = after  // want `after is stored in name`
		any_ = found
		name, _, found = strings.Cut(req.Name, "=") // want `strings.Cut\(req.Name, "="\) is stored in name`
		if v, ok := req.Tags["x"]; ok {
			name = v // want `v is stored in name`
		}
		if v, ok := req.Any.(string); ok {
			name = v // want `v is stored in name`
		}
		switch v := req.Any.(type) {
		case string:
			name = v // want `v is stored in name`
		case int:
			number = v
		}
		var host, port, _ = net.SplitHostPort(req.Name)
		name = host // want `host is stored in name`
		number, err = strconv.Atoi(port)
		n, ok := req.Counts[1]
		number, any_ = n, ok
		err = errors.New(req.Name)
		return err
	})
	_ = weft.HandleReuse(r, "A.Copies", func(ctx context.Context, req, res *message) error {
		name = strings.Clone(strings.TrimSpace(req.Name))
		name = fmt.Sprint(req.Name)
		name = strings.Repeat(req.Name, 2)
		name = strconv.Quote(req.Name)
		name = strings.Join([]string{"x", req.Name}, ":")
		data = bytes.Clone(bytes.TrimSpace(req.Data))
		data = slices.Clone(req.Data)
		data = bytes.ToLower(req.Data)
		data = append([]byte(nil), req.Name...)
		numbers = slices.Clone(req.Numbers)
		numbers = slices.Concat(numbers, req.Numbers)
		numbers = slices.Insert(numbers, 0, req.Numbers...)
		numbers = slices.Collect(slices.Values(req.Numbers))
		number = slices.Max(req.Numbers)
		number = strings.Index(req.Name, "x")
		counts = maps.Clone(req.Counts)
		failure = fmt.Errorf("no %s", req.Name)
		names = slices.DeleteFunc(names, func(s string) bool { return s == req.Name })
		res.Name = strings.TrimSpace(req.Name)
		req.Name = strings.TrimSpace(req.Name)
		return nil
	})
	_ = weft.HandleReuse(r, "A.Pointers", func(ctx context.Context, req, res *message) error {
		whole := *req
		place := req.Place
		pointer = &req.Number    // want `&req.Number is stored in pointer`
		pointer = &req.Place.X   // want `&req.Place.X is stored in pointer`
		pointer = &req.Places[1] // want `&req.Places\[1\] is stored in pointer`
		pointer = &place.X
		pointer = &whole.Number
		numbers = req.Places[:] // want `req.Places\[:\] is stored in numbers`
		numbers = whole.Places[:]
		number = *&req.Number
		return nil
	})
	_ = weft.HandleReuse(r, "A.Variables", func(ctx context.Context, req, res *message) error {
		key := strings.TrimSpace(req.Name)
		res.Name = key
		key = strings.Clone(key)
		name = key
		if key == "" {
			name = key
		}
		for _, s := range req.Names {
			s = strings.Clone(s)
			names = append(names, s)
		}
		v, ok := tags[req.Name], true
		other := req.Name
		if ok {
			other = strings.Clone(v)
			name = other
		}
		name = other // want `other is stored in name`
		again := req.Name
		for range 3 {
			name = again // want `again is stored in name`
			again = "x"
			name = again // want `again is stored in name`
			again = req.Name
		}
		late := req.Name
		defer func() { name = late }() // want `late is stored in name`
		late = "x"
		defer func() { name = late }()
		var last string
		switch {
		case ok:
			last = req.Name
			name = last // want `last is stored in name`
		default:
			last = req.Name
			last = strings.Clone(last)
			name = last
		}
		return nil
	})
}

const x = "x"

func lower(r rune) rune { return r }

func wait(context.Context) {}

// generated has the methods of a message of protoc-gen-go.
type generated struct{ name string }

func (*generated) ProtoMessage()       {}
func (m *generated) GetName() string   { return m.name }
func (m *generated) GetLength() int    { return len(m.name) }
func (m *generated) Get(string) string { return "" }

func (m *message) GetName() string { return strings.Clone(m.Name) }

func getters(r weft.Registrar) {
	_ = weft.HandleReuse(r, "G.Get", func(ctx context.Context, req *generated, res *message) error {
		name = req.GetName() // want `req.GetName\(\) is stored in name`
		name = strings.Clone(req.GetName())
		name = req.Get("x")
		number = req.GetLength()
		return nil
	})
	_ = weft.HandleReuse(r, "G.Other", func(ctx context.Context, req, res *message) error {
		name = req.GetName()
		return nil
	})
}

// stamped has values that refer to memory, but not to that of the message.
type stamped struct {
	At       time.Time
	For      time.Duration
	Stamp    stamp
	Addr     netip.Addr
	AddrPort netip.AddrPort
	Prefix   netip.Prefix
	Times    []time.Time
	Logged   []struct{ At time.Time }
}

type stamp time.Time

var (
	at     time.Time
	mark   stamp
	length time.Duration
	pat    *time.Time
	times  []time.Time
	addr   netip.Addr
	port   netip.AddrPort
	prefix netip.Prefix
	seen   = map[netip.Addr]time.Time{}
)

func stamps(r weft.Registrar) {
	_ = weft.HandleReuse(r, "S.Stamps", func(ctx context.Context, req, res *stamped) error {
		at = req.At
		at = req.At.UTC()
		mark = req.Stamp
		length = req.For
		addr, port, prefix = req.Addr, req.AddrPort, req.Prefix
		seen[req.Addr] = req.At
		times = append(times, req.At)
		times = append(times, req.Times...)
		times = slices.Clone(req.Times)
		go wait(context.WithValue(ctx, at, req.At))
		i := 1
		req.Logged = append(req.Logged[:i], req.Logged[i+1:]...) // the next message is decoded over copies of times
		pat = &req.At                                            // want `&req.At is stored in pat`
		times = req.Times                                        // want `req.Times is stored in times`
		return nil
	})
	var replies weft.Reuse[stamped]
	for range 3 {
		reply, err := replies.Invoke(context.Background(), nil, "S.Stamps", nil)
		if err == nil {
			seen[reply.Addr] = reply.At
			times = append(times, reply.At)
		}
	}
}
