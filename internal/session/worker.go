package session

import (
	"net"
	"slices"
	"sync/atomic"

	"github.com/weftrpc/weft/internal/cputime"
	"github.com/weftrpc/weft/internal/socket"
	"github.com/weftrpc/weft/internal/stall"
	"github.com/weftrpc/weft/internal/workers"
	"github.com/weftrpc/weft/internal/yield"
)

// Executor runs what must not run on a reader. It is shared by the sessions of one server or client.
type Executor struct {
	// Scarce tells whether jobs wait until the processors have nothing else to do. nil: never. It is set before the first call.
	Scarce    func() bool
	Beyond    func() bool // whether more calls are in flight than may be that are not urgent; set with Scarce
	Displaced *Refusal    // of a call whose place in the line an urgent one takes then; set with Scarce

	workers workers.Pool[work, Request] // each has the request that it runs
	line    yield.Line[work]            // of jobs
	watch   stall.Monitor
	pauses  yield.Pauses
	pulse   socket.Pulse
	numbers atomic.Uint32 // of sessions
}

// work is a job, a series, or a function.
type work struct {
	job    *job
	series *series
	f      func()
	stream *Request // the streaming call that f runs, if it does
}

// NewExecutor returns an executor without workers; they are started with the work.
func NewExecutor() *Executor {
	e := &Executor{pauses: yield.Pauses{Used: cputime.Used}}
	e.workers.Init(work.do)
	e.line.Init(e.workers.Run)
	return e
}

// givesWay reports whether an urgent call may take the place of the work: of one call that the gate may refuse.
func (w work) givesWay() bool {
	return len(w.job.items) == 1 && w.job.items[0].ctx.gated && !w.job.items[0].ctx.Urgent
}

// do does the work. r is the worker's own.
func (w work) do(r *Request) {
	switch {
	case w.job != nil:
		w.job.serve(r)
	case w.series != nil:
		w.series.serve(r)
	default:
		w.f()
	}
}

// live reports whether a worker is needed. The reader answers what is over: a stream, all calls of a job, the first ones of a series.
func (w work) live(rd *reader) bool {
	switch {
	case w.job != nil:
		return w.job.live(rd)
	case w.series != nil:
		return w.series.live(rd)
	case w.stream.Ctx.Err() == nil:
		return true
	}
	w.stream.reader = rd
	w.f()
	rd.dirty = true
	return false
}

// Pulsed is a connection that is read and written frequently by what the executor serves: one goroutine at a time reads, and one writes.
func (e *Executor) Pulsed(conn net.Conn) net.Conn { return socket.WithPulse(conn, &e.pulse) }

// Close lets idle workers end. Work that is running goes on, and new work still runs.
func (e *Executor) Close() {
	e.workers.Close()
	e.line.Close()
	e.watch.Close()
	e.pauses.Close()
}

// Go runs f on a worker.
func (e *Executor) Go(f func()) { e.run(work{f: f}) }

func (e *Executor) run(w work) {
	if w.job == nil || e.Scarce == nil || !e.Scarce() {
		e.workers.Run(w)
	} else if !e.Beyond() || !slices.ContainsFunc(w.job.items, func(it item) bool { return it.ctx.Urgent }) {
		e.line.Put(w)
	} else if out, ok := e.line.Replace(w, work.givesWay); ok {
		out.job.displaced = true
		out.job.items[0].ctx.drop() // it counts no longer
		e.workers.Run(out)
	}
}
