package weft

import (
	"github.com/weftrpc/weft/internal/backlog"
)

// DoorReplies bounds what the handlers of a connection hold for a peer that reads more slowly than they answer, as on weft's
// own wire: few replies are encoded at a time, the others wait as their handlers have returned them and count against
// ServerConfig.MaxMemory, and too many of them are dropped. While the connection is crowded few handlers begin.
type DoorReplies struct{ b backlog.Backlog }

// Replies are those of the connection. Admit must have succeeded.
func (c *DoorConn) Replies() *DoorReplies { return &c.replies }

// Crowd says that as much waits to be written as may: handlers do not run on the goroutine that reads until Clear is called.
func (r *DoorReplies) Crowd() { r.b.Crowd() }

// Crowded reports whether Crowd was called, and Clear was not called since.
func (r *DoorReplies) Crowded() bool { return r.b.Crowded() }

// Took says that the peer has taken bytes of a crowded connection.
func (r *DoorReplies) Took() { r.b.Took() }

// Clear says that little waits to be written any more.
func (r *DoorReplies) Clear() { r.b.Clear() }

// AwaitTurn waits until the reply of a call, of size bytes (0: not known), may be encoded apart from what waits to be written. On a wire
// that keeps the order of replies, next is closed when this one is the next to be written. If taken is true, DoorReplies.GiveTurn must
// follow as soon as the reply waits to be written. After an error the reply must not be kept, and the error is what the call ends with.
func (x *DoorCall) AwaitTurn(size int, next <-chan struct{}) (taken bool, err error) {
	switch v := x.conn.replies.b.TakeOrNext(int64(size), doorReply{x}, next); v {
	case backlog.Gone:
		return false, Errorf(max(CodeOf(x.a.ctx.Err()), Canceled), "the call ended while its reply waited for the peer to read the replies before it")
	case backlog.Dropped:
		return false, Errorf(ResourceExhausted, "the reply was dropped: the peer does not read the replies before it, and too many bytes of them wait; read faster, or have fewer calls open at a time").
			WithReason(ReasonSlowReader)
	default:
		return v == backlog.Turn, nil
	}
}

// GiveTurn gives a turn back that AwaitTurn has taken.
func (r *DoorReplies) GiveTurn() { r.b.Give() }

// Encoded tells how many bytes the reply of the call has that was encoded in its turn: while calls of its method run, each
// counts with about as many. From here on the door counts the reply, by Hold.
func (x *DoorCall) Encoded(n int) {
	x.a.ctx.Method.Replied(n)
	x.conn.account.Add(-x.expects)
	x.expects = 0
}

// doorReply is the reply of a call, for the backlog.
type doorReply struct{ x *DoorCall }

// Done implements backlog.Call.
func (r doorReply) Done() <-chan struct{} { return r.x.a.ctx.Done() }

// UsualReply implements backlog.Call.
func (r doorReply) UsualReply() int64 { return r.x.a.ctx.Method.UsualReply() }

// Counted implements backlog.Call.
func (r doorReply) Counted() int64 { return r.x.expects }

// doorShare is what a call takes of its connection while its handler runs.
type doorShare struct {
	first   bool  // it is one of the first calls of its method
	begun   bool  // it began on a crowded connection
	expects int64 // bytes of its reply that are counted
}

// expect takes what the handler of a unary call needs, which may have to wait for a peer that does not read. The error refuses the call.
func (x *DoorCall) expect() *Error {
	if x.info.Stream || x.info.Oneway {
		return nil
	}
	b, m := &x.conn.replies.b, x.a.ctx.Method
	x.begun = b.Crowded() && b.Begin()
	x.first = m.BeginFirst()
	n := m.Expects()
	if n == 0 {
		return nil
	}
	if !x.conn.account.Expect(n) {
		return &Error{Code: ResourceExhausted, Outcome: Refused, Reason: ReasonTooManyBytes,
			Message: "the server holds as many bytes for all its connections as it may (ServerConfig.MaxMemory); try again later"}
	}
	x.expects = n
	return nil
}

// unexpect gives back what expect has taken, when the call was answered. ran means that its handler has run.
func (x *DoorCall) unexpect(ran bool) {
	if x.begun {
		x.conn.replies.b.End()
	}
	if x.first {
		x.a.ctx.Method.EndFirst(ran)
	}
	if x.expects > 0 {
		x.conn.account.Add(-x.expects)
	}
	x.doorShare = doorShare{}
}
