// Package holding has codecs for tests of what waits for a turn: one that keeps large messages being decoded, and one that counts the messages that
// it encodes.
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

// Counting is a codec that counts the messages that it encodes. It tells no sizes beforehand.
type Counting struct {
	codec.Codec
	encoded atomic.Int64
}

// NewCounting returns a Counting for the messages of a codec.
func NewCounting(c codec.Codec) *Counting { return &Counting{Codec: c} }

// Append encodes a message.
func (c *Counting) Append(dst []byte, v any) ([]byte, error) {
	c.encoded.Add(1)
	return c.Codec.Append(dst, v)
}

// Encoded is how many messages it has encoded.
func (c *Counting) Encoded() int64 { return c.encoded.Load() }
