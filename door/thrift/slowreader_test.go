package thrift

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/thrift/internal/protocol"
)

// TestReasonOfHandler: the answer of a handler that fails with the reason of dropped replies waits for room like any other.
func TestReasonOfHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		s := &serverConn{door: newDoor(nil), out: newOutbox(here, 1, time.Hour, func(int) {}, nil)}
		answer := func(dropped bool) (answered chan struct{}) {
			answered = make(chan struct{})
			x := &call{s: s, route: &route{bare: "call"}, dialect: protocol.Dialect{Framing: protocol.Framed}, unordered: true, dropped: dropped}
			s.out.enter(x)
			go func() {
				defer close(answered)
				x.Fail(weft.Errorf(weft.ResourceExhausted, "a server behind this one").WithReason(weft.ReasonSlowReader), weft.Metadata{})
			}()
			synctest.Wait()
			return answered
		}
		first := answer(false) // it is being written
		<-answer(true)         // it fills the room
		own := answer(false)
		select {
		case <-own:
			t.Error("it was appended without room")
		default:
		}
		there.Close()
		<-first
		<-own
		here.Close()
	})
}
