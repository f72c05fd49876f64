package dns

import (
	"bytes"
	"encoding/binary"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// What a server must not say, and what comes of it.
type attack struct {
	name string
	// send makes messages upon a query, of which none may do harm.
	send reply
	// fatal says that the messages answer the question, so that the server counts as
	// failing; otherwise the answer is still waited for.
	fatal bool
}

func attacks() []attack {
	// change is a sound answer with some bytes spoiled.
	change := func(spoil func(message []byte) []byte) reply {
		return func(query dnsmessage.Message, network string) [][]byte {
			var messages [][]byte
			for _, m := range one()(query, network) {
				messages = append(messages, spoil(m))
			}
			return messages
		}
	}
	question := func(q dnsmessage.Question) reply {
		return func(query dnsmessage.Message, _ string) [][]byte {
			return [][]byte{respond(query, func(m *dnsmessage.Message) {
				m.Questions = []dnsmessage.Question{q}
				m.Answers = []dnsmessage.Resource{srv(arith, 60, 1, 1, 66, "evil.example.")}
			})}
		}
	}
	count := func(at int, n uint16) reply {
		return change(func(m []byte) []byte { binary.BigEndian.PutUint16(m[at:], n); return m })
	}
	name := dnsmessage.MustNewName(arith)
	return []attack{
		{"empty", change(func([]byte) []byte { return nil }), false},
		{"a few bytes", change(func(m []byte) []byte { return m[:5] }), false},
		{"the header alone", change(func(m []byte) []byte { return m[:12] }), false},
		{"wrong id", change(func(m []byte) []byte { m[0] ^= 1; return m }), false},
		{"the query itself", change(func(m []byte) []byte { m[2] &^= 0x80; return m }), false},
		{"another name", question(dnsmessage.Question{Name: dnsmessage.MustNewName("evil.example."), Type: dnsmessage.TypeSRV, Class: dnsmessage.ClassINET}), false},
		{"another type", question(dnsmessage.Question{Name: name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}), false},
		{"another class", question(dnsmessage.Question{Name: name, Type: dnsmessage.TypeSRV, Class: dnsmessage.ClassCHAOS}), false},
		{"no question", count(4, 0), false},
		{"two questions", func(query dnsmessage.Message, _ string) [][]byte {
			return [][]byte{respond(query, func(m *dnsmessage.Message) { m.Questions = append(m.Questions, m.Questions[0]) })}
		}, false},
		{"65535 answers promised", count(6, 65535), true},
		{"65535 authorities promised", count(8, 65535), true},
		{"65535 additionals promised", count(10, 65535), true},
		{"cut off", change(func(m []byte) []byte { return m[:len(m)-3] }), true},
		{"a name that leads to itself", change(func(m []byte) []byte { return pointer(m, 0) }), true},
		{"a name that leads out of the message", change(func(m []byte) []byte { return pointer(m, 5000) }), true},
	}
}

// pointer puts, in the place of the first answer's name, a pointer to a place so many
// bytes behind that name. The name of an answer is a pointer to the question's.
func pointer(m []byte, by int) []byte {
	at := 12 + bytes.Index(m[12:], []byte{0xc0, 12})
	binary.BigEndian.PutUint16(m[at:], 0xc000|uint16(at+by)&0x3fff)
	return m
}

func TestHostileAnswers(t *testing.T) {
	for _, a := range attacks() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			// The truth follows: what does not answer the question must not keep it away.
			both := serve(t, func(query dnsmessage.Message, network string) [][]byte {
				return append(a.send(query, network), one()(query, network)...)
			})
			alone := newTestDriver(t, Config{}, both)
			list, _, err := alone.look(t.Context(), "Arith")
			switch {
			case a.fatal && err == nil:
				t.Errorf("look returned %q, want an error", shown(list))
			case !a.fatal && (err != nil || len(list.Instances) != 1 || list.Instances[0].Address != "tcp://10.0.0.1:80"):
				t.Errorf("look returned %q, %v, want the true answer, which came second", shown(list), err)
			}
			// And there may be another server.
			next := newTestDriver(t, Config{}, serve(t, a.send), serve(t, one()))
			list, _, err = next.look(t.Context(), "Arith")
			if err != nil || len(list.Instances) != 1 || list.Instances[0].Address != "tcp://10.0.0.1:80" {
				t.Errorf("with a second server, look returned %q, %v, want its answer", shown(list), err)
			}
		})
	}
}

// Over TCP everything that does not answer the question fails the server.
func TestHostileStreams(t *testing.T) {
	for _, a := range attacks() {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			d := newTestDriver(t, Config{}, serve(t, func(query dnsmessage.Message, network string) [][]byte {
				if network == "udp" {
					return [][]byte{respond(query, func(m *dnsmessage.Message) { m.Truncated = true })}
				}
				return a.send(query, network)
			}))
			if list, _, err := d.look(t.Context(), "Arith"); err == nil {
				t.Errorf("look returned %q, want an error", shown(list))
			}
		})
	}
}

// Records that were not asked for change nothing.
func TestForeignRecords(t *testing.T) {
	d := newTestDriver(t, Config{}, serve(t, func(query dnsmessage.Message, _ string) [][]byte {
		return [][]byte{respond(query, func(m *dnsmessage.Message) {
			other := srv(arith, 60, 1, 1, 66, "evil.example.")
			other.Header.Class = dnsmessage.ClassCHAOS
			m.Answers = []dnsmessage.Resource{
				srv("_Other._tcp.example.", 60, 1, 1, 66, "evil.example."), other, addr(arith, 60, "10.6.6.6"),
				srv(arith, 60, 1, 1, 80, "a.example."), cname("_Other._tcp.example.", 60, arith),
			}
			m.Additionals = []dnsmessage.Resource{
				addr("evil.example.", 60, "10.6.6.6"), addr("a.example.", 60, "10.0.0.1"), srv(arith, 60, 1, 1, 66, "evil.example."),
			}
		})}
	}))
	list, _, err := d.look(t.Context(), "Arith")
	if err != nil || len(list.Instances) != 1 || list.Instances[0].Address != "tcp://10.0.0.1:80" {
		t.Errorf("look returned %q, %v, want the one instance", shown(list), err)
	}
}

// FuzzParse reads what could come from a server, and looks at whatever is taken for
// an answer.
func FuzzParse(f *testing.F) {
	const id = 0x1234
	q, err := ask(arith, dnsmessage.TypeSRV)
	if err != nil {
		f.Fatal(err)
	}
	packed, err := q.pack(id)
	if err != nil {
		f.Fatal(err)
	}
	var query dnsmessage.Message
	if err := query.Unpack(packed); err != nil {
		f.Fatal(err)
	}
	f.Add(packed)
	for _, a := range attacks() {
		for _, m := range a.send(query, "udp") {
			f.Add(m)
		}
	}
	for _, r := range []reply{
		one(), zone(), zone(many(arith, 5)...), zone(cname(arith, 1, "b.example."), srv("b.example.", 2, 3, 4, 5, ".")),
		zone(srv(arith, 30, 1, 1, 80, "a.example."), addr("a.example.", 9, "2001:db8::1")), code(dnsmessage.RCodeRefused),
	} {
		f.Add(r(query, "udp")[0])
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		a, err := parse(message, id, q)
		if err != nil || a.truncated {
			return
		}
		b := builder{service: "Arith", scheme: "tcp", at: make(map[string]int)}
		share := shares(a.records)
		for i, r := range a.records {
			if r.addr.IsValid() {
				t.Fatal("an address is taken for an SRV record")
			}
			for _, h := range a.hosts {
				for _, addr := range h.addrs {
					b.add(addr, r.srv.Port, share[i])
				}
			}
		}
		for _, i := range b.list.Instances {
			if err := i.Check(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
