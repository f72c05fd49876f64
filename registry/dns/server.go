package dns

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"
)

// patience is how long a server may take for an answer, in each of the rounds over
// all servers.
func patience() []time.Duration { return []time.Duration{time.Second, 3 * time.Second} }

// resolve asks the servers, one after the other, until one can answer.
func (d *driver) resolve(ctx context.Context, q question) (answer, error) {
	servers := d.fixed
	if len(servers) == 0 {
		var err error
		if servers, err = systemServers(resolvConf); err != nil {
			return answer{}, err
		}
	}
	errs := make([]error, len(servers))
	for _, wait := range patience() {
		for i, server := range servers {
			a, err := exchange(ctx, server, q, wait)
			if err == nil {
				return a, nil
			}
			if ctx.Err() != nil {
				return answer{}, context.Cause(ctx)
			}
			errs[i] = fmt.Errorf("dns: %v: server %s: %w", q, server, err)
		}
	}
	return answer{}, errors.Join(errs...)
}

// exchange asks one server, by UDP, and by TCP when the answer is too long for that.
func exchange(ctx context.Context, server string, q question, wait time.Duration) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	a, err := over(ctx, "udp", server, q, readDatagram)
	if err != nil || !a.truncated {
		return a, err
	}
	a, err = over(ctx, "tcp", server, q, readStream)
	if err == nil && a.truncated {
		err = errors.New("an answer that is truncated though it came over TCP")
	}
	return a, err
}

// over asks over one connection of its own: a new port makes it harder for others to
// guess what an answer must look like.
func over(ctx context.Context, network, server string, q question,
	read func(net.Conn, uint16, question) (answer, error)) (answer, error) {
	var id [2]byte
	rand.Read(id[:]) // never fails
	n := binary.BigEndian.Uint16(id[:])
	message, err := q.pack(n)
	if err != nil {
		return answer{}, err
	}
	if network == "tcp" {
		message = append(binary.BigEndian.AppendUint16(nil, uint16(len(message))), message...)
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, server)
	if err != nil {
		return answer{}, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err = conn.Write(message); err != nil {
		return answer{}, err
	}
	a, err := read(conn, n, q)
	if ctx.Err() != nil && err != nil {
		return answer{}, fmt.Errorf("no answer over %s: %w", network, ctx.Err())
	}
	return a, err
}

// readDatagram waits for the answer, and ignores whatever else comes.
func readDatagram(conn net.Conn, id uint16, q question) (answer, error) {
	buffer := make([]byte, 4*maxUDP)
	for {
		n, err := conn.Read(buffer)
		if err != nil {
			return answer{}, err
		}
		a, err := parse(buffer[:n], id, q)
		if !errors.Is(err, errForeign) {
			return a, err
		}
	}
}

func readStream(conn net.Conn, id uint16, q question) (answer, error) {
	r := bufio.NewReader(conn)
	var size [2]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return answer{}, err
	}
	message := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(r, message); err != nil {
		return answer{}, err
	}
	return parse(message, id, q)
}

const (
	resolvConf    = "/etc/resolv.conf"
	maxResolvConf = 64 << 10
	maxServers    = 3 // as many as the C library asks
)

// systemServers returns the resolvers that a file like /etc/resolv.conf names; if it
// names none, this machine's.
func systemServers(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("dns: the system's servers are not known, name some in Config.Servers: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxResolvConf))
	if err != nil {
		return nil, fmt.Errorf("dns: %s: %w", path, err)
	}
	var servers []string
	for line := range strings.Lines(string(data)) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "nameserver" || len(servers) == maxServers {
			continue
		}
		if a, err := netip.ParseAddr(words[1]); err == nil {
			servers = append(servers, net.JoinHostPort(a.String(), "53"))
		}
	}
	if len(servers) == 0 {
		servers = []string{"127.0.0.1:53", "[::1]:53"}
	}
	return servers, nil
}
