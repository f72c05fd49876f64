package mdns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/net/ipv4"
)

// stranger is a machine of the network that sends what the test wants.
type stranger struct {
	socket *socket
	wg     sync.WaitGroup

	mu       sync.Mutex
	received []message
	at       []time.Time
}

func newStranger(t *testing.T) *stranger {
	t.Helper()
	socket, err := openSocket([]string{loopback(t)})
	if err != nil {
		t.Fatal(err)
	}
	s := &stranger{socket: socket}
	// It ends when the socket is closed.
	s.wg.Go(s.listen)
	t.Cleanup(func() {
		if err := socket.close(); err != nil {
			t.Error(err)
		}
		s.wg.Wait()
	})
	return s
}

func (s *stranger) listen() {
	buffer := make([]byte, 64<<10)
	for {
		p, err := s.socket.receive(buffer)
		if err != nil {
			return
		}
		if m, err := parse(p.message); err == nil {
			s.mu.Lock()
			s.received, s.at = append(s.received, m), append(s.at, time.Now())
			s.mu.Unlock()
		}
	}
}

func (s *stranger) say(t *testing.T, message []byte, err error) {
	t.Helper()
	if err == nil {
		err = s.socket.send(message)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// announce says that there is an instance, for some seconds.
func (s *stranger) announce(t *testing.T, i weft.Instance, ttl uint32) {
	t.Helper()
	r, err := newRecord(i)
	if err != nil {
		t.Fatal(err)
	}
	r.writer = "stranger"
	message, err := response([]record{r}, []uint32{ttl})
	s.say(t, message, err)
}

// announced returns when an instance was announced.
func (s *stranger) announced(label string) []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []time.Time
	for n, m := range s.received {
		for _, r := range m.records {
			if r.label == label {
				all = append(all, s.at[n])
			}
		}
	}
	return all
}

// service is a name that no other test uses at the same time.
func service(t *testing.T) string {
	return fmt.Sprintf("%s%d", strings.ReplaceAll(t.Name(), "/", "_"), time.Now().UnixNano())
}

func instance(service, id string) weft.Instance {
	return weft.Instance{Service: service, ID: id, Address: "tcp://10.0.0.7:8972", Weight: 5}
}

func driverOf(t *testing.T) *driver {
	t.Helper()
	d := newDriver([]string{loopback(t)})
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// lists watches a service until the end of the test.
func lists(t *testing.T, d *driver, service string) <-chan registry.List {
	t.Helper()
	all := make(chan registry.List, 1000)
	var wg sync.WaitGroup
	// It ends with the context of the test.
	wg.Go(func() { _ = d.Watch(t.Context(), service, func(l registry.List) { all <- l }) })
	t.Cleanup(wg.Wait)
	return all
}

// until waits for a list with so many instances and invalid entries.
func until(t *testing.T, all <-chan registry.List, instances, invalid int) registry.List {
	t.Helper()
	return repeatUntil(t, all, instances, invalid, func() {})
}

// repeatUntil is until, and sends something every second: on a busy machine packets are
// lost.
func repeatUntil(t *testing.T, all <-chan registry.List, instances, invalid int, send func()) registry.List {
	t.Helper()
	deadline := time.After(patience)
	again := time.NewTicker(time.Second)
	defer again.Stop()
	send()
	var last registry.List
	for {
		select {
		case last = <-all:
			if len(last.Instances) == instances && len(last.Invalid) == invalid {
				return last
			}
		case <-again.C:
			send()
		case <-deadline:
			t.Fatalf("the list has %d instances and %d invalid entries %v, want %d and %d",
				len(last.Instances), len(last.Invalid), last.Invalid, instances, invalid)
		}
	}
}

func TestGarbage(t *testing.T) {
	t.Parallel()
	s, d, name := newStranger(t), driverOf(t), service(t)
	all := lists(t, d, name)
	until(t, all, 0, 0)
	sound, err := newRecord(instance(name, "sound"))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := response([]record{sound}, []uint32{60})
	if err != nil {
		t.Fatal(err)
	}
	for n := range packed {
		s.say(t, packed[:n], nil)
		if n%16 == 0 { // the drivers of other tests receive it too
			time.Sleep(time.Millisecond)
		}
	}
	for n := range 12 { // the header: more records than there are, another kind of message
		spoiled := slices.Clone(packed)
		spoiled[n] ^= 0x40
		s.say(t, spoiled, nil)
	}
	list := repeatUntil(t, all, 1, 4, func() {
		// An entry with a right name and a wrong content.
		for id, value := range map[string]string{
			"no JSON": "}", "empty": "", "wrong ID": `{"service":"` + name + `","id":"other"}`,
			"incomplete": `{"service":"` + name + `","id":"incomplete"}`,
		} {
			r := record{label: instanceLabel(name, id), subtype: subtype(name), value: []byte(value)}
			packed, err := response([]record{r}, []uint32{60})
			s.say(t, packed, err)
		}
		s.announce(t, instance(name, "sound"), 60)
	})
	if list.Instances[0].ID != "sound" {
		t.Errorf("the list has %q, want the sound instance", list.Instances[0].ID)
	}
}

func TestTooManyInstances(t *testing.T) {
	d := newDriver(nil)
	w := &watch{d: d, service: "Arith", label: serviceLabel("Arith"), changed: make(chan struct{}, 1), all: make(map[string]*announced)}
	d.watches[w] = struct{}{}
	var m message
	for n := range maxAnnounced + 50 {
		r, err := newRecord(instance("Arith", fmt.Sprint(n)))
		if err != nil {
			t.Fatal(err)
		}
		m.records, m.ttls = append(m.records, r), append(m.ttls, time.Minute)
	}
	d.toldLocked(m)
	list := w.listLocked()
	if len(list.Instances) != maxAnnounced || len(list.Invalid) != 1 || !errors.Is(list.Invalid[0].Err, errFull) {
		t.Errorf("the list has %d instances and %v, want %d and that there are too many", len(list.Instances), list.Invalid, maxAnnounced)
	}
	m.ttls[0] = 0 // a goodbye makes room
	d.toldLocked(message{records: m.records[:1], ttls: m.ttls[:1]})
	d.toldLocked(message{records: m.records[maxAnnounced:][:1], ttls: m.ttls[maxAnnounced:][:1]})
	if list = w.listLocked(); len(list.Instances) != maxAnnounced || len(list.Invalid) != 0 {
		t.Errorf("after one has gone and one has come, the list has %d instances and %v, want %d", len(list.Instances), list.Invalid, maxAnnounced)
	}
}

// Multicast DNS comes from its port; the rest may be from anywhere.
func TestForeignPort(t *testing.T) {
	t.Parallel()
	s, d, name := newStranger(t), driverOf(t), service(t)
	all := lists(t, d, name)
	until(t, all, 0, 0)
	link, err := net.InterfaceByName(loopback(t))
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	conn := ipv4.NewPacketConn(udp)
	if err := conn.SetMulticastInterface(link); err != nil {
		t.Fatal(err)
	}
	r, err := newRecord(instance(name, "foreign"))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := response([]record{r}, []uint32{60})
	if err != nil {
		t.Fatal(err)
	}
	list := repeatUntil(t, all, 1, 0, func() {
		if _, err := conn.WriteTo(packed, nil, group()); err != nil {
			t.Fatal(err)
		}
		s.announce(t, instance(name, "proper"), 60)
	})
	if list.Instances[0].ID != "proper" {
		t.Errorf("the list has %q, want the one from the proper port", list.Instances[0].ID)
	}
}

// Additional is where other implementations put the content of what they announce.
func TestAdditional(t *testing.T) {
	r, err := newRecord(instance("Arith", "one"))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := response([]record{r}, []uint32{60})
	if err != nil {
		t.Fatal(err)
	}
	var m dnsmessage.Message
	if err := m.Unpack(packed); err != nil {
		t.Fatal(err)
	}
	m.Answers, m.Additionals = m.Answers[:1], m.Answers[1:]
	if packed, err = m.Pack(); err != nil {
		t.Fatal(err)
	}
	got, err := parse(packed)
	if err != nil || len(got.records) != 1 || string(got.records[0].value) != string(r.value) || got.ttls[0] != time.Minute {
		t.Errorf("the message has %+v, %v, want one record for a minute", got, err)
	}
}

// A server with many instances is not kept busy by messages with many questions.
func TestManyQuestions(t *testing.T) {
	d := newDriver(nil)
	d.session = &session{wake: make(chan struct{}, 1)}
	for n := range 200 {
		r, err := newRecord(instance("Arith", fmt.Sprint(n)))
		if err != nil {
			t.Fatal(err)
		}
		d.own[r.label] = &published{record: r, expires: time.Now().Add(time.Minute)}
	}
	m := dnsmessage.Message{}
	for n := range 1000 {
		name := dnsmessage.MustNewName(fmt.Sprintf("%d.x.", n%10))
		m.Questions = append(m.Questions, dnsmessage.Question{Name: name, Type: dnsmessage.Type(n), Class: dnsmessage.ClassINET})
	}
	packed, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	// The least of many times does not depend on what else the machine does.
	least := time.Hour
	for range 20 {
		began := time.Now()
		asked, err := parse(packed)
		if err != nil || len(asked.questions) != 1000 {
			t.Fatalf("%d questions, %v, want 1000", len(asked.questions), err)
		}
		d.askedLocked(asked)
		least = min(least, time.Since(began))
	}
	if least > 100*time.Millisecond {
		t.Errorf("a message of %d bytes takes %v", len(packed), least)
	}
	if _, err := parse(make([]byte, maxPacket+1)); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a message of more bytes than are allowed: %v", err)
	}
}

// However often clients ask, a record is announced once a second at most, but is
// announced.
func TestAnswersAreRare(t *testing.T) {
	// Not beside others, which would change when this one receives something.
	s, d, name := newStranger(t), driverOf(t), service(t)
	if err := d.Put(t.Context(), instance(name, "one"), time.Minute); err != nil {
		t.Fatal(err)
	}
	label := instanceLabel(name, "one")
	const least = 5
	began := time.Now()
	for len(s.announced(label)) < least {
		if time.Since(began) > patience {
			t.Fatalf("announced %d times in %v, want about once a second", len(s.announced(label)), patience)
		}
		packed, err := query(name, nil)
		s.say(t, packed, err)
		time.Sleep(5 * time.Millisecond)
	}
	// On a busy machine some are received late, so single pauses say nothing. One more is
	// the first, and one may be at the end.
	n := len(s.announced(label)) // and then the time: a busy machine may take some between the two
	took := time.Since(began)
	if n > int(took/spacing)+2 {
		t.Errorf("announced %d times in %v, want once a second at most", n, took)
	}
}

// What a client asks, and knows already.
func TestQuestions(t *testing.T) {
	label := instanceLabel("Arith", "one")
	tests := []struct {
		name      string
		questions []question
		known     uint32 // seconds
		want      bool
	}{
		{"the service", []question{{subtype("Arith"), dnsmessage.TypePTR}}, 0, true},
		{"in other letters", []question{{strings.ToUpper(subtype("Arith")), dnsmessage.TypePTR}}, 0, true},
		{"known", []question{{subtype("Arith"), dnsmessage.TypePTR}}, 60, false},
		{"known for a short time", []question{{subtype("Arith"), dnsmessage.TypePTR}}, 20, true},
		{"another service", []question{{subtype("arith"), dnsmessage.TypePTR}}, 0, false},
		{"all services", []question{{domain, dnsmessage.TypePTR}}, 0, true},
		{"the types of services", []question{{typesName, dnsmessage.TypePTR}}, 0, true},
		{"anything", []question{{domain, dnsmessage.TypeALL}}, 0, true},
		{"the wrong type", []question{{domain, dnsmessage.TypeA}}, 0, false},
		{"the text", []question{{instanceName(label), dnsmessage.TypeTXT}}, 0, true},
		{"the port", []question{{instanceName(label), dnsmessage.TypeSRV}}, 0, true},
		{"the address", []question{{hostName(label), dnsmessage.TypeA}}, 0, true},
		{"second of two", []question{{"x.local.", dnsmessage.TypeA}, {domain, dnsmessage.TypePTR}}, 0, true},
		{"another type of service", []question{{"printer._ipp._tcp.local.", dnsmessage.TypePTR}}, 0, false},
		{"nothing", nil, 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := newDriver(nil)
			d.session = &session{wake: make(chan struct{}, 1)}
			r, err := newRecord(instance("Arith", "one"))
			if err != nil {
				t.Fatal(err)
			}
			p := &published{record: r, expires: time.Now().Add(time.Minute)}
			d.own[label] = p
			var m dnsmessage.Message
			for _, q := range test.questions {
				m.Questions = append(m.Questions, dnsmessage.Question{
					Name: dnsmessage.MustNewName(q.name), Type: q.kind, Class: dnsmessage.ClassINET,
				})
			}
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(domain), Class: dnsmessage.ClassINET, TTL: test.known},
				Body:   &dnsmessage.PTRResource{PTR: dnsmessage.MustNewName(instanceName(label))},
			}}
			packed, err := m.Pack()
			if err != nil {
				t.Fatal(err)
			}
			got, err := parse(packed)
			if err != nil {
				t.Fatal(err)
			}
			asked := time.Now()
			d.askedLocked(got)
			done := time.Now()
			if got := !p.due.IsZero(); got != test.want {
				t.Fatalf("it is answered: %t, want %t", got, test.want)
			}
			if test.want && (p.due.Sub(asked) < leastDelay || p.due.Sub(done) > mostDelay) {
				t.Errorf("it is answered after %v, want %v to %v", p.due.Sub(asked), leastDelay, mostDelay)
			}
		})
	}
}

// Of two servers that announce the same instance, the later one counts, for the other
// too.
func TestRivals(t *testing.T) {
	mine := instance("Arith", "one")
	theirs := mine
	theirs.Weight = 9
	tests := []struct {
		name  string
		back  bool // its own announcement came back before
		what  weft.Instance
		ttl   time.Duration
		stays bool
		gone  bool // it was withdrawn here
	}{
		{"replaced", true, theirs, time.Minute, false, false},
		{"replaced before", false, theirs, time.Minute, true, false},
		{"announced alike", true, mine, time.Minute, true, false},
		{"withdrawn", true, mine, 0, false, false},
		{"withdrawn before", false, mine, 0, true, false},
		{"published again", true, mine, time.Minute, false, true},
		{"published before", false, mine, time.Minute, true, true},
		{"withdrawn by both", true, mine, 0, true, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := newRecord(mine)
			if err != nil {
				t.Fatal(err)
			}
			d := newDriver(nil)
			r.writer, r.version = d.id, 1
			d.own[r.label] = &published{record: r, gone: test.gone, expires: time.Now().Add(time.Minute)}
			if test.back {
				d.compareLocked(r, time.Minute)
			}
			other, err := newRecord(test.what)
			if err != nil {
				t.Fatal(err)
			}
			other.writer = "other"
			d.compareLocked(other, test.ttl)
			if _, stays := d.own[r.label]; stays != test.stays {
				t.Errorf("it is still announced: %t, want %t", stays, test.stays)
			}
		})
	}
}

// A server whose instance another one has replaced learns it when it refreshes.
func TestReplacedByAnother(t *testing.T) {
	t.Parallel()
	one, two, name := driverOf(t), driverOf(t), service(t)
	all := lists(t, driverOf(t), name)
	old, young := instance(name, "one"), instance(name, "one")
	young.Weight = 9
	if err := one.Put(t.Context(), old, time.Minute); err != nil {
		t.Fatal(err)
	}
	until(t, all, 1, 0)
	if err := one.Refresh(t.Context(), old, time.Minute); err != nil {
		t.Fatalf("Refresh before: %v", err)
	}
	if err := two.Put(t.Context(), young, time.Minute); err != nil {
		t.Fatal(err)
	}
	for list := until(t, all, 1, 0); list.Instances[0].Weight != 9; {
		list = until(t, all, 1, 0)
	}
	// In the worst case it was refreshed before the replacement arrived.
	deadline := time.Now().Add(patience)
	for {
		err := one.Refresh(t.Context(), old, time.Minute)
		if errors.Is(err, registry.ErrLost) {
			return
		}
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("Refresh of what another has replaced: %v, want ErrLost", err)
		}
	}
}

// Refresh waits for its announcement to come back, also when this process does not get to
// run for a while, and leaves the caller time.
func TestAwaitEcho(t *testing.T) {
	for _, test := range []struct {
		name                    string
		limit, echo, ends, want time.Duration // limit 0: there is none
	}{
		{"late", 0, echoWait * 3 / 4, 0, echoWait * 3 / 4},
		{"lost", 0, time.Hour, 0, echoWait},
		{"lost, with a deadline", echoWait, time.Hour, 0, echoWait / 2},
		{"canceled", 0, time.Hour, echoWait / 4, echoWait / 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.limit > 0 {
					ctx, cancel = context.WithTimeout(ctx, test.limit)
					defer cancel()
				}
				if test.ends > 0 {
					time.AfterFunc(test.ends, cancel)
				}
				back := make(chan struct{})
				time.AfterFunc(test.echo, func() { close(back) })
				began := time.Now()
				err := awaitEcho(ctx, back)
				if took := time.Since(began); took != test.want || (err != nil) != (test.ends > 0) {
					t.Errorf("it took %v, want %v, and the error is %v", took, test.want, err)
				}
			})
		})
	}
}

// A deadline that has passed before anything was tried loses no packet.
func TestTwice(t *testing.T) {
	for _, test := range []struct {
		name   string
		errors []error // of the writes, in turn
		want   error
	}{
		{"at once", []error{nil}, nil},
		{"too late at first", []error{os.ErrDeadlineExceeded, nil}, nil},
		{"never in time", []error{os.ErrDeadlineExceeded, os.ErrDeadlineExceeded}, os.ErrDeadlineExceeded},
		{"no network", []error{net.ErrClosed}, net.ErrClosed},
	} {
		t.Run(test.name, func(t *testing.T) {
			n := 0
			err := twice(func(deadline time.Time) error {
				if !deadline.After(time.Now().Add(-time.Minute)) {
					t.Errorf("the deadline is %v", deadline)
				}
				n++
				return test.errors[n-1]
			})
			if !errors.Is(err, test.want) || n != len(test.errors) {
				t.Errorf("after %d writes: %v, want %d and %v", n, err, len(test.errors), test.want)
			}
		})
	}
}

func TestSizes(t *testing.T) {
	i := instance("Arith", "one")
	i.Tags = make(map[string]string)
	for n := 0; ; n++ {
		r, err := newRecord(i)
		if err != nil {
			if !strings.Contains(err.Error(), "at most 8000") || !strings.Contains(err.Error(), `"one"`) {
				t.Fatalf("after %d tags: %v", n, err)
			}
			break
		}
		packed, err := response([]record{r}, []uint32{60})
		if err != nil || len(packed) > maxPacket {
			t.Fatalf("%d bytes of JSON make a message of %d bytes, %v, at most %d are allowed", len(r.value), len(packed), err, maxPacket)
		}
		m, err := parse(packed)
		if err != nil || len(m.records) != 1 || string(m.records[0].value) != string(r.value) {
			t.Fatalf("%d bytes of JSON do not come back: %v", len(r.value), err)
		}
		if n > 60 {
			t.Fatal("61 tags of 260 bytes are no error")
		}
		i.Tags[fmt.Sprint("tag", n)] = strings.Repeat("x", 255)
	}
	known := make(map[string]uint32)
	for n := range 1000 {
		known[instanceLabel("Arith", fmt.Sprint(n))] = 60
	}
	packed, err := query("Arith", known)
	if err != nil || len(packed) > maxPacket {
		t.Fatalf("a query of %d bytes, %v, at most %d are allowed", len(packed), err, maxPacket)
	}
	if m, err := parse(packed); err != nil || len(m.known) < 100 {
		t.Errorf("%d known instances in a query, %v, want more than 100", len(m.known), err)
	}
}

// What other tools learn.
func TestLocation(t *testing.T) {
	label := instanceLabel("Arith", "one")
	tests := []struct {
		address string
		host    string
		port    uint16
		addr    string
	}{
		{"tcp://10.0.0.7:8972", hostName(label), 8972, "10.0.0.7"},
		{"tls://[2001:db8::1]:8972", hostName(label), 8972, "2001:db8::1"},
		{"tcp://[fe80::1%25eth0]:8972", hostName(label), 8972, "fe80::1"},
		{"tcp://server.example:8972", "server.example.", 8972, ""},
		{"unix:///run/arith.sock", "", 0, ""},
		{"mem://arith", "", 0, ""},
		{"tcp://" + strings.Repeat("x", 80) + ":80", "", 0, ""},
	}
	for _, test := range tests {
		i := instance("Arith", "one")
		i.Address = test.address
		r, err := newRecord(i)
		if err != nil {
			t.Errorf("%s: %v", test.address, err)
			continue
		}
		var addr netip.Addr
		if test.addr != "" {
			addr = netip.MustParseAddr(test.addr)
		}
		if r.host != test.host || r.port != test.port || r.addr != addr {
			t.Errorf("%s is at host %q, port %d, address %v, want %q, %d, %v", test.address, r.host, r.port, r.addr, test.host, test.port, addr)
		}
		packed, err := response([]record{r}, []uint32{60})
		var m dnsmessage.Message
		if err == nil {
			err = m.Unpack(packed)
		}
		if err != nil {
			t.Errorf("%s: %v", test.address, err)
		}
	}
}

// FuzzParse reads what could come from any machine, and makes a list of it.
func FuzzParse(f *testing.F) {
	for _, i := range []weft.Instance{instance("Arith", "one"), instance("Größe", "/")} {
		r, err := newRecord(i)
		if err != nil {
			f.Fatal(err)
		}
		for _, ttl := range []uint32{0, 1, 1 << 31} {
			packed, err := response([]record{r, {label: "x", subtype: subtype("y")}}, []uint32{ttl, 1})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(packed)
		}
		packed, err := query(i.Service, map[string]uint32{r.label: 7})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packed)
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		m, err := parse(packed)
		if err != nil {
			return
		}
		d := newDriver(nil)
		d.session = &session{wake: make(chan struct{}, 1)}
		r, err := newRecord(instance("Arith", "one"))
		if err != nil {
			t.Fatal(err)
		}
		d.own[r.label] = &published{record: r, expires: time.Now().Add(time.Minute), back: true}
		w := &watch{d: d, service: "Arith", label: serviceLabel("Arith"), changed: make(chan struct{}, 1), all: make(map[string]*announced)}
		d.watches[w] = struct{}{}
		d.askedLocked(m)
		d.toldLocked(m)
		for _, ttl := range m.ttls {
			if ttl < 0 || ttl > maxTTL {
				t.Fatalf("a time to live of %v", ttl)
			}
		}
		for _, i := range w.listLocked().Instances {
			if err := i.Check(); err != nil || i.Service != "Arith" {
				t.Fatalf("an instance of %q, %v", i.Service, err)
			}
		}
	})
}
