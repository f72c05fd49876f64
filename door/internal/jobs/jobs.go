// Package jobs runs the calls of short methods that a door has read together one after the other
// on one goroutine, and has their replies written together.
package jobs

import "github.com/weftrpc/weft"

// Call is a call of a short method.
type Call interface {
	// Run runs the call and answers it.
	Run()
	// Stalled says that the call is held up, while Run runs.
	Stalled()
	// Alone says that Run will be called on a goroutine of its own: its reply is written when it is
	// there, and not with those of other calls.
	Alone()
}

// Conn is the connection of the calls.
type Conn interface {
	Go(f func())
	Guard(takeOver func()) weft.DoorGuard
	// FlushReplies writes the replies that wait to be written. It may be called concurrently.
	FlushReplies()
}

// Most is how many calls run one after the other at most.
const Most = 16

// Jobs gathers the calls of one read. It belongs to the goroutine that reads.
type Jobs struct{ open *job }

// job is some calls and the goroutine that runs them. When one of them is held up the others get
// goroutines of their own.
type job struct {
	conn  Conn
	calls []Call
	next  int // the first that has not begun
	guard weft.DoorGuard
}

// Add adds a call to those of this read.
func (j *Jobs) Add(conn Conn, x Call) {
	if j.open == nil {
		j.open = &job{conn: conn, calls: make([]Call, 0, Most)}
	}
	j.open.calls = append(j.open.calls, x)
	if len(j.open.calls) == Most {
		j.Submit()
	}
}

// Submit hands the calls of this read to a goroutine.
func (j *Jobs) Submit() {
	if open := j.open; open != nil {
		j.open = nil
		open.conn.Go(open.run)
	}
}

func (j *job) run() {
	defer j.conn.FlushReplies() // also when a handler ends its goroutine
	if len(j.calls) == 1 {
		j.calls[0].Run()
		return
	}
	j.guard = j.conn.Guard(j.spread)
	for j.next < len(j.calls) {
		x := j.calls[j.next]
		j.next++
		turn := j.guard.Enter()
		x.Run()
		if !j.guard.Leave(turn) {
			return
		}
	}
}

// spread gives the calls that have not begun goroutines of their own. The guard calls it, while one
// is held up.
func (j *job) spread() {
	j.calls[j.next-1].Stalled()
	for _, x := range j.calls[j.next:] {
		x.Alone()
		j.conn.Go(x.Run)
	}
	j.conn.Go(j.conn.FlushReplies) // the replies before it wait no longer either
}
