package mdns

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
	"golang.org/x/net/dns/dnsmessage"
)

const (
	// maxValue is how many bytes of JSON fit in a message, beside everything else.
	maxValue = 8000
	// maxString is how many bytes a string of a TXT record can have.
	maxString = 255
	// usualPacket is what fits in one frame of an Ethernet, and of most tunnels.
	usualPacket = 1232
	// unique marks records that replace all others of their name and type (RFC 6762,
	// section 10.2).
	unique = dnsmessage.ClassINET | 1<<15
	// maxTTL bounds what others say.
	maxTTL = time.Hour
)

// record is an instance as it is announced.
type record struct {
	label   string
	subtype string // the name by which clients of its service ask
	writer  string // the server that announces it
	version uint64 // how many times that one has published something
	value   []byte // JSON

	// Where the server listens, for other tools: a port of 0 if its address does not
	// say, and either an IP address or the name of a host.
	port uint16
	addr netip.Addr
	host string
}

// newRecord makes the record of an instance. Everything but the label may be missing
// from the record of one that is to be withdrawn.
func newRecord(instance weft.Instance) (record, error) {
	r := record{label: instanceLabel(instance.Service, instance.ID), subtype: subtype(instance.Service)}
	if err := instance.Check(); err != nil {
		return record{}, err
	}
	value, err := registry.Encode(instance)
	if err != nil {
		return record{}, err
	}
	if len(value) > maxValue {
		return record{}, fmt.Errorf("mdns: instance %q of %s has %d bytes of JSON, at most %d fit in a message: use fewer or shorter tags",
			instance.ID, instance.Service, len(value), maxValue)
	}
	r.value = value
	if u, err := url.Parse(instance.Address); err == nil {
		r.locate(u.Host)
	}
	return r, nil
}

// locate notes where the server listens.
func (r *record) locate(hostPort string) {
	host, port, err := net.SplitHostPort(hostPort)
	n, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil {
		return
	}
	if r.addr, err = netip.ParseAddr(host); err == nil {
		r.addr, r.port, r.host = r.addr.Unmap().WithZone(""), uint16(n), hostName(r.label)
		return
	}
	host = strings.TrimSuffix(host, ".") + "."
	if _, err := packable(host); err == nil {
		r.port, r.host = uint16(n), host
	}
}

// packable returns a name if it can be in a message.
func packable(name string) (dnsmessage.Name, error) {
	n, err := dnsmessage.NewName(name)
	if err != nil {
		return n, err
	}
	m := dnsmessage.Message{Questions: []dnsmessage.Question{{Name: n, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
	_, err = m.Pack()
	return n, err
}

// strings are those of the TXT record.
func (r *record) strings() []string {
	all := []string{"from=" + r.writer + "." + strconv.FormatUint(r.version, 10)}
	for part := 0; len(r.value) > 0 && part*(maxString-3) < len(r.value); part++ {
		from := part * (maxString - 3)
		to := min(from+maxString-3, len(r.value))
		all = append(all, strconv.Itoa(part)+"="+string(r.value[from:to]))
	}
	return all
}

// read takes the strings of a TXT record. What is missing or out of order makes JSON
// that is none, which is noticed when it is used.
func (r *record) read(all []string) {
	part := 0
	for _, s := range all {
		if from, ok := strings.CutPrefix(s, "from="); ok {
			writer, version, _ := strings.Cut(from, ".")
			r.writer = writer
			r.version, _ = strconv.ParseUint(version, 10, 64)
		} else if value, ok := strings.CutPrefix(s, strconv.Itoa(part)+"="); ok {
			r.value = append(r.value, value...)
			part++
		}
	}
}

// response makes the message that announces records, each with its TTL; 0 is a
// goodbye.
func response(records []record, ttls []uint32) ([]byte, error) {
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{Response: true, Authoritative: true})
	b.EnableCompression()
	err := b.StartAnswers()
	if ttl := slices.Max(ttls); ttl > 0 {
		err = errors.Join(err, point(&b, typesName, domain, ttl))
	}
	for i, r := range records {
		err = errors.Join(err, r.build(&b, ttls[i]))
	}
	if err != nil {
		return nil, fmt.Errorf("mdns: %w", err)
	}
	return b.Finish()
}

func (r *record) build(b *dnsmessage.Builder, ttl uint32) error {
	name, err := dnsmessage.NewName(instanceName(r.label))
	if err != nil {
		return err
	}
	header := func(name dnsmessage.Name) dnsmessage.ResourceHeader {
		return dnsmessage.ResourceHeader{Name: name, Class: unique, TTL: ttl}
	}
	err = errors.Join(
		point(b, domain, instanceName(r.label), ttl),
		point(b, r.subtype, instanceName(r.label), ttl),
		b.TXTResource(header(name), dnsmessage.TXTResource{TXT: r.strings()}),
	)
	if r.host == "" {
		return err
	}
	host, hostErr := dnsmessage.NewName(r.host)
	err = errors.Join(err, hostErr, b.SRVResource(header(name), dnsmessage.SRVResource{Port: r.port, Target: host}))
	switch {
	case r.addr.Is4():
		err = errors.Join(err, b.AResource(header(host), dnsmessage.AResource{A: r.addr.As4()}))
	case r.addr.Is6():
		err = errors.Join(err, b.AAAAResource(header(host), dnsmessage.AAAAResource{AAAA: r.addr.As16()}))
	}
	return err
}

// point adds a PTR record, of which others may have more with the same name.
func point(b *dnsmessage.Builder, from, to string, ttl uint32) error {
	name, nameErr := dnsmessage.NewName(from)
	target, targetErr := dnsmessage.NewName(to)
	return errors.Join(nameErr, targetErr, b.PTRResource(
		dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: ttl}, dnsmessage.PTRResource{PTR: target}))
}

// query makes the message that asks for the instances of a service, except for those
// that are known, given by label with the seconds that they are still good. Those that
// do not fit are left out, and hence announced once more.
func query(service string, known map[string]uint32) ([]byte, error) {
	name, err := dnsmessage.NewName(subtype(service))
	if err != nil {
		return nil, err
	}
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{})
	b.EnableCompression()
	err = errors.Join(
		b.StartQuestions(),
		b.Question(dnsmessage.Question{Name: name, Type: dnsmessage.TypePTR, Class: dnsmessage.ClassINET}),
		b.StartAnswers(),
	)
	const header, each = 12 + 255, 12 + 2 + 64 // bytes at the most, the names being compressed
	left := (maxPacket - header) / each
	for label, ttl := range known {
		if left--; left < 0 {
			break
		}
		instance, nameErr := dnsmessage.NewName(instanceName(label))
		err = errors.Join(err, nameErr, b.PTRResource(
			dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: ttl}, dnsmessage.PTRResource{PTR: instance}))
	}
	if err != nil {
		return nil, fmt.Errorf("mdns: %w", err)
	}
	return b.Finish()
}

// message is what is of use in a message of others.
type message struct {
	// Of a query: what is asked for, and what the asker knows, by label, with the
	// seconds that it is still good there.
	questions map[question]bool
	known     map[string]uint32
	// Of a response: instances, with the times that they are good; 0 is a goodbye.
	records []record
	ttls    []time.Duration
}

// question is a name in lower case and the type of the records that are wanted.
type question struct {
	name string
	kind dnsmessage.Type
}

// parse reads a message. One that is not sound is of no use.
func parse(packed []byte) (message, error) {
	if len(packed) > maxPacket {
		return message{}, fmt.Errorf("mdns: a message of %d bytes, at most %d are allowed", len(packed), maxPacket)
	}
	var p dnsmessage.Parser
	h, err := p.Start(packed)
	if err != nil {
		return message{}, err
	}
	if h.OpCode != 0 || h.RCode != 0 {
		return message{}, errors.New("mdns: neither a query nor a response (RFC 6762, section 18)")
	}
	m := message{questions: make(map[question]bool), known: make(map[string]uint32)}
	if !h.Response {
		err = errors.Join(m.ask(&p), each(p.AnswerHeader, func(h dnsmessage.ResourceHeader) error { return m.know(&p, h) }))
		return m, err
	}
	// Others may add the TXT record to an answer rather than have it there (RFC 6763,
	// section 12.1).
	err = errors.Join(
		p.SkipAllQuestions(),
		each(p.AnswerHeader, func(h dnsmessage.ResourceHeader) error { return m.add(&p, h, p.SkipAnswer) }),
		p.SkipAllAuthorities(),
		each(p.AdditionalHeader, func(h dnsmessage.ResourceHeader) error { return m.add(&p, h, p.SkipAdditional) }),
	)
	return m, err
}

// each reads the records of a section.
func each(next func() (dnsmessage.ResourceHeader, error), read func(dnsmessage.ResourceHeader) error) error {
	for {
		h, err := next()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			return nil
		}
		if err == nil {
			err = read(h)
		}
		if err != nil {
			return err
		}
	}
}

// ask reads the questions of a query.
func (m *message) ask(p *dnsmessage.Parser) error {
	for {
		q, err := p.Question()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			return nil
		}
		if err != nil {
			return err
		}
		m.questions[question{strings.ToLower(q.Name.String()), q.Type}] = true
	}
}

// know reads one record of a query, which says what the asker knows.
func (m *message) know(p *dnsmessage.Parser, h dnsmessage.ResourceHeader) error {
	if !ours(h) || h.Type != dnsmessage.TypePTR {
		return p.SkipAnswer()
	}
	ptr, err := p.PTRResource()
	if label, ok := labelOf(ptr.PTR.String()); ok && err == nil {
		m.known[label] = h.TTL
	}
	return err
}

// add reads one record of a response.
func (m *message) add(p *dnsmessage.Parser, h dnsmessage.ResourceHeader, skip func() error) error {
	label, ok := labelOf(h.Name.String())
	if !ok || !ours(h) || h.Type != dnsmessage.TypeTXT {
		return skip()
	}
	txt, err := p.TXTResource()
	if err == nil {
		r := record{label: label}
		r.read(txt.TXT)
		m.records = append(m.records, r)
		m.ttls = append(m.ttls, min(time.Duration(h.TTL)*time.Second, maxTTL))
	}
	return err
}

// ours reports whether a record is about instances of weft.
func ours(h dnsmessage.ResourceHeader) bool {
	return h.Class&^(1<<15) == dnsmessage.ClassINET && strings.HasSuffix(strings.ToLower(h.Name.String()), domain)
}

// answers reports whether one of the questions is answered by a record.
func (r *record) answers(questions map[question]bool) bool {
	is := func(name string, kinds ...dnsmessage.Type) bool {
		return questions[question{name, dnsmessage.TypeALL}] ||
			slices.ContainsFunc(kinds, func(kind dnsmessage.Type) bool { return questions[question{name, kind}] })
	}
	return is(domain, dnsmessage.TypePTR) || is(r.subtype, dnsmessage.TypePTR) || is(typesName, dnsmessage.TypePTR) ||
		is(instanceName(r.label), dnsmessage.TypeTXT, dnsmessage.TypeSRV) ||
		r.addr.IsValid() && is(hostName(r.label), dnsmessage.TypeA, dnsmessage.TypeAAAA)
}
