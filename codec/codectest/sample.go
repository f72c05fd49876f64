package codectest

import "time"

// Message is a record such as services exchange, with fields of every common
// kind, for the values of [Config] and for benchmarks of codecs that take any
// Go type. Its texts and numbers have the sizes of the message that published
// RPC comparisons use, 581 bytes in Protocol Buffers.
type Message struct {
	Field1, Field4, Field7, Field9, Field18 string
	Field102, Field103, Field129            string

	Field2, Field3, Field6, Field16, Field23 int32
	Field25, Field29, Field60, Field67       int32
	Field22                                  int64
	Field100                                 uint32
	Field104                                 uint64

	Field12, Field13, Field24 bool
	Weight                    float64
	Blob                      []byte
	Tags                      []string
	Counts                    map[string]int64
	Parts                     []Part
	Next                      *Part
	At                        time.Time
}

// Part is a record within a [Message].
type Part struct {
	Name  string
	Score float32
	Ids   []uint16
}

// Sample returns a new [Message] with every field set.
func Sample() *Message {
	const text = "许多往事在眼前一幕一幕，变的那麼模糊"
	return &Message{
		Field1: text, Field4: text, Field7: text, Field9: text, Field18: text,
		Field102: text, Field103: text, Field129: text,
		Field2: 100000, Field3: 100000, Field6: -100000, Field16: 100000, Field23: 100000,
		Field25: 100000, Field29: -1, Field60: 100000, Field67: 1 << 30,
		Field22: -1 << 62, Field100: 1<<32 - 1, Field104: 1<<64 - 1,
		Field12: true, Field13: true,
		Weight: 0.1,
		Blob:   []byte{0, 1, 2, 254, 255},
		Tags:   []string{"a", "", "\"quoted\" <b>&"},
		Counts: map[string]int64{"one": 1, "": -1},
		Parts:  []Part{{Name: "first", Score: 1.5, Ids: []uint16{1, 65535}}, {}},
		Next:   &Part{Name: "next"},
		At:     time.Date(2026, 2, 3, 4, 5, 6, 789_000_000, time.UTC),
	}
}
