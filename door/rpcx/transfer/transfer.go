// Package transfer has the streams and the files of rpcx, for which its clients make a second connection.
//
// A client calls _streamservice.Stream, _filetransfer.TransferFile or _filetransfer.DownloadFile, on any wire. The reply has
// a token of 32 bytes and an address. The client connects to the address by TCP and sends the token. What follows has
// no frames: both directions of a stream, the content of a file from the client (TransferFile) or to it (DownloadFile),
// until the connection is closed.
//
// A Door takes such connections on the port that the server has. Each one is a call of its own, of the method _streamservice.StreamConn,
// _filetransfer.TransferFileConn or _filetransfer.DownloadFileConn, with the metadata of the call that gave the token: it is authenticated,
// limited, counted and drained as other calls are, and interceptors see it. A Client makes them, to servers
// of weft and of rpcx.
package transfer

import (
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftrpc/weft"
)

// Config says how second connections are taken. The zero value, and a nil pointer to one, are the defaults.
type Config struct {
	// Address is where clients make their second connections, as "host:port". It must lead to this server: no other one knows
	// its tokens. "": the address of the server that the client has called. Address is needed behind a proxy that translates
	// addresses, for clients that call by another transport than TCP, and for clients of rpcx that call a server with TLS, whose
	// second connections have none.
	Address string
	// Wait is how long a client may take from the reply with the token to the second connection. 0: 30 s.
	Wait time.Duration
	// MaxWaiting is how many second connections may be awaited at a time, and a sixteenth of it, at least one, for the calls of one
	// connection; a client that asks for more gets ResourceExhausted. Where there is no room, those of connections that have
	// ended are awaited no more. 0: 1024.
	MaxWaiting int
	// Idle is how long the client of an upload may send nothing. 0: 1 minute.
	Idle time.Duration
}

const (
	defaultWait       = 30 * time.Second
	defaultMaxWaiting = 1024
	defaultIdle       = time.Minute
)

// Door takes second connections: it stands in ServerConfig.Doors beside rpcx.Door. Handlers are registered by HandleStream,
// HandleUpload and HandleDownload.
type Door struct {
	cfg     Config
	tickets tickets
	served  atomic.Bool // a server has the door in its configuration
	warn    sync.Once   // says that connections cannot be reset

	mu   sync.Mutex
	open map[*weft.Peer]*second
}

var _ weft.Door = (*Door)(nil)

// New returns a door.
func New(cfg *Config) *Door {
	d := &Door{open: make(map[*weft.Peer]*second)}
	if cfg != nil {
		d.cfg = *cfg
	}
	if d.cfg.Wait <= 0 {
		d.cfg.Wait = defaultWait
	}
	if d.cfg.MaxWaiting <= 0 {
		d.cfg.MaxWaiting = defaultMaxWaiting
	}
	if d.cfg.Idle <= 0 {
		d.cfg.Idle = defaultIdle
	}
	d.tickets.init(d.cfg.Wait, d.cfg.MaxWaiting)
	return d
}

// Name implements weft.Door.
func (*Door) Name() string { return weft.WireRPCX }

// Protocols implements weft.Door. A server asks for them when it is made.
func (d *Door) Protocols() []string {
	d.served.Store(true)
	return nil
}

// tokenSize is how many bytes a token has: rpcx's clients send as many as they got, its servers read 32.
const tokenSize = 32

// mark begins the tokens of a door: they are the first bytes of a connection, and no other wire begins so. Behind
// it stand 24 random bytes.
const mark = "\xd7rpcx2nd"

// token is what a second connection begins with.
type token [tokenSize]byte

func newToken() (t token) {
	copy(t[:], mark)
	rand.Read(t[len(mark):]) // it returns no error
	return t
}

// Match implements weft.Door.
func (*Door) Match(prefix []byte) (yes, more bool) {
	n := min(len(prefix), len(mark))
	if string(prefix[:n]) != mark[:n] {
		return false, false
	}
	return n == len(mark), n < len(mark)
}

// enter makes a second connection that of the call of a peer.
func (d *Door) enter(p *weft.Peer, s *second) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open[p] = s
}

func (d *Door) leave(p *weft.Peer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, p)
}

// of is the second connection of a peer; nil: the connection of the peer is none.
func (d *Door) of(p *weft.Peer) *second {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open[p]
}
