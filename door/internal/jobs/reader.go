package jobs

import "github.com/weftrpc/weft"

// Reader runs calls for the goroutine that reads a connection: there, or in Jobs. It belongs to that goroutine.
type Reader struct {
	Jobs
	conn   Conn
	guard  weft.DoorGuard
	inline Call // runs on the goroutine
}

// Init readies a Reader. When a call holds the goroutine up, readOn is called, which has another goroutine read on.
func (r *Reader) Init(conn Conn, readOn func()) {
	r.conn = conn
	r.guard = conn.Guard(func() {
		r.inline.Stalled()
		r.inline = nil
		readOn()
	})
}

// Add adds a call to those of this read.
func (r *Reader) Add(x Call) { r.Jobs.Add(r.conn, x) }

// RunHere runs a call on the goroutine that reads. It returns false if another goroutine reads on.
func (r *Reader) RunHere(x Call) (stays bool) {
	r.inline = x
	turn := r.guard.Enter()
	defer func() {
		if !stays { // the handler was held up, or has ended this goroutine
			r.conn.FlushReplies()
		}
	}()
	x.Run()
	if !r.guard.Leave(turn) {
		return false
	}
	r.inline = nil
	return true
}
