package doortest

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
)

// RunTurns checks that large requests wait for their turns to be decoded, and small ones do not: that the door decodes by
// DoorCall.DecodeBody or DoorCall.DecodeInTurn.
func RunTurns(t *testing.T, k Kit) {
	h := &holding{Codec: json.New(), let: make(chan struct{})}
	w := start(t, k, &weft.ServerConfig{Codecs: append(weft.DefaultCodecs(), h), Overload: weft.Overload{Off: true}, Timeout: -1})
	large := &Message{Text: strings.Repeat("x", 128<<10)}
	var wg sync.WaitGroup
	defer wg.Wait()
	var once sync.Once
	let := func() { once.Do(func() { close(h.let) }) }
	defer let()
	all := max(1, runtime.GOMAXPROCS(0)-1)
	for range all { // connections of weft's own wire, which take all turns of the server
		c, err := weft.Dial(t.Context(), "tcp://"+w.addr, &weft.ClientConfig{Codec: h, Timeout: -1})
		must(t, err)
		t.Cleanup(func() { c.Close() })
		wg.Go(func() {
			if err := c.Call(t.Context(), "Test.Echo", large, new(Message)); err != nil {
				t.Errorf("a call that holds a turn: %v", err)
			}
		})
	}
	eventually(t, "all turns are taken", func() bool { return int(h.decoding.Load()) == all })
	c, other := w.dial(), w.dial()
	done := async(&wg, c, "Test.Big", large)
	eventually(t, "the call has come", func() bool { return w.srv.Stats().InFlight == all+1 || w.big.Load() > 0 })
	for i := range 20 {
		echo(t, other, Message{"small", i})
	}
	if w.big.Load() != 0 {
		t.Error("a large request was decoded while as many as may be were")
	}
	let()
	if err := within(t, done, "the call"); err != nil {
		t.Errorf("the call that waited: %v", err)
	}
}

// holding is JSON whose large bodies are decoded when they are let go.
type holding struct {
	codec.Codec
	decoding atomic.Int32
	let      chan struct{}
}

// Name implements codec.Codec: it is not that of JSON, which a door may use.
func (*holding) Name() string { return "holding" }

// Decode implements codec.Codec. The clients decode with it too.
func (h *holding) Decode(body []byte, v any) error {
	if len(body) > 64<<10 {
		h.decoding.Add(1)
		<-h.let
	}
	return h.Codec.Decode(body, v)
}
