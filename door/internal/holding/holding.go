// Package holding has a codec that keeps large messages being decoded, for tests of what waits for a turn meanwhile.
package holding

import (
	"sync"
	"sync/atomic"

	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/codec/json"
)

// large is the length from which messages wait: that from which requests take turns.
const large = 64 << 10

// Codec is JSON whose large messages are decoded when they are let go, by clients too.
type Codec struct {
	codec.Codec
	waiting atomic.Int32
	once    sync.Once
	let     chan struct{}
}

// New returns a Codec that lets nothing go yet.
func New() *Codec { return &Codec{Codec: json.New(), let: make(chan struct{})} }

// Name is another than that of JSON, which a door may use.
func (*Codec) Name() string { return "holding" }

// Decode decodes a small message at once, and a large one when it is let go.
func (c *Codec) Decode(body []byte, v any) error {
	if len(body) > large {
		c.waiting.Add(1)
		<-c.let
	}
	return c.Codec.Decode(body, v)
}

// Waiting is how many large messages have come.
func (c *Codec) Waiting() int { return int(c.waiting.Load()) }

// Let lets all messages go, those to come too.
func (c *Codec) Let() { c.once.Do(func() { close(c.let) }) }
