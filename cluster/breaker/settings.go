package breaker

import (
	"time"

	"github.com/weftrpc/weft"
)

// The defaults of a Config.
const (
	DefaultWindow      = 10 * time.Second
	DefaultCalls       = 20
	DefaultRatio       = 0.5
	DefaultConsecutive = 10
	DefaultOpen        = 5 * time.Second
	DefaultMaxOpen     = 60 * time.Second
)

// Config says when breakers open and for how long. A zero field means its default.
type Config struct {
	// Window is how long a call counts, and how long a probe may take. It should be
	// longer than the method mostly takes. 0: 10 s; otherwise at least 100 ms.
	Window time.Duration
	// Calls is how many calls of the window it takes to open at Ratio. 0: 20.
	Calls int
	// Ratio is which part of the window's calls has to fail to open. 0: 0.5; at most 1.
	Ratio float64
	// Consecutive is how many calls in a row have to fail to open, whatever the
	// ratio. 0: 10.
	Consecutive int
	// Open is how long a breaker is open at first, give or take a fifth. It doubles
	// with each probe that fails, and when a breaker opens again within MaxOpen of
	// closing. 0: 5 s.
	Open time.Duration
	// MaxOpen is the longest it grows to, before the fifth. 0: 60 s.
	MaxOpen time.Duration
}

// Settings are a checked Config. They never change; all breakers of a client share
// one.
type Settings struct {
	width       time.Duration // of a bucket
	window      time.Duration
	calls       int
	ratio       float64
	consecutive uint32
	open, most  time.Duration
}

// NewSettings checks a Config and fills in its defaults.
func NewSettings(cfg Config) (*Settings, error) {
	wrong := func(format string, args ...any) (*Settings, error) {
		return nil, weft.Errorf(weft.InvalidArgument, "breaker: Config."+format, args...)
	}
	orDefault(&cfg.Window, DefaultWindow)
	orDefault(&cfg.Calls, DefaultCalls)
	orDefault(&cfg.Ratio, DefaultRatio)
	orDefault(&cfg.Consecutive, DefaultConsecutive)
	orDefault(&cfg.Open, DefaultOpen)
	orDefault(&cfg.MaxOpen, max(DefaultMaxOpen, cfg.Open))
	switch {
	case cfg.Window < 100*time.Millisecond:
		return wrong("Window is %v, want 100ms or more, or 0 for %v", cfg.Window, DefaultWindow)
	case cfg.Calls < 0:
		return wrong("Calls is %d, want 1 or more, or 0 for %d", cfg.Calls, DefaultCalls)
	case !(cfg.Ratio > 0 && cfg.Ratio <= 1):
		return wrong("Ratio is %v, want more than 0 and at most 1, or 0 for %v", cfg.Ratio, DefaultRatio)
	case cfg.Consecutive < 0 || cfg.Consecutive > 1<<30:
		return wrong("Consecutive is %d, want 1 to %d, or 0 for %d", cfg.Consecutive, 1<<30, DefaultConsecutive)
	case cfg.Open < 0:
		return wrong("Open is %v, want more than 0, or 0 for %v", cfg.Open, DefaultOpen)
	case cfg.MaxOpen < cfg.Open:
		return wrong("MaxOpen is %v, which is shorter than Open, %v", cfg.MaxOpen, cfg.Open)
	}
	return &Settings{
		width: cfg.Window / buckets, window: cfg.Window,
		calls: cfg.Calls, ratio: cfg.Ratio, consecutive: uint32(cfg.Consecutive),
		open: cfg.Open, most: cfg.MaxOpen,
	}, nil
}

func orDefault[T comparable](field *T, normal T) {
	var zero T
	if *field == zero {
		*field = normal
	}
}
