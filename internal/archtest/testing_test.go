package archtest

func testSamples() map[string][]sample {
	return map[string][]sample{
		"leak check": {
			{name: "no TestMain, or one that does not check", files: `
-- codec/a_test.go --
package codec_test
-- compress/a_test.go --
package compress

import (
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { m.Run() }

func TestA(t *testing.T) { leak.Main(nil) }
`, want: []string{"codec/a_test.go:1", "compress/a_test.go:1"}},
			{name: "checked, no tests, system tests", files: `
-- codec/a_test.go --
package codec
-- codec/main_test.go --
package codec_test

import (
	"testing"

	goroutines "github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { goroutines.Main(m) }
-- internal/leak/leak_test.go --
package leak

import "testing"

func TestMain(m *testing.M) { Main(m) }
-- weft.go --
package weft
-- test/compat/a_test.go --
package compat
`},
		},
		"skipped tests": {
			{name: "every form", files: `
-- codec/a_test.go --
package codec

import "testing"

type suite struct{ tb testing.TB }

func TestA(t *testing.T) {
	t.Skip("no network")
	if testing.Short() {
		return
	}
	suite{t}.tb.SkipNow()
}

func (s *suite) run() { s.tb.SkipNow() }

func FuzzA(f *testing.F) {
	f.Fuzz(func(tt *testing.T, b []byte) { tt.Skipf("") })
}
`, want: []string{"codec/a_test.go:8", "codec/a_test.go:9", "codec/a_test.go:12", "codec/a_test.go:15", "codec/a_test.go:18"}},
			{name: "a Skip of something else, and an exception", files: `
-- codec/a_test.go --
package codec

import "testing"

func TestA(t *testing.T) {
	var r reader
	r.Skip(4)
}
-- transport/unix/a_test.go --
package unix

import "testing"

func TestB(t *testing.T) { t.Skip("") }
`, exceptions: []string{"transport/unix/a_test.go"}},
		},
	}
}
