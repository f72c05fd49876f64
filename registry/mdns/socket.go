package mdns

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"golang.org/x/net/ipv4"
)

const (
	port = 5353
	// hops is the IP time to live that the standard wants (RFC 6762, section 11).
	hops = 255
	// maxPacket is how long a message can be (RFC 6762, section 17).
	maxPacket = 9000 - 20 - 8
	// receiveBuffer holds what comes while this process does not get to run. The
	// system may allow less.
	receiveBuffer = 4 << 20
	// sendTimeout is how long an interface that is congested is waited for.
	sendTimeout = 2 * time.Second
)

// group is the address to which everything is sent.
func group() *net.UDPAddr { return &net.UDPAddr{IP: net.IPv4(224, 0, 0, 251), Port: port} }

// socket sends to and receives from the multicast group on some interfaces. Other processes of
// this machine use the same port.
type socket struct {
	conn   *ipv4.PacketConn
	names  []string // of the interfaces to use; none: all that can be used
	joined map[int]bool

	links   []net.Interface
	checked time.Time // when links was found out
}

func openSocket(names []string) (*socket, error) {
	links, err := usable(names)
	if err != nil {
		return nil, err
	}
	udp, err := net.ListenMulticastUDP("udp4", &links[0], group())
	if err != nil {
		return nil, fmt.Errorf("mdns: %w", err)
	}
	// The system gives what it allows.
	_ = udp.SetReadBuffer(receiveBuffer)
	conn := ipv4.NewPacketConn(udp)
	err = errors.Join(conn.SetMulticastLoopback(true), conn.SetMulticastTTL(hops))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mdns: %w", err), conn.Close())
	}
	// Not every system can tell where a packet came from, and where it was sent to;
	// then all are taken.
	_ = conn.SetControlMessage(ipv4.FlagInterface|ipv4.FlagDst, true)
	s := &socket{conn: conn, names: names, joined: map[int]bool{links[0].Index: true}}
	if err := s.look(); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return s, nil
}

// usable returns the interfaces that can be used now, at least one.
func usable(names []string) ([]net.Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("mdns: %w", err)
	}
	var links, loopback []net.Interface
	for _, i := range all {
		up := i.Flags&net.FlagUp != 0
		switch {
		case len(names) > 0:
			if up && slices.Contains(names, i.Name) {
				links = append(links, i)
			}
		case up && i.Flags&net.FlagLoopback != 0:
			loopback = append(loopback, i)
		case up && i.Flags&net.FlagMulticast != 0 && hasIPv4(i):
			links = append(links, i)
		}
	}
	if len(links) == 0 {
		links = loopback
	}
	switch {
	case len(links) > 0:
		return links, nil
	case len(names) > 0:
		return nil, fmt.Errorf("mdns: of the network interfaces %q none is up", names)
	}
	return nil, errors.New("mdns: no network interface is up")
}

func hasIPv4(i net.Interface) bool {
	addrs, err := i.Addrs()
	return err == nil && slices.ContainsFunc(addrs, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.To4() != nil
	})
}

// look finds out which interfaces can be used now, and listens on those that are new.
// Interfaces come and go; once in a second is soon enough.
func (s *socket) look() error {
	now := time.Now()
	if now.Sub(s.checked) < time.Second {
		return nil
	}
	links, err := usable(s.names)
	if err != nil {
		s.links = nil
		return err
	}
	for _, link := range links {
		if !s.joined[link.Index] {
			// If it fails, nothing is received there, and sending says so as well.
			s.joined[link.Index] = s.conn.JoinGroup(&link, group()) == nil
		}
	}
	s.links, s.checked = links, now
	return nil
}

// send multicasts a message on all interfaces. An error means that it went out on
// none. It is called by one goroutine at a time.
func (s *socket) send(message []byte) error {
	if err := s.look(); err != nil {
		return err
	}
	var errs []error
	for _, link := range s.links {
		err := s.conn.SetMulticastInterface(&link)
		if err == nil {
			err = twice(func(deadline time.Time) error {
				if err := s.conn.SetWriteDeadline(deadline); err != nil {
					return err
				}
				_, err := s.conn.WriteTo(message, nil, group())
				return err
			})
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("mdns: interface %s: %w", link.Name, err))
		}
	}
	if len(errs) < len(s.links) {
		return nil
	}
	s.checked = time.Time{}
	return errors.Join(errs...)
}

// twice writes with a deadline, and again if that has passed: when this process gets no
// processor it passes before anything was tried.
func twice(write func(deadline time.Time) error) (err error) {
	for range 2 {
		if err = write(time.Now().Add(sendTimeout / 2)); !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
	}
	return err
}

// packet is a message that was received.
type packet struct {
	message []byte
	link    int  // the index of the interface; 0: the system does not say
	proper  bool // it is from the port that speakers of multicast DNS have (RFC 6762, section 6)
}

// receive waits for the next packet that was sent to the group: others may come from
// outside the network (RFC 6762, section 11). It may be called while send is.
func (s *socket) receive(buffer []byte) (packet, error) {
	for {
		n, control, from, err := s.conn.ReadFrom(buffer)
		if err != nil {
			return packet{}, fmt.Errorf("mdns: %w", err)
		}
		p := packet{message: buffer[:n]}
		if control != nil {
			p.link = control.IfIndex
			if control.Dst != nil && !control.Dst.IsMulticast() {
				continue
			}
		}
		if udp, ok := from.(*net.UDPAddr); ok {
			p.proper = udp.Port == port
		}
		return p, nil
	}
}

// listens reports whether packets of an interface are wanted: the system also hands over
// what comes by those on which other processes listen. It must not be called while
// send is.
func (s *socket) listens(link int) bool {
	return link == 0 || len(s.names) == 0 ||
		slices.ContainsFunc(s.links, func(l net.Interface) bool { return l.Index == link })
}

func (s *socket) close() error { return s.conn.Close() }
