package http2

import (
	"math"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft/door/internal/ends"
	"github.com/weftrpc/weft/door/internal/gate"
	"github.com/weftrpc/weft/door/internal/hpack"
	"github.com/weftrpc/weft/door/internal/http2/internal/calm"
	"github.com/weftrpc/weft/door/internal/http2/internal/held"
	"github.com/weftrpc/weft/door/internal/http2/internal/table"
	"github.com/weftrpc/weft/internal/delivered"
	"github.com/weftrpc/weft/internal/due"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/internal/socket"
	"github.com/weftrpc/weft/internal/turns"
)

// Handler is what the user of a connection does with what comes in. The goroutine that reads calls its methods, but for Closed. Headers and
// Data return false when another goroutine reads on, because a guard has taken the work over from this one: those of a client, for which
// callers read (ReadFor), never do.
type Handler interface {
	// Field gets the fields of a header block in order, after a nil one. A block is followed by
	// Open, Headers or Closed, or by nothing if it is malformed or its stream has ended.
	Field(f *hpack.Field)
	// Open returns the memory, which is zero but for Owner, of a stream that the client opens
	// by the block of which Field was told. Headers follows. It is called with the lock held.
	Open() *Stream
	// Headers ends a block that belongs to a stream.
	Headers(st *Stream, b Block) (stays bool)
	// Data gets a piece of a body, which is valid until Data returns. What is taken counts against the windows of the stream until Give.
	Data(st *Stream, p []byte, end bool) (stays bool)
	// Closed tells of a stream that was reset by the peer or ended with the connection.
	Closed(st *Stream, why *Ending)
}

// Block is what is known of a header block as a whole.
type Block struct {
	End      bool // the peer sends nothing more on the stream
	TooLarge bool // not all fields were given to Field
	Status   bool // there was one
	Open     int  // streams that are open behind the block; 0 where a caller reads (see ReadFor), which must not run what belongs to others
	Over     bool // both sides have ended the stream: the connection refers to it no more, if nothing of it has waited for windows
}

// Ending is why a stream has ended early.
type Ending struct {
	Code ErrCode
	// Refused says that the peer has certainly not begun to handle the stream.
	Refused bool
	// Reset says that the peer has reset the stream.
	Reset bool
	// Lost says that the connection has ended. Closed may be called by any goroutine then, and otherwise by the one that reads.
	Lost bool
	// Err is why the connection has ended, or what was wrong with the stream, or nil.
	Err error
}

// Guard watches what the reader runs; see session.Guard.
type Guard interface {
	Enter() uint64
	Leave(turn uint64) bool
	// Known is set while the guard watches: a timer is then due within milliseconds.
	Known() *atomic.Bool
}

// Config configures a connection. All fields but Timer, Stalled, Batch, GoAway, Hold and Wrote must be set.
type Config struct {
	Client       bool
	Tables       *hpack.Tables
	Vocabulary   hpack.Vocabulary
	MaxStreams   int // that the peer may open
	StreamWindow int // bytes that the peer may send ahead on a stream
	MaxHeader    int // bytes of the fields of a block, as the RFC counts them
	WriteBuffer  int // bytes that wait to be written before senders wait
	StreamBuffer int // bytes of messages of streams that wait for windows before those of more streams are not queued; of a server
	WriteTimeout time.Duration
	PingInterval time.Duration // silence before a ping while streams are open; 0: no pings
	PingIdle     time.Duration // the same while none is
	PingTimeout  time.Duration // silence after that ends the connection

	// Go runs a function on another goroutine.
	Go func(func())
	// Guard makes the guard of the connection's reader.
	Guard func(takeOver func()) Guard
	// Timer tells when the scheduler need not be told of system calls; nil: while the guard watches, as it seldom does for a client.
	Timer socket.Timer
	// Stalled is called when the reader was held up between Enter and Leave.
	Stalled func()
	// Batch is called on the goroutine that reads when all frames of a read were handled.
	Batch func()
	// GoAway is called, once, when a client can open no more streams: a GOAWAY has come, the numbers of streams are used up, or
	// writing has failed. It is called with the lock held.
	GoAway func()
	// Hold is told how many bytes more, or fewer, wait to be written, and reports whether there is memory for them; told of 0, it only reports. It is
	// called with the lock held.
	Hold func(n int) bool
	// Wrote is called when the peer has taken what was written, with the lock held.
	Wrote func()
}

// Conn is one connection. What stands above mu does not change, or belongs to the goroutine that reads; the rest is guarded by mu.
type Conn struct {
	cfg     Config
	nc      net.Conn
	handler Handler
	guard   Guard
	ends    ends.Ends
	done    chan struct{} // closed at the end
	settled chan struct{} // closed when the peer's settings have come
	in      incoming
	gate    *gate.Gate // nil: callers do not read
	poke    func()     // has the read that is under way, or the next one, fail; not under mu

	mu sync.Mutex
	writer
	openStreams
	flow
	keeping
	ending
	Enc hpack.Encoder // of the blocks that are sent

	Encoding turns.Turns // of messages of streams; see TakeTurnLocked. It is not guarded by mu
}

// incoming belongs to the goroutine that reads.
type incoming struct {
	rd     *reader
	lent   bool      // a caller reads
	alarm  due.Alarm // of that caller
	dec    *hpack.Decoder
	first  bool // SETTINGS must come first
	calm   calm.Calm
	block  assembly
	last   *Stream // of a client: that of the newest HEADERS, unless the server has ended it; this side may have
	recent table.Recent
	fields
}

// ending is how far the end of the connection has come.
type ending struct {
	opened  uint32 // the newest stream of the client
	unreset int64  // streams that were opened and that the peer has not reset
	limit   uint32 // streams above are ignored: a GOAWAY has said so
	told    bool   // a GOAWAY was sent
	gone    *GoneAway
	full    bool // no more streams can be opened
	err     error
	closing bool          // the last frames are being written
	drained chan struct{} // closed when the connection drains and no stream is open; nil: it does not
}

// New makes a connection. Its first frames are written at once or, by a server, with the first answer. Run reads.
func New(nc net.Conn, h Handler, cfg Config) *Conn {
	cfg.WriteTimeout = min(cfg.WriteTimeout, math.MaxInt64/4) // arm adds twice that to a time
	c := &Conn{cfg: cfg, nc: nc, handler: h, done: make(chan struct{}), settled: make(chan struct{}), ending: ending{limit: maxID}}
	c.in.first = true
	c.in.dec = hpack.NewDecoder(cfg.Tables, cfg.Vocabulary)
	c.guard = cfg.Guard(c.takeOver)
	if c.ends.Watched = cfg.Timer; cfg.Timer == nil {
		c.ends.Watched = socket.While(c.guard.Known())
	}
	c.ends.WritesTo(nc)
	c.room.L, c.resumes, c.buffers = &c.mu, ends.Resumable(nc), ends.Resumable(ends.Bottom(nc))
	c.gate = newGate(c)
	c.flow = flow{conn: defaultWin, initial: defaultWin, streams: 100, header: math.MaxInt64, apart: held.Held{Closed: cfg.WriteBuffer, Open: cfg.StreamBuffer}}
	if cfg.Hold != nil {
		c.apart.Scarce = func() bool { return !cfg.Hold(0) }
	}
	c.read.Store(session.Nanos())
	var b []byte
	if cfg.Client {
		b = append(b, Preface...)
	}
	at := len(b)
	b = appendFrame(b, 0, typeSettings, 0, 0)
	if cfg.Client {
		b = appendSetting(b, settingPush, 0)
	} else {
		b = appendSetting(b, settingMaxStreams, uint32(cfg.MaxStreams))
	}
	b = appendSetting(b, settingWindow, uint32(cfg.StreamWindow))
	b = appendSetting(b, settingMaxHeaders, uint32(cfg.MaxHeader))
	b[at+2] = byte(len(b) - at - headerSize)
	c.buf = appendWindow(b, 0, connWindow-defaultWin)
	c.in.rd = &reader{c: c, buf: make([]byte, smallRead)}
	if cfg.PingInterval > 0 {
		c.mu.Lock()
		c.keeper = time.AfterFunc(c.keepEvery(), c.keep)
		c.mu.Unlock()
	}
	return c
}

// connWindow is what the peer may send ahead on all streams together. It is given back when
// something comes: what streams hold unread is bounded by the user of the connection.
const connWindow = 16 << 20

// Conn is the connection underneath.
func (c *Conn) Conn() net.Conn { return c.nc }

// Guard is that of the goroutine that reads.
func (c *Conn) Guard() Guard { return c.guard }

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Settled is closed when the peer's first settings have come.
func (c *Conn) Settled() <-chan struct{} { return c.settled }

// Err is why the connection has ended or takes no more streams; nil while it does.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.takesLocked() {
		return nil
	}
	return c.refusedLocked()
}

// Lock takes the lock that the methods need whose names end in Locked.
func (c *Conn) Lock() { c.mu.Lock() }

// Unlock gives it back. What was appended is written by another goroutine that flushes later.
func (c *Conn) Unlock() { c.mu.Unlock() }

// Close ends the connection at once, for a reason.
func (c *Conn) Close(why error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	c.err, c.dead = why, true
	open := slices.Collect(c.open.All())
	c.wakeAllLocked()
	if c.keeper != nil {
		c.keeper.Stop()
	}
	gone, pings := c.gone, c.pings
	c.pings = nil
	c.mu.Unlock()
	close(c.done)
	for _, ch := range pings { // Ping looks at done behind that
		close(ch)
	}
	ends.Bottom(c.nc).Close() // without the last message of TLS, for which Close would wait while the peer does not read
	for _, st := range open {
		end := &Ending{Code: NoError, Lost: true, Err: why}
		if gone != nil && gone.Code != NoError {
			end.Err = gone
		}
		c.handler.Closed(st, end)
	}
}

// goodbye is how long the last frames of a connection may take.
const goodbye = 100 * time.Millisecond

// Leave ends the connection behind a GOAWAY that says why. No other goroutine reads.
func (c *Conn) Leave(code ErrCode, why error) {
	c.mu.Lock()
	if c.err != nil || c.closing {
		c.mu.Unlock()
		c.Close(why)
		return
	}
	c.closing, c.told = true, true
	c.buf = appendGoAway(c.buf, c.opened, code, why.Error())
	c.nc.SetDeadline(time.Now().Add(goodbye))
	late := time.AfterFunc(2*goodbye, func() { c.Close(why) })
	c.FlushAndUnlock(false)
	flushed(c) // another goroutine may be writing
	late.Stop()
	delivered.HangUp(c.nc)
	c.Close(why)
}
