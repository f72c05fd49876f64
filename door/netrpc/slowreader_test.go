package netrpc

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
)

// TestReasonOfHandler: the answer of a handler that fails with the reason of dropped replies waits for room like any other.
func TestReasonOfHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		s := &serverConn{door: Door().(*door), out: newWriter(here, weft.Limits{WriteBuffer: 1, WriteTimeout: time.Hour})}
		answer := func(dropped bool) (answered chan struct{}) {
			answered = make(chan struct{})
			x := &call{s: s, method: &method{name: "Test.Call"}, dropped: dropped}
			go func() {
				defer close(answered)
				x.respond(weft.Errorf(weft.ResourceExhausted, "a server behind this one").WithReason(weft.ReasonSlowReader))
			}()
			synctest.Wait()
			return answered
		}
		for range 3 { // the first one is being written; the others fill the room
			<-answer(true)
		}
		own := answer(false)
		select {
		case <-own:
			t.Error("it was appended without room")
		default:
		}
		there.Close()
		<-own
		s.out.Settle(nil)
		here.Close()
	})
}
