package polltest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/polltest"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestUntilTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		began := time.Now()
		polltest.Until(t, time.Minute, "the third try succeeds", func() error {
			if tries++; tries < 3 {
				return errors.New("not yet")
			}
			return nil
		})
		if tries != 3 || time.Since(began) != 2*polltest.Pause {
			t.Errorf("it took %d tries and %v", tries, time.Since(began))
		}
	})
}

// failing is a test that records its failure in place of failing.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	panic(f)
}

func TestUntilGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := new(failing)
		began := time.Now()
		func() {
			defer func() { _ = recover() }()
			polltest.Until(f, time.Minute, "it is green", func() error { return errors.New("it is red") })
		}()
		if took := time.Since(began); took < time.Minute || took > time.Minute+polltest.Pause {
			t.Errorf("it took %v", took)
		}
		if want := "not so after 1m0s: it is green: it is red"; !strings.Contains(f.message, want) {
			t.Errorf("the message is %q, want %q", f.message, want)
		}
	})
}

func TestTrue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		polltest.True(t, time.Minute, "the second try succeeds", func() bool { tries++; return tries == 2 })
		if tries != 2 {
			t.Errorf("it took %d tries", tries)
		}
	})
}
