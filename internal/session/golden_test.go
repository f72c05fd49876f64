package session

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/internal/wire"
	"github.com/weftrpc/weft/transport/mem"
)

// golden is a conversation of exchanges.json. Two real sessions have it here, so
// only what comes out for the calls is taken from it, not the bytes.
type golden struct {
	Name     string        `json:"name"`
	Checksum bool          `json:"checksum"`
	Calls    []*goldenCall `json:"calls"`
}

type goldenPair struct{ Key, Value hexBytes }

type goldenMessage struct {
	Meta []goldenPair `json:"meta"`
	Body hexBytes     `json:"body"`
}

type goldenCall struct {
	Opener   string         `json:"opener"`
	Codec    string         `json:"codec"`
	Method   string         `json:"method"`
	Oneway   bool           `json:"oneway"`
	Stream   bool           `json:"stream"`
	Request  goldenMessage  `json:"request"`
	Sent     []hexBytes     `json:"sent"`
	Received []hexBytes     `json:"received"`
	Cancel   uint16         `json:"cancel"`
	End      string         `json:"end"`
	Code     uint16         `json:"code"`
	Refused  bool           `json:"refused"`
	Meta     []goldenPair   `json:"meta"`
	Reply    *goldenMessage `json:"reply"`
	Status   *struct {
		Message string `json:"message"`
		Reason  string `json:"reason"`
	} `json:"status"`
}

func loadGolden(t *testing.T) []*golden {
	var list []*golden
	loadVectors(t, "exchanges", &list)
	if len(list) < 20 {
		t.Fatalf("only %d exchanges", len(list))
	}
	return list
}

func metaOf(pairs []goldenPair) string {
	var b []byte
	for _, p := range pairs {
		b = wire.AppendPair(b, string(p.Key), string(p.Value))
	}
	return string(b)
}

// play is one run of a conversation.
type play struct {
	t    *testing.T
	x    *golden
	sum  bool // both sides ask for checksums
	open bool // the client's calls leave with its hello
	harm bool // bytes may be changed: what is not known is no fault of the sessions

	mu   sync.Mutex
	seen map[*goldenCall]int // how often the handler of a call ran
	odd  int                 // handlers that ran for nothing in the conversation
	ends []end
	took time.Duration

	clientBytes, serverBytes int64 // sent by the client and the server
	helloUp, helloDown       int64 // of these, up to the end of the hellos
}

// end is what became of a call, as its opener sees it.
type end struct {
	g        *goldenCall
	st       *wire.Status
	meta     string
	body     []byte
	received [][]byte
}

// refused reports whether the server does not let the client in.
func (p *play) refused() bool { return strings.HasPrefix(p.x.Name, "refused-") }

// run has the conversation in fake time; before puts faults on the connection.
func (p *play) run(before func(client, server *mem.Conn)) {
	p.seen = make(map[*goldenCall]int)
	synctest.Test(p.t, func(t *testing.T) {
		from := time.Now()
		defer func() { p.took = time.Since(from) }()
		cc, sc := mem.Pipe(&mem.PipeConfig{Buffer: 8 << 10})
		if before != nil {
			before(cc, sc)
		}
		ccfg, scfg := p.config("server"), p.config("client")
		if p.refused() {
			scfg.Accept = func(*Session, string) *wire.Status { return &wire.Status{Code: wire.Unauthenticated, Message: "no"} }
		}
		defer ccfg.Exec.Close()
		defer scfg.Exec.Close()
		if p.open {
			p.runOpen(cc, sc, ccfg, scfg)
			return
		}
		client, server, st1, st2 := connect(cc, sc, ccfg, scfg)
		if st1 != nil && st1.Outcome != wire.NotSent {
			t.Errorf("the dial ended with %+v, want NotSent", st1)
		}
		p.helloUp, p.helloDown = cc.Out().Written(), sc.Out().Written()
		if st1 == nil && st2 == nil {
			var wg sync.WaitGroup
			for opener, s := range map[string]*Session{"client": client, "server": server} {
				wg.Go(func() { p.make(opener, s) })
			}
			wg.Wait()
			p.drain(server)
		}
		p.clientBytes, p.serverBytes = cc.Out().Written(), sc.Out().Written()
		for _, s := range []*Session{client, server} {
			if s != nil {
				s.Close(closedHere())
			}
		}
	})
}

// runOpen has the conversation with a client whose calls leave with its hello.
func (p *play) runOpen(cc, sc *mem.Conn, ccfg, scfg *Config) {
	if !slices.ContainsFunc(p.x.Calls, func(g *goldenCall) bool { return g.Opener == "server" }) {
		ccfg.Resolve = nil // calls read their replies themselves
	}
	accepted := make(chan *Session, 1)
	go func() {
		server, _ := Accept(context.Background(), sc, scfg, nil)
		if server != nil {
			go server.Run(nil, nil)
		}
		accepted <- server
	}()
	ended := make(chan struct{})
	client := Open(cc, ccfg, "")
	client.Attend(nil, func() { close(ended) })
	var wg sync.WaitGroup
	wg.Go(func() { p.make("client", client) })
	server := <-accepted
	if server != nil {
		p.make("server", server)
	}
	wg.Wait()
	if server != nil {
		p.drain(server)
		server.Close(closedHere())
	}
	p.clientBytes, p.serverBytes = cc.Out().Written(), sc.Out().Written()
	client.Close(closedHere())
	<-ended
}

// drain ends the connection in peace, if it still is.
func (p *play) drain(server *Session) {
	stop := make(chan struct{})
	timer := time.AfterFunc(20*time.Second, func() { close(stop) })
	defer timer.Stop()
	server.Drain(stop, "done")
	server.Leave(time.Second)
}

// config makes the configuration of a side, which answers the calls of opener.
func (p *play) config(opener string) *Config {
	cfg := newConfig(NewExecutor(), nil)
	cfg.Checksum = p.sum
	cfg.Codecs = []string{"json", "raw"}
	cfg.Compressors = []compress.Compressor{gzip.New()}
	cfg.Limits.CompressAbove = 1
	if p.x.Name == "stream-down" || p.x.Name == "stream-up" {
		cfg.Limits.StreamWindow = 64
	}
	cfg.Resolve = func(codecName, name string) (*Binding, *wire.Status) {
		i := slices.IndexFunc(p.x.Calls, func(g *goldenCall) bool { return g.Opener == opener && g.Method == name && g.Codec == codecName })
		if i < 0 || p.x.Calls[i].Refused {
			return nil, &wire.Status{Code: wire.Unimplemented, Message: "no such method"}
		}
		m := &Method{Name: name, Streaming: p.x.Calls[i].Stream, Serve: func(r *Request) { p.serve(opener, r) }}
		if len(name)%2 == 0 {
			fast(m)
		}
		return &Binding{Method: m, Codec: namedCodec{raw.New(), codecName}}, nil
	}
	return cfg
}

// serve is every handler: it finds its call in the conversation.
func (p *play) serve(opener string, r *Request) {
	if st := r.Open(); st != nil {
		r.Fail(st)
		return
	}
	g := p.find(opener, r)
	if g == nil {
		r.Fail(&wire.Status{Code: wire.Internal, Outcome: wire.Executed, Message: "not in this conversation"})
		return
	}
	if g.Stream {
		for i := range max(len(g.Sent), len(g.Received)) {
			if i < len(g.Sent) {
				b, st := recv(r.Ctx.Stream())
				if st != nil {
					r.Fail(st)
					return
				}
				if b == nil || !bytes.Equal(b, g.Sent[i]) && !p.harm {
					r.Fail(&wire.Status{Code: wire.Internal, Outcome: wire.Executed, Message: fmt.Sprintf("message %d did not come: %+v", i, st)})
					return
				}
			}
			if i < len(g.Received) {
				if st := r.Ctx.Stream().Send([]byte(g.Received[i])); st != nil {
					r.Fail(st)
					return
				}
			}
		}
	}
	if g.Cancel != 0 {
		<-r.Ctx.Done()
	}
	if g.Reply != nil {
		r.Ctx.SetReplyMeta(metaOf(g.Reply.Meta))
	}
	switch {
	case g.End == "ERROR":
		r.Ctx.SetReplyMeta(metaOf(g.Meta))
		r.Fail(&wire.Status{Code: wire.Code(g.Code), Outcome: wire.Executed, Message: g.Status.Message, Reason: g.Status.Reason})
	case g.Reply != nil:
		if p.x.Name == "compressed" {
			r.Compress = gzip.New()
		}
		r.ReplyBytes(g.Reply.Body)
	default:
		r.ReplyBytes(nil)
	}
}

func (p *play) find(opener string, r *Request) *goldenCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found *goldenCall
	for _, g := range p.x.Calls {
		if g.Opener == opener && g.Method == r.Ctx.Method.Name && bytes.Equal(g.Request.Body, r.Body) &&
			(metaOf(g.Request.Meta) == r.Ctx.Meta() || p.harm) {
			if found == nil || p.seen[g] < p.seen[found] {
				found = g
			}
		}
	}
	if found == nil {
		p.odd++
		return nil
	}
	p.seen[found]++
	return found
}

// make makes the calls of one side, one after the other.
func (p *play) make(opener string, s *Session) {
	for _, g := range p.x.Calls {
		if g.Opener != opener {
			continue
		}
		var reply []byte
		c := newCall(g.Method, g.Request.Body, &reply)
		c.Codec = namedCodec{raw.New(), g.Codec}
		c.Meta, c.KeepMeta, c.Oneway, c.Timeout = metaOf(g.Request.Meta), true, g.Oneway, int64(time.Second)
		ctx := context.Background()
		if g.Cancel != 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, 10*time.Millisecond)
			defer cancel()
		}
		e := end{g: g}
		if g.Stream {
			e.st, e.meta, e.received = p.talk(ctx, s, c)
		} else {
			e.st = do(ctx, s, c)
			e.meta, e.body = c.ReplyMeta, reply
		}
		p.mu.Lock()
		p.ends = append(p.ends, e)
		p.mu.Unlock()
	}
}

// talk has a streaming call.
func (p *play) talk(ctx context.Context, s *Session, c *Call) (*wire.Status, string, [][]byte) {
	i := slices.IndexFunc(p.x.Calls, func(g *goldenCall) bool { return g.Method == c.Method })
	g := p.x.Calls[i]
	st, status := s.OpenStream(ctx, c)
	if status != nil {
		return status, "", nil
	}
	stop := context.AfterFunc(ctx, st.ContextEnded)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, b := range g.Sent {
			if st.Send([]byte(b)) != nil {
				return
			}
		}
		st.CloseSend()
	})
	defer wg.Wait()
	var received [][]byte
	for {
		b, status := recv(st)
		if b == nil {
			return status, st.Meta(), received
		}
		received = append(received, b)
	}
}

// check holds what the openers were told against what the handlers did.
func (p *play) check(where string) {
	p.t.Helper()
	for _, e := range p.ends {
		p.mu.Lock()
		ran := p.seen[e.g]
		p.mu.Unlock()
		if same := p.twins(e.g); same > 1 {
			continue // calls that are alike cannot be told apart
		}
		what := fmt.Sprintf("%s, %s: %s", p.x.Name, where, e.g.Method)
		switch {
		case ran > 1:
			p.t.Errorf("%s ran %d times", what, ran)
		case e.st == nil:
			p.checkReply(what, &e, ran)
		case e.st.Outcome == wire.NotSent || e.st.Outcome == wire.Refused:
			if ran != 0 {
				p.t.Errorf("%s ran, and its caller was told %+v", what, e.st)
			}
		case e.st.Outcome == wire.Executed:
			if ran != 1 {
				p.t.Errorf("%s did not run, and its caller was told %+v", what, e.st)
			}
			// A message that never comes, because its length was changed, ends in a deadline.
			late := e.st.Code == wire.DeadlineExceeded || e.st.Code == wire.Canceled
			if g := e.g; !late && (g.End != "ERROR" || wire.Code(g.Code) != e.st.Code || g.Status.Message != e.st.Message || g.Status.Reason != e.st.Reason) {
				p.t.Errorf("%s ended with %+v, want %s %d %+v", what, e.st, g.End, g.Code, g.Status)
			}
		}
	}
	if p.odd > 0 {
		p.t.Errorf("%s, %s: %d handlers ran with arguments that were never sent", p.x.Name, where, p.odd)
	}
}

func (p *play) twins(g *goldenCall) (n int) {
	for _, other := range p.x.Calls {
		if other.Opener == g.Opener && other.Method == g.Method && bytes.Equal(other.Request.Body, g.Request.Body) {
			n++
		}
	}
	return n
}

func (p *play) checkReply(what string, e *end, ran int) {
	p.t.Helper()
	g := e.g
	if ran != 1 {
		p.t.Errorf("%s did not run, and its caller got a reply", what)
	}
	if g.End == "ERROR" || g.Reply == nil {
		if g.End != "" {
			p.t.Errorf("%s ended well, want %s", what, g.End)
		}
		return
	}
	if !g.Oneway && !g.Stream && !bytes.Equal(e.body, g.Reply.Body) || e.meta != metaOf(g.Reply.Meta) {
		p.t.Errorf("%s gave %.40x and metadata %x, want %.40x and %x", what, e.body, e.meta, []byte(g.Reply.Body), metaOf(g.Reply.Meta))
	}
	if !slices.EqualFunc(e.received, g.Received, func(a []byte, b hexBytes) bool { return bytes.Equal(a, b) }) {
		p.t.Errorf("%s received %.40x, want %.40x", what, e.received, g.Received)
	}
}
