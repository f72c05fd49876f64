package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/weftrpc/weft/internal/wire"
)

// exchange is a whole conversation: its steps in the order in which they happen,
// and what they mean for each call.
type exchange struct {
	Name         string         `json:"name"`
	Doc          string         `json:"doc"`
	Checksum     bool           `json:"checksum,omitempty"`      // in force after the hellos
	ServerCloses bool           `json:"server_closes,omitempty"` // behind the last step
	Steps        []step         `json:"steps"`
	Calls        []exchangeCall `json:"calls"`
}

type step struct {
	From    string       `json:"from"`
	Says    string       `json:"says"`
	Hex     hexBytes     `json:"hex"`
	Preface bool         `json:"preface,omitempty"`
	Frame   *vectorFrame `json:"frame,omitempty"`
}

type exchangeMessage struct {
	Meta []vectorPair `json:"meta,omitempty"`
	Body hexBytes     `json:"body"`
}

type exchangeCall struct {
	Opener     string           `json:"opener"`
	Slot       uint16           `json:"slot,omitempty"`
	Generation uint16           `json:"generation,omitempty"`
	Codec      string           `json:"codec"`
	Method     string           `json:"method"`
	TimeoutUS  uint64           `json:"timeout_us,omitempty"`
	Oneway     bool             `json:"oneway,omitempty"`
	Stream     bool             `json:"stream,omitempty"`
	HalfClosed bool             `json:"half_closed,omitempty"` // END came with the request
	Request    exchangeMessage  `json:"request"`
	Sent       []hexBytes       `json:"sent,omitempty"`     // messages of the opener
	Received   []hexBytes       `json:"received,omitempty"` // messages of the answerer
	Cancel     uint16           `json:"cancel,omitempty"`
	End        string           `json:"end,omitempty"` // REPLY, ERROR, or none
	Code       uint16           `json:"code,omitempty"`
	Refused    bool             `json:"refused,omitempty"`
	Meta       []vectorPair     `json:"meta,omitempty"` // of an ERROR
	Reply      *exchangeMessage `json:"reply,omitempty"`
	Status     *vectorStatus    `json:"status,omitempty"`
}

func TestVectorExchanges(t *testing.T) {
	var vectors []exchange
	load(t, "exchanges", &vectors)
	for i := range vectors {
		t.Run(vectors[i].Name, func(t *testing.T) { playExchange(t, &vectors[i]) })
	}
}

// playExchange checks the bytes of each step against their meaning, and what
// comes out for the calls when the bytes alone are read.
func playExchange(t *testing.T, x *exchange) {
	r := newReplay()
	greeted := map[string]bool{}
	for i := range x.Steps {
		s := &x.Steps[i]
		if s.Preface {
			same(t, &s.Hex, []byte(wire.Preface))
			continue
		}
		sum := x.Checksum && greeted["client"] && greeted["server"]
		made := s.Frame.bytes(t)
		if sum {
			made = wire.AppendChecksum(made, 0)
		}
		same(t, &s.Hex, made)
		h, payload, rest := cutFrame(t, s.Hex, sum)
		if len(rest) > 0 {
			t.Errorf("step %d (%s) has %d bytes too many", i, s.Says, len(rest))
		}
		s.Frame.check(t, h, payload)
		greeted[s.From] = greeted[s.From] || h.Type == wire.TypeHello
		if err := r.frame(s.From, h, bytes.Clone(payload)); err != nil {
			t.Fatalf("step %d (%s): %v", i, s.Says, err)
		}
	}
	if greeted["server"] && r.checksum() != x.Checksum {
		t.Errorf("the hellos make checksum %v, the vector says %v", r.checksum(), x.Checksum)
	}
	got, want := toJSON(t, r.calls), toJSON(t, x.Calls)
	if got != want {
		t.Errorf("the bytes mean\n%s\nthe vector says\n%s", got, want)
	}
}

func toJSON[T any](t *testing.T, list []T) string {
	t.Helper()
	if list == nil {
		list = []T{}
	}
	b, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// replay is the protocol as an onlooker sees it: it reads the frames of both
// sides, and knows every rule that can be seen from outside.
type replay struct {
	hellos   map[string]*wire.Hello
	bindings map[string][]vectorBind
	calls    []*exchangeCall
	open     map[string]*exchangeCall // by opener and id
	pieces   map[string]*piece        // by sender, opener and id
	credit   map[string]int           // of a sender on a stream: by sender, opener and id
}

// piece is a message that is under way.
type piece struct {
	head  wire.Header
	bytes []byte
}

func newReplay() *replay {
	return &replay{
		hellos: map[string]*wire.Hello{}, bindings: map[string][]vectorBind{}, open: map[string]*exchangeCall{},
		pieces: map[string]*piece{}, credit: map[string]int{},
	}
}

// limits are the limits of a side, or what any server takes while its hello has not come.
func (r *replay) limits(side string) *wire.Hello {
	if h := r.hellos[side]; h != nil {
		return h
	}
	return &wire.Hello{MaxMetadata: wire.InitialMessage, MaxCalls: wire.InitialCalls, MaxBindings: wire.InitialBindings}
}

func (r *replay) checksum() bool {
	a, b := r.hellos["client"], r.hellos["server"]
	return a != nil && b != nil && a.Features&b.Features&wire.FeatureChecksum != 0
}

func other(side string) string {
	if side == "client" {
		return "server"
	}
	return "client"
}

func (r *replay) frame(from string, h wire.Header, payload []byte) (err error) {
	opener := from
	if h.Flags&wire.FlagAnswer != 0 {
		opener = other(from)
	}
	call := fmt.Sprint(opener, " ", h.ID)
	switch h.Type {
	case wire.TypeHello:
		r.hellos[from], err = wire.ParseHello(payload)
	case wire.TypeBind:
		err = r.bind(from, h, payload)
	case wire.TypeRequest:
		if err := r.request(from, call, h); err != nil {
			return err
		}
		err = r.message(from, call, h, payload)
	case wire.TypeReply, wire.TypeError, wire.TypeData, wire.TypeChunk:
		err = r.message(from, call, h, payload)
	case wire.TypeCredit:
		r.credit[other(from)+" "+call] += int(h.Arg)
	case wire.TypeCancel:
		if c := r.open[call]; c != nil {
			c.Cancel = h.Code
		}
	case wire.TypePing:
		if len(payload) != 8 {
			err = fmt.Errorf("ping of %d bytes", len(payload))
		}
	}
	return err
}

func (r *replay) bind(from string, h wire.Header, payload []byte) error {
	codec, method, err := wire.ParseBind(payload)
	if err != nil {
		return err
	}
	list := r.bindings[from]
	if int(h.Code) > len(list) || uint32(h.Code) >= r.limits(other(from)).MaxBindings {
		return fmt.Errorf("binding %d after %d", h.Code, len(list))
	}
	if int(h.Code) == len(list) {
		list = append(list, vectorBind{})
	}
	list[h.Code] = vectorBind{string(codec), string(method)}
	r.bindings[from] = list
	return nil
}

func (r *replay) request(from, call string, h wire.Header) error {
	if int(h.Code) >= len(r.bindings[from]) {
		return fmt.Errorf("request on binding %d of %d", h.Code, len(r.bindings[from]))
	}
	if slots := r.limits(other(from)).MaxCalls; wire.Slot(h.ID) >= slots {
		return fmt.Errorf("slot %d of %d", wire.Slot(h.ID), slots)
	}
	for _, c := range r.open {
		if c.Opener == from && uint32(c.Slot) == wire.Slot(h.ID) {
			return fmt.Errorf("slot %d is in use", c.Slot)
		}
	}
	b := r.bindings[from][h.Code]
	c := &exchangeCall{
		Opener: from, Slot: uint16(wire.Slot(h.ID)), Generation: uint16(h.ID >> 16), Codec: b.Codec, Method: b.Method,
		TimeoutUS: uint64(h.Arg), Oneway: h.Flags&wire.FlagOneway != 0, Stream: h.Flags&wire.FlagStream != 0,
		HalfClosed: h.Flags&wire.FlagEnd != 0,
	}
	if h.Flags&wire.FlagMillis != 0 {
		c.TimeoutUS *= 1000
	}
	if c.Stream {
		r.credit[from+" "+call] = int(r.limits(other(from)).StreamWindow)
		r.credit[other(from)+" "+call] = int(r.limits(from).StreamWindow)
	}
	r.calls = append(r.calls, c)
	r.open[call] = c
	return nil
}

// message takes a frame that carries a message or a piece of one.
func (r *replay) message(from, call string, h wire.Header, payload []byte) error {
	c := r.open[call]
	switch {
	case c == nil && (h.Type == wire.TypeReply || h.Type == wire.TypeError):
		return fmt.Errorf("an answer to a call that is not open")
	case c == nil, h.Type == wire.TypeData && !c.Stream:
		return nil
	}
	key := from + " " + call
	p := r.pieces[key]
	switch {
	case h.Type == wire.TypeChunk && p == nil:
		return nil
	case h.Type == wire.TypeChunk:
		p.bytes = append(p.bytes, payload...)
	case p != nil && h.Type != wire.TypeError:
		return fmt.Errorf("a message begins before the last one has ended")
	default:
		p = &piece{head: h, bytes: payload}
		r.pieces[key] = p
	}
	if h.Flags&wire.FlagMore != 0 {
		if len(payload) == 0 {
			return fmt.Errorf("an empty piece that is not the last")
		}
		return nil
	}
	delete(r.pieces, key)
	return r.complete(from, call, c, p)
}

func (r *replay) complete(from, call string, c *exchangeCall, p *piece) error {
	m, err := r.split(other(from), p)
	if err != nil {
		return err
	}
	switch p.head.Type {
	case wire.TypeRequest:
		c.Request = m
	case wire.TypeData:
		return r.data(from, call, c, p, m)
	case wire.TypeReply:
		c.End, c.Reply = "REPLY", &m
		delete(r.open, call)
	case wire.TypeError:
		c.End, c.Code, c.Refused, c.Meta = "ERROR", p.head.Code, p.head.Flags&wire.FlagRefused != 0, m.Meta
		delete(r.open, call)
		var st wire.Status
		if err := wire.ParseStatus(m.Body, &st); err != nil {
			return err
		}
		c.Status = &vectorStatus{Message: st.Message, Reason: st.Reason}
		for _, d := range st.Details {
			c.Status.Details = append(c.Status.Details, vectorDetail{d.Type, d.Value})
		}
	}
	return nil
}

func (r *replay) data(from, call string, c *exchangeCall, p *piece, m exchangeMessage) error {
	if p.head.Flags&wire.FlagEnd != 0 {
		if len(p.bytes) > 0 || c.HalfClosed || from != c.Opener {
			return fmt.Errorf("end with a payload, after an end, or of the answerer")
		}
		return nil
	}
	key := from + " " + call
	if r.credit[key] <= 0 {
		return fmt.Errorf("message with a credit of %d", r.credit[key])
	}
	r.credit[key] -= wire.HeaderSize + len(p.bytes)
	if from == c.Opener {
		c.Sent = append(c.Sent, m.Body)
	} else {
		c.Received = append(c.Received, m.Body)
	}
	return nil
}

// split takes a message apart as its receiver does.
func (r *replay) split(receiver string, p *piece) (m exchangeMessage, err error) {
	m.Body = p.bytes
	if p.head.Flags&wire.FlagMeta != 0 && p.head.Type != wire.TypeData {
		pairs, rest, err := wire.SplitMeta(m.Body, int(r.limits(receiver).MaxMetadata))
		if err != nil {
			return m, err
		}
		m.Meta, m.Body = pairsOf(pairs), rest
	}
	if p.head.Flags&wire.FlagCompressed != 0 && p.head.Type != wire.TypeError {
		m.Body, err = restore(m.Body, r.limits(receiver).Compressors)
	}
	return m, err
}
