package a

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/weftrpc/weft"
)

type part struct {
	Name string
	N    int
}

type page struct {
	Data  []byte
	Parts []part
}

type request struct {
	Name  string
	Data  []byte
	Parts []part
	Pages []page
	Next  *request
	N     int
	Tags  map[string]string
	Any   any
}

type reply struct {
	Name string
	N    int
}

var (
	kept    *request
	name    string
	names   []string
	numbers []int
	data    []byte
	byName  = map[string]int{}
	sent    = make(chan string, 1)
)

var after func()

func (r *request) log() {}

type server struct {
	after func()
	last  string
	total int
	cache map[string]*request
}

func register(s *server) {
	_ = weft.HandleReuse(nil, "A.One", func(ctx context.Context, req *request, res *reply) error {
		kept = req                           // want `req is stored in kept, but the request is valid until its handler returns only: copy what is kept`
		name = req.Name                      // want `req.Name is stored in name`
		names = append(names, req.Name)      // want `append\(names, req.Name\) is stored in names`
		numbers = append(numbers, req.N)     // a number is a copy
		data = append(data[:0], req.Data...) // and so are bytes
		data = req.Data[1:]                  // want `req.Data\[1:\] is stored in data`
		name = strings.Clone(req.Name)
		data = bytes.Clone(req.Data)
		name = string(req.Data)
		data = []byte(req.Name)
		name = req.Name + "!"
		byName[strings.Clone(req.Name)] = req.N
		byName[req.Name] = req.N             // want `req.Name is stored in byName`
		byName[req.Name]++                   // want `req.Name is stored in byName`
		s.cache[req.Name] = nil              // want `req.Name is stored in s.cache`
		s.total += byName[req.Name]          // it is only looked for
		byName = map[string]int{req.Name: 1} // want `is stored in byName`
		byName = map[string]int{strings.Clone(req.Name): req.N}
		s.cache["z"] = &request{Name: "z"}
		counts := map[string]int{}
		counts[req.Name]++
		res.Name = req.Name // the reply is encoded before
		res.N = req.N
		sent <- req.Name  // want `req.Name is sent on a channel`
		s.last = req.Name // want `req.Name is stored in s.last`
		s.total += req.N
		s.cache["x"] = req.Next // want `req.Next is stored in s.cache\["x"\]`
		local := req.Parts[0].Name
		var other = local
		s.last = other // want `other is stored in s.last`
		p := &part{Name: local}
		s.cache["y"] = &request{Parts: []part{*p}} // want `is stored in s.cache`
		for _, q := range req.Parts {
			s.last = q.Name // want `q.Name is stored in s.last`
			s.total += q.N
		}
		go func() {
			use(req.Name) // want `req is used by a goroutine`
		}()
		go use(req.Name) // want `req.Name is given to a goroutine`
		go use(strings.Clone(req.Name))
		later := func() { use(req.Name) }
		later()
		go later()                          // want `later is given to a goroutine`
		s.after = later                     // want `later is stored in s.after`
		after = func() { s.total += req.N } // want `is stored in after`
		go req.log()                        // want `req.log is given to a goroutine`
		use(req.Name)
		done := make(chan int)
		go func(n int) { done <- n }(req.N)
		<-done
		req.Parts = append(req.Parts[:1], req.Parts[2:]...)       // strings and numbers are decoded anew
		req.Pages = append(req.Pages[:1], req.Pages[2:]...)       // want `append leaves the last elements of req.Pages behind its end too, where the next message is decoded: use slices.Delete`
		req.Next.Pages = append(req.Pages[:0], req.Next.Pages...) // two lists
		req.Pages = slices.Delete(req.Pages, 1, 2)
		pages := req.Pages
		pages = append(pages[:0], pages[1:]...) // want `append leaves the last elements of pages behind its end`
		_ = pages
		mine := []page{{}, {}}
		mine = append(mine[:0], mine[1:]...)
		_ = mine
		return nil
	})
	_ = weft.HandleReuse(nil, "A.Two", s.two)
	_ = weft.HandleReuse(nil, "A.Three", three)
	_ = weft.HandleReuse(nil, "A.Four", func(context.Context, *request, *reply) error { return nil })
}

func (s *server) two(_ context.Context, req *request, res *reply) error {
	s.last = req.Name // want `req.Name is stored in s.last`
	return nil
}

func three(_ context.Context, req *request, _ *reply) error {
	kept = req // want `req is stored in kept`
	return nil
}

// four is no handler of HandleReuse.
func four(_ context.Context, req *request, res *reply) error {
	kept = req
	return nil
}

func use(string) {}

func call(ctx context.Context, s *server) (string, error) {
	var u weft.Reuse[reply]
	r, err := u.Invoke(ctx, nil, "A.One", &request{})
	if err != nil {
		return "", err
	}
	s.last = r.Name // want `r.Name is stored in s.last, but the reply is valid until the next call only`
	s.last = strings.Clone(r.Name)
	s.total = r.N
	return strings.Clone(r.Name), nil
}

// echo gives a method of an interface to HandleReuse, as generated code does.
type echo interface {
	Say(ctx context.Context, req *request, res *reply) error
	Other(ctx context.Context, req *request, res *reply) error
}

func registerEcho(r weft.Registrar, s echo) error { // want registerEcho:"Say"
	return weft.HandleReuse(r, "Echo.Say", s.Say)
}

type parrot struct{ said string }

func (p *parrot) Say(_ context.Context, req *request, _ *reply) error {
	p.said = req.Name // want `req.Name is stored in p.said`
	return nil
}

func (p *parrot) Other(_ context.Context, req *request, _ *reply) error {
	p.said = req.Name
	return nil
}

func echoes() {
	_ = registerEcho(nil, &parrot{})
	_ = registerEcho(nil, &parrot{}) // reported once
}
