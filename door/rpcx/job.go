package rpcx

import "github.com/weftrpc/weft"

// job is some calls of short methods, which run one after the other on a worker and whose replies
// are written together. When one of them is held up the others get workers of their own.
type job struct {
	s     *serverConn
	calls []*call
	next  int // the first that has not begun
	guard weft.DoorGuard
}

// jobCalls is how many calls a job has at most.
const jobCalls = 16

// assign adds a call to the job of this batch.
func (s *serverConn) assign(x *call) {
	if s.job == nil {
		s.job = &job{s: s, calls: make([]*call, 0, jobCalls)}
	}
	s.job.calls = append(s.job.calls, x)
	if len(s.job.calls) == jobCalls {
		s.submit()
	}
}

// submit hands the job of this batch to a worker.
func (s *serverConn) submit() {
	if j := s.job; j != nil {
		s.job = nil
		s.Go(j.run)
	}
}

// run runs the calls.
func (j *job) run() {
	defer j.flush() // also when a handler ends its goroutine
	if len(j.calls) == 1 {
		j.calls[0].Run()
		return
	}
	j.guard = j.s.Guard(j.spread)
	for j.next < len(j.calls) {
		x := j.calls[j.next]
		j.next++
		turn := j.guard.Enter()
		x.Run()
		if !j.guard.Leave(turn) {
			return
		}
	}
}

func (j *job) flush() {
	j.s.out.Lock()
	j.s.out.FlushAndUnlock(j.s.open.Count() > 0)
}

// spread gives the calls that have not begun workers of their own. The guard calls it, while one
// is held up.
func (j *job) spread() {
	j.calls[j.next-1].method.Stalled()
	for _, x := range j.calls[j.next:] {
		x.batch = false
		j.s.Go(x.Run)
	}
	j.s.Go(j.flush) // the replies before it wait no longer either
}
