package outbuf

// leader tells of the current leader and the next. The lock of the Writer guards it.
type leader struct {
	mode  mode
	turn  uint32 // counts leaders: one that yielded sees from it that another took over
	clock int64  // when a caller opened its call that yields as the leader; 0: none does

	left  uint32 // the turn that is left to the worker that was asked
	asked bool   // a worker was asked to write and has not begun
	run   bool   // the leader is that worker: more is likely to be appended while it writes
	alone bool   // the leader is a goroutine of its own, not a caller

	behind  func()        // writeBehind; nil: no worker was asked yet
	handoff chan struct{} // closed to make takeOverLocked the leader
}

// mode is what the current leader does.
type mode uint8

const (
	idle     mode = iota // there is no leader
	yielding             // the leader lets others append first, or is a worker that has not begun
	writing              // the leader is in a write, or about to be
)

// WritingLocked reports whether there is a leader that writes, or is about to.
func (l *leader) WritingLocked() bool { return l.mode == writing }

// ClockLocked is the time that a caller gave to FlushCallAndUnlock which yields as the leader, for a few microseconds
// at most; 0 if none does.
func (l *leader) ClockLocked() int64 {
	if l.mode != yielding {
		return 0
	}
	return l.clock
}

// leadLocked makes its caller the leader that writes.
func (l *leader) leadLocked() {
	l.turn++
	l.mode, l.clock, l.run = writing, 0, false
}
