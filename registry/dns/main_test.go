package dns

import (
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
	"golang.org/x/net/dns/dnsmessage"
)

func TestMain(m *testing.M) {
	// The tests wait most of the time, so more of them run at once than there are
	// processors; -parallel counts if it is given.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	leak.Main(m)
}

// reply makes what a server sends upon a query: nothing, a message or several. It is
// called at the same time for several queries.
type reply func(query dnsmessage.Message, network string) [][]byte

// serve runs a DNS server until the end of the test, and returns its address.
func serve(t testing.TB, r reply) string {
	t.Helper()
	udp, tcp := listen(t)
	var wg sync.WaitGroup
	// Both end when the test ends and closes what they read.
	wg.Go(func() { serveUDP(udp, r) })
	wg.Go(func() { serveTCP(tcp, r) })
	t.Cleanup(func() {
		udp.Close()
		tcp.Close()
		wg.Wait()
	})
	return udp.LocalAddr().String()
}

// listen finds a port that is free for both kinds.
func listen(t testing.TB) (net.PacketConn, net.Listener) {
	t.Helper()
	var errs []error
	for range 20 {
		udp, err := net.ListenPacket("udp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		tcp, err := net.Listen("tcp", udp.LocalAddr().String())
		if err == nil {
			return udp, tcp
		}
		errs = append(errs, err, udp.Close())
	}
	t.Fatal(errors.Join(errs...))
	return nil, nil
}

func serveUDP(conn net.PacketConn, r reply) {
	var wg sync.WaitGroup
	defer wg.Wait()
	buffer := make([]byte, 64<<10)
	for {
		n, from, err := conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		var query dnsmessage.Message
		if query.Unpack(buffer[:n]) != nil {
			continue
		}
		// It ends with its answer, for which the server waits at its end.
		wg.Go(func() {
			for _, message := range r(query, "udp") {
				conn.WriteTo(message, from)
			}
		})
	}
}

func serveTCP(l net.Listener, r reply) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		var size [2]byte
		io.ReadFull(conn, size[:])
		buffer := make([]byte, binary.BigEndian.Uint16(size[:]))
		io.ReadFull(conn, buffer)
		var query dnsmessage.Message
		if query.Unpack(buffer) == nil {
			for _, message := range r(query, "tcp") {
				conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(message))), message...))
			}
		}
		conn.Close()
	}
}

// respond makes the response to a query, changed by some functions.
func respond(query dnsmessage.Message, change ...func(*dnsmessage.Message)) []byte {
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: query.ID, Response: true, RecursionDesired: true, RecursionAvailable: true},
		Questions: query.Questions,
	}
	for _, c := range change {
		c(&m)
	}
	packed, err := m.Pack()
	if err != nil {
		panic(err) // a mistake of the test
	}
	return packed
}

// zone is a server that knows some records, and adds those of targets.
func zone(records ...dnsmessage.Resource) reply {
	return func(query dnsmessage.Message, _ string) [][]byte {
		return [][]byte{respond(query, func(m *dnsmessage.Message) { fill(m, records) })}
	}
}

// fill adds to a message what answers its question.
func fill(m *dnsmessage.Message, records []dnsmessage.Resource) {
	q := m.Questions[0]
	known := false
	name := canonical(q.Name)
	for i := 0; i < len(records); i++ {
		r := records[i]
		if canonical(r.Header.Name) != name {
			continue
		}
		known = true
		if alias, ok := r.Body.(*dnsmessage.CNAMEResource); ok && len(m.Answers) < 30 {
			m.Answers = append(m.Answers, r)
			name, i = canonical(alias.CNAME), -1 // from the beginning
			known = false
		} else if r.Header.Type == q.Type {
			m.Answers = append(m.Answers, r)
		}
	}
	if !known && len(m.Answers) == 0 {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, r := range m.Answers {
		srv, ok := r.Body.(*dnsmessage.SRVResource)
		for _, extra := range records {
			if ok && canonical(extra.Header.Name) == canonical(srv.Target) && q.Type == dnsmessage.TypeSRV {
				m.Additionals = append(m.Additionals, extra)
			}
		}
	}
}

func resource(name string, kind dnsmessage.Type, ttl uint32, body dnsmessage.ResourceBody) dnsmessage.Resource {
	return dnsmessage.Resource{
		Header: dnsmessage.ResourceHeader{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET, TTL: ttl},
		Body:   body,
	}
}

func srv(name string, ttl uint32, priority, weight, port uint16, target string) dnsmessage.Resource {
	return resource(name, dnsmessage.TypeSRV, ttl,
		&dnsmessage.SRVResource{Priority: priority, Weight: weight, Port: port, Target: dnsmessage.MustNewName(target)})
}

func cname(name string, ttl uint32, target string) dnsmessage.Resource {
	return resource(name, dnsmessage.TypeCNAME, ttl, &dnsmessage.CNAMEResource{CNAME: dnsmessage.MustNewName(target)})
}

// addr is an A or an AAAA record.
func addr(name string, ttl uint32, address string) dnsmessage.Resource {
	a := netip.MustParseAddr(address)
	if a.Is4() {
		return resource(name, dnsmessage.TypeA, ttl, &dnsmessage.AResource{A: a.As4()})
	}
	return resource(name, dnsmessage.TypeAAAA, ttl, &dnsmessage.AAAAResource{AAAA: a.As16()})
}

func soa(name string, ttl, least uint32) dnsmessage.Resource {
	n := dnsmessage.MustNewName(name)
	return resource(name, dnsmessage.TypeSOA, ttl, &dnsmessage.SOAResource{NS: n, MBox: n, MinTTL: least})
}

// many is n SRV records of a name, with the addresses of their targets.
func many(name string, n int) []dnsmessage.Resource {
	var all []dnsmessage.Resource
	for i := range n {
		host := "host-" + strconv.Itoa(i) + ".example."
		all = append(all, srv(name, 60, 1, 1, 80, host),
			addr(host, 60, netip.AddrFrom4([4]byte{10, 0, byte(i / 250), byte(i%250 + 1)}).String()))
	}
	return all
}

// newTestDriver makes a driver that asks these servers.
func newTestDriver(t testing.TB, cfg Config, servers ...string) *driver {
	t.Helper()
	cfg.Servers = servers
	if cfg.Name == nil {
		cfg.Name = func(service string) string { return "_" + service + "._tcp.example" }
	}
	d, err := newDriver(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
