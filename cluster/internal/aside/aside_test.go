package aside_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/weftrpc/weft/cluster/internal/aside"
)

var errOwn = errors.New("no")

func failing() { panic(errOwn) }

// What ends a goroutine that calls f, once f's own goroutine has ended, is what ended that.
func TestEnd(t *testing.T) {
	for name, c := range map[string]struct {
		f        func()
		returned bool
		value    error
	}{
		"returns": {f: func() {}, returned: true},
		"panics":  {f: failing, value: errOwn},
		"exits":   {f: runtime.Goexit},
	} {
		var end aside.End
		over := make(chan struct{})
		go func() { // it ends with f
			defer close(over)
			end.Run(c.f)
		}()
		<-over
		if end.Crashed() == c.returned {
			t.Errorf("%s: crashed is %v", name, end.Crashed())
		}
		p, returned := resumed(&end)
		err, _ := p.(error)
		if returned != c.returned || !errors.Is(err, c.value) {
			t.Errorf("%s: resuming it returned %v, panicked with %v", name, returned, p)
		}
		if c.value != nil && !strings.Contains(err.Error(), "aside_test.failing") {
			t.Errorf("the panic does not say where it began: %v", err)
		}
	}
}

// resumed tells how a goroutine ends that resumes an end.
func resumed(end *aside.End) (p any, returned bool) {
	over := make(chan struct{})
	go func() { // it ends with the call
		defer close(over)
		defer func() { p = recover() }()
		end.Resume()
		returned = true
	}()
	<-over
	return p, returned
}
