package streams

// moment is how soon a message follows another closely, in nanoseconds, from the end of one Send to the beginning of the next.
// It is about the time that a worker needs to begin and to write: at a slower pace it would write one message at a time.
const moment = 10_000

// flow tells whether the messages of a stream follow each other closely. A stream that has such a run would make one
// system call for each of them. So only the first message of a run is written by the goroutine that sends it; the next ones
// are left to a worker. The lock of the State guards it.
type flow struct {
	sent   int64 // when the last Send ended; 0: there was none
	answer bool  // a receiver has waited since, or taken the last message that had come: the next one may be the answer to it
}

// next reports whether a message whose Send began at a time follows another one closely.
func (f *flow) next(at int64) bool {
	follows := f.sent != 0 && at-f.sent < moment && !f.answer
	f.sent, f.answer = at, false
	return follows
}
