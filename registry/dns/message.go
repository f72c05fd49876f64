package dns

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	// maxUDP is how many bytes of an answer are asked for in one datagram: what
	// passes every usual network unfragmented (DNS Flag Day 2020).
	maxUDP = 1232
	// maxAliases is how many CNAME records may lead from a name to its records.
	maxAliases = 8
)

// question is what a server is asked.
type question struct {
	name dnsmessage.Name
	kind dnsmessage.Type
}

func (q question) String() string {
	return strings.TrimPrefix(q.kind.String(), "Type") + " " + q.name.String()
}

// ask makes a question.
func ask(name string, kind dnsmessage.Type) (question, error) {
	if !strings.HasSuffix(name, ".") {
		name += "."
	}
	n, err := dnsmessage.NewName(name)
	if err != nil || name == "." {
		return question{}, fmt.Errorf("dns: %q is no domain name", name)
	}
	q := question{n, kind}
	if _, err := q.pack(0); err != nil {
		return question{}, fmt.Errorf("dns: %q is no domain name: %w", name, err)
	}
	return q, nil
}

// pack makes the message that asks q.
func (q question) pack(id uint16) ([]byte, error) {
	b := dnsmessage.NewBuilder(nil, dnsmessage.Header{ID: id, RecursionDesired: true})
	var opt dnsmessage.ResourceHeader
	err := errors.Join(
		b.StartQuestions(),
		b.Question(dnsmessage.Question{Name: q.name, Type: q.kind, Class: dnsmessage.ClassINET}),
		b.StartAdditionals(),
		opt.SetEDNS0(maxUDP, dnsmessage.RCodeSuccess, false),
		b.OPTResource(opt, dnsmessage.OPTResource{}),
	)
	if err != nil {
		return nil, err
	}
	return b.Finish()
}

// answer is what a server says to a question.
type answer struct {
	truncated bool // there is more than fits in a datagram, and nothing else is set

	records []record // those of the kind that was asked for
	ttl     uint32   // seconds for which records, or that there are none, are good
	// hosts are addresses of targets that the server has added.
	hosts map[string]*host
}

// record is one SRV, A or AAAA record.
type record struct {
	srv  dnsmessage.SRVResource
	addr netip.Addr
}

// host is what is known of the addresses of a name.
type host struct {
	addrs []netip.Addr
	ttl   uint32
}

// errForeign says that a message is no answer to the question that was asked. It may
// be late, or forged.
var errForeign = errors.New("a message that does not answer the question")

var errReferral = errors.New("a referral to other servers: it neither knows the name nor recurses; ask one that does")

// parse reads the answer to a question. An error other than errForeign is the
// server's answer too: it cannot answer.
func parse(message []byte, id uint16, q question) (answer, error) {
	var p dnsmessage.Parser
	h, err := p.Start(message)
	if err != nil || h.ID != id || !h.Response {
		return answer{}, errForeign
	}
	asked, err := p.Question()
	if err != nil || asked.Type != q.kind || asked.Class != dnsmessage.ClassINET || canonical(asked.Name) != canonical(q.name) {
		return answer{}, errForeign
	}
	if _, err := p.Question(); !errors.Is(err, dnsmessage.ErrSectionDone) {
		return answer{}, errForeign
	}
	if h.Truncated {
		return answer{truncated: true}, nil
	}
	s := sections{kind: q.kind, code: h.RCode, recurses: h.RecursionAvailable, names: make(map[string]*owner), hosts: make(map[string]*host)}
	if err := s.read(&p); err != nil {
		return answer{}, fmt.Errorf("a malformed answer: %w", err)
	}
	if s.code != dnsmessage.RCodeSuccess && s.code != dnsmessage.RCodeNameError {
		return answer{}, fmt.Errorf("the answer %v", strings.TrimPrefix(s.code.String(), "RCode"))
	}
	if s.code == dnsmessage.RCodeSuccess && len(s.names) == 0 && !s.negative && !h.Authoritative && !h.RecursionAvailable {
		return answer{}, errReferral
	}
	return s.answer(canonical(q.name))
}

// canonical is a name in lower case: names that differ in case alone are the same.
func canonical(n dnsmessage.Name) string { return strings.ToLower(n.String()) }

// sections is what is of use in the sections of a message.
type sections struct {
	kind     dnsmessage.Type
	code     dnsmessage.RCode
	recurses bool
	names    map[string]*owner
	negative bool   // there is an SOA record, which says how long
	ttl      uint32 // there is nothing
	hosts    map[string]*host
}

// owner is what a name owns: records, or another name that it stands for.
type owner struct {
	records []record
	alias   string
	ttl     uint32
}

func (s *sections) read(p *dnsmessage.Parser) error {
	for {
		h, err := p.AnswerHeader()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			break
		}
		if err == nil {
			err = s.answered(p, h)
		}
		if err != nil {
			return err
		}
	}
	for {
		h, err := p.AuthorityHeader()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			break
		}
		if err == nil {
			err = s.authority(p, h)
		}
		if err != nil {
			return err
		}
	}
	for {
		h, err := p.AdditionalHeader()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			return nil
		}
		if err == nil {
			err = s.additional(p, h)
		}
		if err != nil {
			return err
		}
	}
}

// answered reads one record of the answer section.
func (s *sections) answered(p *dnsmessage.Parser, h dnsmessage.ResourceHeader) error {
	if h.Class != dnsmessage.ClassINET || h.Type != s.kind && h.Type != dnsmessage.TypeCNAME {
		return p.SkipAnswer()
	}
	name := canonical(h.Name)
	o := s.names[name]
	if o == nil {
		o = &owner{ttl: h.TTL}
		s.names[name] = o
	}
	o.ttl = min(o.ttl, h.TTL)
	switch h.Type {
	case dnsmessage.TypeCNAME:
		r, err := p.CNAMEResource()
		o.alias = canonical(r.CNAME)
		return err
	case dnsmessage.TypeSRV:
		r, err := p.SRVResource()
		o.records = append(o.records, record{srv: r})
		return err
	default:
		a, err := address(p, h.Type)
		o.records = append(o.records, record{addr: a})
		return err
	}
}

// authority reads one record of the authority section: an SOA says for how long there
// is nothing (RFC 2308, section 5).
func (s *sections) authority(p *dnsmessage.Parser, h dnsmessage.ResourceHeader) error {
	if h.Class != dnsmessage.ClassINET || h.Type != dnsmessage.TypeSOA {
		return p.SkipAuthority()
	}
	r, err := p.SOAResource()
	s.negative, s.ttl = true, min(h.TTL, r.MinTTL)
	return err
}

// additional reads one record of the additional section.
func (s *sections) additional(p *dnsmessage.Parser, h dnsmessage.ResourceHeader) error {
	switch {
	case h.Type == dnsmessage.TypeOPT:
		s.code = h.ExtendedRCode(s.code)
	case h.Class == dnsmessage.ClassINET && (h.Type == dnsmessage.TypeA || h.Type == dnsmessage.TypeAAAA):
		a, err := address(p, h.Type)
		name := canonical(h.Name)
		if s.hosts[name] == nil {
			s.hosts[name] = &host{ttl: h.TTL}
		}
		s.hosts[name].add(a, h.TTL)
		return err
	}
	return p.SkipAdditional()
}

func (h *host) add(a netip.Addr, ttl uint32) {
	h.addrs = append(h.addrs, a)
	h.ttl = min(h.ttl, ttl)
}

func address(p *dnsmessage.Parser, kind dnsmessage.Type) (netip.Addr, error) {
	if kind == dnsmessage.TypeA {
		r, err := p.AResource()
		return netip.AddrFrom4(r.A), err
	}
	r, err := p.AAAAResource()
	return netip.AddrFrom16(r.AAAA), err
}

// answer follows the aliases from a name to its records.
func (s *sections) answer(name string) (answer, error) {
	a := answer{ttl: ^uint32(0), hosts: s.hosts}
	aliased := false
	for range maxAliases + 1 {
		o := s.names[name]
		if o == nil && aliased && s.code == dnsmessage.RCodeSuccess && !s.negative && !s.recurses {
			// The alias leads out of what the server knows.
			return answer{}, errReferral
		}
		if o == nil {
			a.ttl = min(a.ttl, s.ttl)
			return a, nil
		}
		a.ttl = min(a.ttl, o.ttl)
		if len(o.records) > 0 {
			a.records = o.records
			return a, nil
		}
		name, aliased = o.alias, true
	}
	return answer{}, fmt.Errorf("more than %d aliases in a row", maxAliases)
}
