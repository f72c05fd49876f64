package session

import (
	"context"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/internal/delivered"
	"github.com/weftrpc/weft/internal/outbuf"
	"github.com/weftrpc/weft/internal/wire"
)

// A stream that ends while its session refuses the peer interrupts reading. It does not take away the time that the peer
// has to read why, nor does it prolong that.
func TestHangUpIsNotCutShort(t *testing.T) {
	for _, closes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			p := newStranger(t, nil, echo())
			p.greet(nil)
			p.send(wire.Header{Type: wire.TypeHello}, nil) // which ends the session
			synctest.Wait()
			for range 3 {
				time.Sleep(outbuf.Goodbye / 4)
				(*streamOwner)(newStream(p.s, true, t.Context(), 0)).Lapsed()
				synctest.Wait()
				if st := p.s.Err(); st != nil {
					t.Fatalf("the session has ended before the peer has closed: %+v", st)
				}
			}
			if h, _, err := p.read(); err != nil || h.Type != wire.TypeGoAway {
				t.Fatalf("got %+v, %v, want a goaway", h, err)
			}
			if closes {
				p.conn.Close()
			} else {
				time.Sleep(outbuf.Goodbye/4 + 1)
			}
			synctest.Wait()
			if p.s.Err() == nil {
				t.Errorf("the session has not ended, closes %v", closes)
			}
		})
	}
}

// A caller that reads its own reply is not held up beyond its context while the server, which broke the protocol, is told so.
func TestRefusalHoldsNoCallerUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := openTo(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan *wire.Status, 1)
		go func() { done <- do(ctx, o.s, newCall("Echo.Say", nil, nil)) }()
		o.greeting()
		o.expect(wire.TypeRequest)
		o.hello(nil)
		o.send(wire.Header{Type: wire.TypeHello}, nil) // which ends the session
		synctest.Wait()
		from := time.Now()
		cancel()
		if st := <-done; st == nil || st.Code != wire.Canceled || time.Since(from) != 0 {
			t.Errorf("the call has ended %v after its context with %+v", time.Since(from), st)
		}
		if st := o.s.Err(); st != nil {
			t.Errorf("the session has ended at once: %+v", st)
		}
		if h, _, err := o.read(); err != nil || h.Type != wire.TypeGoAway {
			t.Errorf("got %+v, %v, want a goaway", h, err)
		}
		time.Sleep(outbuf.Goodbye + 1)
		synctest.Wait()
		if st := o.s.Err(); st == nil || st.Reason != wire.ReasonProtocol {
			t.Errorf("the session has ended with %+v", st)
		}
	})
}

// endless is a connection on which there is always something to read, until its deadline.
type endless struct {
	net.Conn
	end  time.Time
	read int
}

func (*endless) CloseWrite() error { return nil }

func (e *endless) Read(p []byte) (int, error) {
	if !time.Now().Before(e.end) {
		return 0, os.ErrDeadlineExceeded
	}
	if e.read += len(p); e.read > 1<<30 { // time stands still in the bubble while nothing waits
		return 0, io.EOF
	}
	return len(p), nil
}

// A peer that goes on sending after it was refused does not keep a processor busy until its time is over.
func TestHangUpPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endless{end: time.Now().Add(outbuf.Goodbye)}
		if late := delivered.HangUp(e); !late {
			t.Errorf("%d bytes were read without a pause", e.read)
		}
		if e.read > 8<<20 {
			t.Errorf("%d bytes were read in %v, want 8 MiB at most", e.read, outbuf.Goodbye)
		}
	})
}
