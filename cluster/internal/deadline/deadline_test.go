package deadline

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// TestOf: the earlier of context and option counts, and the usual timeout only where there is neither.
func TestOf(t *testing.T) {
	second := []weft.CallOption{weft.WithTimeout(time.Second)}
	for name, test := range map[string]struct {
		ctx   time.Duration // 0: without a deadline
		opts  []weft.CallOption
		usual time.Duration
		want  time.Duration // 0: none
	}{
		"nothing":                      {},
		"the usual":                    {usual: time.Minute, want: time.Minute},
		"none as usual":                {usual: -1},
		"a context":                    {ctx: 3 * time.Second, usual: time.Second, want: 3 * time.Second},
		"an option":                    {opts: second, usual: time.Minute, want: time.Second},
		"an option before a context":   {ctx: 3 * time.Second, opts: second, want: time.Second},
		"a context before an option":   {ctx: time.Second / 2, opts: second, want: time.Second / 2},
		"an option of none":            {opts: []weft.CallOption{weft.WithTimeout(-1)}, usual: time.Minute},
		"an option of none, a context": {ctx: 3 * time.Second, opts: []weft.CallOption{weft.WithTimeout(-1)}, want: 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.ctx > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.ctx)
					defer cancel()
				}
				d := Of(ctx, test.opts, time.Now(), test.usual)
				if left, limited := d.Left(); limited != (test.want > 0) || left != test.want {
					t.Errorf("%v are left, %v, want %v", left, limited, test.want)
				}
				within, cancel := d.Within(ctx)
				defer cancel()
				if at, limited := within.Deadline(); limited != (test.want > 0) || limited && time.Until(at) != test.want {
					t.Errorf("the context ends in %v", time.Until(at))
				}
				s, err := weft.SettingsOf(d.Options(nil)...)
				if err != nil || s.HasTimeout != (test.want > 0) || s.HasTimeout && s.Timeout != test.want {
					t.Errorf("an attempt has %v, %v", s.Timeout, err)
				}
				time.Sleep(test.want)
				if s, err := weft.SettingsOf(d.Options(nil)...); err != nil || s.HasTimeout && s.Timeout != 1 {
					t.Errorf("an attempt that is too late has %v, %v", s.Timeout, err)
				}
			})
		})
	}
}
