package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
)

// scene is a kind of plan: which faults it has.
type scene string

const (
	calm      scene = "calm"      // servers restart with a drain: nothing may fail
	outage    scene = "outage"    // the same while the registry is away, empty or wiped: nothing may fail
	disorder  scene = "network"   // connections are cut, stall, vanish
	crashes   scene = "crashes"   // servers die
	slowness  scene = "slowness"  // servers and connections become slow
	tightness scene = "tightness" // limits are small, and connections fail
	storm     scene = "storm"     // everything
)

// kindOfCall is what a call is.
type kindOfCall uint8

const (
	once       kindOfCall = iota // unary, not marked as idempotent
	repeatable                   // unary, marked
	note                         // one-way
	chat                         // a stream
)

func (k kindOfCall) String() string { return [...]string{"once", "repeatable", "note", "chat"}[k] }

// callPlan is one call of a client.
type callPlan struct {
	Pause    time.Duration // after the call before
	Kind     kindOfCall
	Order    Order
	Timeout  time.Duration
	Cancel   time.Duration // after which the caller cancels; 0: never
	Messages int           // of a chat
	Leave    int           // how many answers of a chat are read before it is closed; below zero: all
}

// clientPlan is one client: its callers, each of which makes its calls one after the other.
type clientPlan struct {
	Name     string
	Direct   string // the host of a client of one server; "": a client of all
	FailMode cluster.FailMode
	Balancer int
	Recorded bool // its attempts are recorded, by an interceptor
	Checksum bool
	Compress bool
	MaxConns int
	Leaves   time.Duration // when it is shut down; 0: at the end
	Callers  [][]callPlan
}

// fault is something that happens at a time.
type fault struct {
	At   time.Duration
	Kind faultKind
	Host int           // which server
	Pick int           // which connection, as a number that is taken modulo their count
	For  time.Duration // how long
	Flag bool
}

type faultKind uint8

const (
	restart    faultKind = iota // with a drain; For is the time it has
	kill                        // without one; For is how long it stays away
	cutOne                      // Flag: what is under way is lost
	cutAll                      //
	stall                       // a direction, for a while
	vanish                      // both directions, for good
	halfClose                   // a direction ends; the other one stays
	slowHost                    // its handlers take longer
	slowLine                    // a direction carries few bytes a second
	refuse                      // dials are refused
	silence                     // dials are not answered
	noRegistry                  // it does not answer
	emptyList                   // it answers that there are no servers
	wipe                        // it has lost its data
	overtake                    // bytes of newer connections of a client overtake those of older ones, by For
)

func (k faultKind) String() string {
	return [...]string{"restart", "kill", "cut", "cut all", "stall", "vanish", "half-close", "slow host", "slow line",
		"refuse", "silence", "no registry", "empty list", "wipe", "overtake"}[k]
}

func (f fault) String() string {
	return fmt.Sprintf("%v %v host %d pick %d for %v flag %v", f.At, f.Kind, f.Host, f.Pick, f.For, f.Flag)
}

// plan is all that follows from a seed.
type plan struct {
	Seed    uint64
	Scene   scene
	Hosts   []string
	Weather weather
	Limits  weft.Limits // of servers and clients
	Length  time.Duration
	Clients []clientPlan
	Faults  []fault
}

func (p *plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s, hosts %v, %+v, %v\n", p.Seed, p.Scene, p.Hosts, p.Weather, p.Length)
	for _, c := range p.Clients {
		calls := 0
		for _, list := range c.Callers {
			calls += len(list)
		}
		fmt.Fprintf(&b, "  client %s: direct %q, %s, balancer %d, recorded %v, %d callers, %d calls, leaves %v\n",
			c.Name, c.Direct, c.FailMode, c.Balancer, c.Recorded, len(c.Callers), calls, c.Leaves)
	}
	for _, f := range p.Faults {
		fmt.Fprintf(&b, "  %v\n", f)
	}
	return b.String()
}

// peaceful reports whether nothing may fail but by a deadline, a cancel or the handler.
func (p *plan) peaceful() bool { return p.Scene == calm || p.Scene == outage }

// dice makes a plan of random numbers.
type dice struct{ *rand.Rand }

func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

// between is a duration, with small ones as likely as large ones.
func (d dice) between(least, most time.Duration) time.Duration {
	for span := 4 * max(least, time.Microsecond); span < most; span *= 4 {
		if d.chance(35) {
			return least + time.Duration(d.Int64N(int64(span)))
		}
	}
	return least + time.Duration(d.Int64N(int64(most-least)+1))
}

func newPlan(seed uint64) *plan {
	d := dice{rand.New(rand.NewPCG(seed, 0x77656674))}
	scenes := []scene{calm, outage, disorder, disorder, crashes, slowness, tightness, storm, storm, storm}
	p := &plan{Seed: seed, Scene: scenes[d.IntN(len(scenes))], Length: d.between(2*time.Second, 12*time.Second)}
	for i := range 1 + d.IntN(4) {
		p.Hosts = append(p.Hosts, string(rune('a'+i)))
	}
	p.Weather = weather{Delay: 50 * time.Microsecond, Jitter: 200 * time.Microsecond, Buffer: 1 << 20}
	if d.chance(25) {
		p.Weather.Delay, p.Weather.Jitter = 10*time.Millisecond, 20*time.Millisecond
	}
	if d.chance(30) {
		p.Weather.Piece = 1 << (4 + d.IntN(9))
	}
	if p.Scene == tightness {
		p.Limits = weft.Limits{MaxCalls: 2 + d.IntN(8), MaxCallBytes: 16 << 10, MaxMessage: 16 << 10, StreamWindow: 256 << d.IntN(4), WriteBuffer: 4 << 10}
	}
	for i := range 1 + d.IntN(3) {
		p.Clients = append(p.Clients, p.client(d, fmt.Sprintf("client-%d", i), i))
	}
	p.addFaults(d)
	p.addOvertaking()
	return p
}

func (p *plan) client(d dice, name string, number int) clientPlan {
	c := clientPlan{
		Name: name, Balancer: d.IntN(6), Recorded: d.chance(60), Checksum: d.chance(20), Compress: d.chance(20),
		FailMode: []cluster.FailMode{cluster.Failover, cluster.Failover, cluster.Failfast, cluster.Failtry, cluster.Failbackup}[d.IntN(5)],
		MaxConns: 1 + d.IntN(2),
	}
	if d.chance(25) {
		c.Direct = p.Hosts[d.IntN(len(p.Hosts))]
	}
	if d.chance(15) {
		c.Leaves = d.between(p.Length/4, p.Length)
	}
	callers, most := 1+d.IntN(6), 16
	if d.chance(10) {
		callers, most = 40, 3 // at once
	}
	if c.hedges() {
		callers, most = 3+d.IntN(4), 40 // a method is hedged when 50 of its calls were timed, which is looked at once a second
	}
	for caller := range callers {
		var calls []callPlan
		for n, at := 0, time.Duration(0); at < p.Length && n < most; n++ {
			x := p.call(d)
			if c.hedges() {
				x.Pause = min(max(x.Pause, p.Length/80), p.Length/20)
				if x.Kind == once {
					x.Kind = repeatable
				}
			}
			x.Order.ID = int64(number+1)*1_000_000 + int64(caller)*1_000 + int64(n)
			at += x.Pause + x.Order.Takes
			calls = append(calls, x)
		}
		c.Callers = append(c.Callers, calls)
	}
	return c
}

// hedges reports whether repeatable calls of the client are hedged.
func (c *clientPlan) hedges() bool { return c.FailMode == cluster.Failbackup && c.Direct == "" }

func (p *plan) call(d dice) callPlan {
	x := callPlan{Pause: d.between(100*time.Microsecond, p.Length/8), Leave: -1}
	x.Kind = []kindOfCall{once, once, once, once, repeatable, repeatable, repeatable, note, note, chat}[d.IntN(10)]
	x.Order.Takes = d.between(0, 100*time.Millisecond)
	if d.chance(30) {
		x.Order.Takes = 0
	}
	x.Timeout = d.between(20*time.Millisecond, 8*time.Second)
	if d.chance(15) {
		x.Cancel = d.between(time.Microsecond, 200*time.Millisecond)
	}
	if d.chance(10) {
		codes := []weft.Code{weft.InvalidArgument, weft.NotFound, weft.Internal, weft.Unavailable, weft.ResourceExhausted}
		if p.peaceful() {
			codes = codes[:2] // the others open breakers
		}
		x.Order.Fail = uint16(codes[d.IntN(len(codes))])
	}
	x.Order.Stubborn = d.chance(10)
	if d.chance(20) {
		x.Order.Pad = pad(int64(d.Uint32()), 1<<d.IntN(17))
	}
	if d.chance(20) {
		x.Order.Back = 1 << d.IntN(17)
	}
	if x.Kind != note && x.Kind != chat && d.chance(10) {
		x.Order.Nest = 1 + d.IntN(3)
	}
	if x.Kind == chat {
		x.Messages = d.IntN(20)
		if d.chance(20) {
			x.Leave = d.IntN(x.Messages + 1)
		}
		if d.chance(50) {
			x.Timeout = 0
		}
	}
	if x.Kind == note && p.peaceful() {
		x.Timeout, x.Cancel = 0, 0
	}
	return x
}

// addFaults draws the faults of the scene.
func (p *plan) addFaults(d dice) {
	kinds := map[scene][]faultKind{
		calm:      {restart},
		outage:    {restart, noRegistry, emptyList, wipe},
		disorder:  {cutOne, cutOne, cutAll, stall, vanish, halfClose, refuse, silence},
		crashes:   {kill, kill, restart, cutOne},
		slowness:  {slowHost, slowLine, stall, restart},
		tightness: {cutOne, stall, slowHost, restart},
	}
	kinds[storm] = slices.Concat(kinds[outage], kinds[disorder], kinds[crashes], kinds[slowness])
	list := kinds[p.Scene]
	for range 1 + d.IntN(8) {
		f := fault{At: time.Second/2 + time.Duration(d.Int64N(int64(p.Length))), Kind: list[d.IntN(len(list))],
			Host: d.IntN(len(p.Hosts)), Pick: d.IntN(1 << 20), For: d.between(time.Millisecond, 8*time.Second), Flag: d.chance(50)}
		if f.Kind == restart && p.peaceful() {
			f.For = time.Minute
		}
		p.Faults = append(p.Faults, f)
	}
	slices.SortFunc(p.Faults, func(a, b fault) int { return int(a.At - b.At) })
}

// addOvertaking has connections overtake one another in some plans in which connections fail, and adds a client with so many calls at
// once that it has two connections to some of them. Its random numbers are its own, so that the rest of the plan does not depend on it.
func (p *plan) addOvertaking() {
	d := dice{rand.New(rand.NewPCG(p.Seed, 0x6f76657274616b65))}
	if p.peaceful() || p.Scene == crashes || d.chance(50) {
		return
	}
	for range 1 + d.IntN(3) {
		p.Faults = append(p.Faults, fault{At: d.between(20*time.Millisecond, p.Length), Kind: overtake,
			Host: d.IntN(len(p.Hosts)), For: d.between(20*time.Millisecond, 4*time.Second)})
	}
	slices.SortFunc(p.Faults, func(a, b fault) int { return int(a.At - b.At) })
	if p.Scene == tightness || d.chance(80) {
		return
	}
	c := p.client(d, "crowd", len(p.Clients))
	c.MaxConns, c.Direct, c.Callers = 2, p.Hosts[d.IntN(len(p.Hosts))], nil
	for caller := range 300 { // a client uses its second connection when 256 calls are open on the first
		var calls []callPlan
		for n := range 3 {
			x := p.call(d)
			x.Pause, x.Cancel = d.between(time.Microsecond, 20*time.Millisecond), 0
			x.Order.Takes, x.Order.Nest = time.Second/2+d.between(0, time.Second), 0
			x.Order.ID = int64(len(p.Clients)+1)*1_000_000 + int64(caller)*1_000 + int64(n)
			calls = append(calls, x)
		}
		c.Callers = append(c.Callers, calls)
	}
	p.Clients = append(p.Clients, c)
}
