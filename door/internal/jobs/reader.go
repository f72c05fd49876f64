package jobs

import "github.com/weftrpc/weft"

// Reader runs calls for the goroutine that reads a connection: there, or in Jobs. It belongs to that goroutine.
type Reader struct {
	Jobs
	Guard weft.DoorGuard // for the goroutine's writes, between calls

	conn   Conn
	inline Call // runs on the goroutine; nil: none does
}

// Init readies a Reader. When a call or a write holds the goroutine up, readOn is called, which has another goroutine read on.
func (r *Reader) Init(conn Conn, readOn func()) {
	r.conn = conn
	r.Guard = conn.Guard(func() {
		if r.inline != nil {
			r.inline.Stalled()
			r.inline = nil
		}
		readOn()
	})
}

// Add adds a call to those of this read.
func (r *Reader) Add(x Call) { r.Jobs.Add(r.conn, x) }

// RunHere runs a call on the goroutine that reads. It returns false if another goroutine reads on.
func (r *Reader) RunHere(x Call) (stays bool) {
	r.inline = x
	turn := r.Guard.Enter()
	defer func() {
		if !stays { // the handler was held up, or has ended this goroutine
			r.conn.FlushReplies()
		}
	}()
	x.Run()
	if !r.Guard.Leave(turn) {
		return false
	}
	r.inline = nil
	return true
}
