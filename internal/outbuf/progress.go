package outbuf

// progress tells a write that takes long from one that is stuck. The lock of the Writer guards it.
type progress struct {
	writes uint64 // finished writes
	seen   uint64 // finished writes at the last look
	stuck  int64  // the first look that has seen no progress since the one before it; 0: there was progress
}

// LookLocked is called from time to time. It returns since when a write is under way without any progress, as far as
// earlier looks tell; 0 if none is. It frees large buffers that were not used since the last look.
func (w *Writer) LookLocked(at int64) (stuck int64) {
	p := &w.progress
	if p.writes == p.seen && w.mode == idle {
		w.trimLocked()
		if w.crowd.noted > 0 {
			w.crowd.countLocked(w.memoryLocked())
		}
	}
	if w.mode != writing || p.writes != p.seen {
		p.seen, p.stuck = p.writes, 0
	} else if p.stuck == 0 {
		p.stuck = at
	}
	return p.stuck
}
