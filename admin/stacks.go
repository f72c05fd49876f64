package admin

import (
	"context"
	"runtime"
	"runtime/pprof"

	"github.com/weftrpc/weft"
)

// StacksRequest is the request of weft.Admin.Stacks.
type StacksRequest struct {
	Each bool `json:"each,omitempty" weft:"1" doc:"one by one, with what each waits for and for how long; otherwise equal ones together with their number"`
}

// Stacks are the stacks of the goroutines of the process.
type Stacks struct {
	Goroutines int    `json:"goroutines" weft:"1"`
	Text       string `json:"text" weft:"2" doc:"in the form of a Go traceback, or of runtime/pprof where equal ones are together"`
	Cut        bool   `json:"cut,omitempty" weft:"3" doc:"the text is longer than 1 MiB and was cut"`
}

// mostStacks is how many bytes of stacks are sent.
const mostStacks = 1 << 20

// stacks answers Stacks. The process stands still for a moment while they are collected, so
// that there is one such call at a time.
func (s *service) stacks(_ context.Context, req *StacksRequest) (*Stacks, error) {
	if !s.collecting.TryLock() {
		return nil, weft.Errorf(weft.ResourceExhausted, "the stacks are being collected for another caller: try again")
	}
	defer s.collecting.Unlock()
	out := &Stacks{Goroutines: runtime.NumGoroutine()}
	var text []byte
	if req.Each {
		text = make([]byte, mostStacks)
		text = text[:runtime.Stack(text, true)]
		out.Cut = len(text) == mostStacks
	} else {
		var w bounded
		if err := pprof.Lookup("goroutine").WriteTo(&w, 1); err != nil {
			return nil, weft.Errorf(weft.Internal, "the stacks cannot be written: %w", err)
		}
		text, out.Cut = w.text, w.cut
	}
	out.Text = string(text)
	return out, nil
}

// bounded keeps the first mostStacks bytes of what is written.
type bounded struct {
	text []byte
	cut  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	keep := min(len(p), mostStacks-len(b.text))
	b.text = append(b.text, p[:keep]...)
	b.cut = b.cut || keep < len(p)
	return len(p), nil
}
