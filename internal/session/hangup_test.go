package session

import (
	"testing"
	"testing/synctest"
	"time"

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
