package admin

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/weftrpc/weft"
)

// LogLevelRequest is the request of weft.Admin.LogLevel.
type LogLevelRequest struct {
	Name string `json:"name,omitempty" weft:"1" doc:"a name of Config.LogLevels; empty: Config.LogLevel"`
}

// SetLogLevelRequest is the request of weft.Admin.SetLogLevel.
type SetLogLevelRequest struct {
	Name  string  `json:"name,omitempty" weft:"1" doc:"a name of Config.LogLevels; empty: Config.LogLevel"`
	Level string  `json:"level" weft:"2" doc:"debug, info, warn, error, or one of these with a number, such as debug-2"`
	For   float64 `json:"for_seconds,omitempty" weft:"3" doc:"after this time the level that was there before comes back; 0: it stays"`
}

// LogLevel is the level of a logger.
type LogLevel struct {
	Name  string    `json:"name,omitempty" weft:"1"`
	Level string    `json:"level" weft:"2" doc:"in effect now"`
	Until time.Time `json:"until,omitzero" weft:"3" doc:"when the level of Next comes back; missing: it stays"`
	Next  string    `json:"next,omitempty" weft:"4"`
}

// levels changes the levels of loggers.
type levels struct {
	mu    sync.Mutex
	until map[string]*levelChange // by name; those that end
}

// levelChange is a level that holds for some time.
type levelChange struct {
	back  slog.Level
	until time.Time
	timer *time.Timer
}

// longestLevel is the longest time after which a level comes back.
const longestLevel = 30 * 24 * time.Hour

// level is the level of a name.
func (c *Config) level(name string) (*slog.LevelVar, error) {
	v := c.LogLevels[name]
	if name == "" && v == nil {
		v = c.LogLevel
	}
	switch {
	case v != nil:
		return v, nil
	case name == "":
		return nil, weft.Errorf(weft.FailedPrecondition, "the log level of this server cannot be seen or set: Config.LogLevel of package admin is nil")
	}
	return nil, weft.Errorf(weft.NotFound, "Config.LogLevels of package admin has no level %q", name)
}

// logLevel answers LogLevel.
func (s *service) logLevel(_ context.Context, req *LogLevelRequest) (*LogLevel, error) {
	v, err := s.cfg.level(req.Name)
	if err != nil {
		return nil, err
	}
	s.levels.mu.Lock()
	defer s.levels.mu.Unlock()
	return s.levels.nowLocked(req.Name, v), nil
}

// nowLocked is the level of a name.
func (l *levels) nowLocked(name string, v *slog.LevelVar) *LogLevel {
	out := &LogLevel{Name: name, Level: v.Level().String()}
	if change := l.until[name]; change != nil {
		out.Until, out.Next = change.until, change.back.String()
	}
	return out
}

// setLogLevel answers SetLogLevel.
func (s *service) setLogLevel(ctx context.Context, req *SetLogLevelRequest) (*LogLevel, error) {
	v, err := s.cfg.level(req.Name)
	if err != nil {
		return nil, err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(req.Level)); err != nil {
		return nil, weft.Errorf(weft.InvalidArgument, "the level is %q, want debug, info, warn, error, or one of these with a number, such as debug-2", req.Level)
	}
	lasts := seconds(req.For)
	if !(req.For >= 0) || lasts > longestLevel {
		return nil, weft.Errorf(weft.InvalidArgument, "the level is to hold for %v seconds, want 0 (for good) to %v", req.For, longestLevel.Seconds())
	}
	s.levels.mu.Lock()
	before := v.Level()
	s.levels.setLocked(req.Name, v, level, lasts)
	now := s.levels.nowLocked(req.Name, v)
	s.levels.mu.Unlock()
	s.changed(ctx, "the log level was set", slog.String("name", req.Name), slog.String("before", before.String()), slog.String("level", level.String()),
		slog.Duration("for", lasts))
	return now, nil
}

// setLocked sets a level, for some time or for good.
func (l *levels) setLocked(name string, v *slog.LevelVar, level slog.Level, lasts time.Duration) {
	back := v.Level()
	if old := l.until[name]; old != nil {
		old.timer.Stop()
		delete(l.until, name)
		back = old.back
	}
	v.Set(level)
	if lasts == 0 {
		return
	}
	if l.until == nil {
		l.until = make(map[string]*levelChange)
	}
	change := &levelChange{back: back, until: time.Now().Add(lasts)}
	change.timer = time.AfterFunc(lasts, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.until[name] == change {
			delete(l.until, name)
			v.Set(change.back)
		}
	})
	l.until[name] = change
}

// seconds is a number of seconds as a duration, at most a year.
func seconds(n float64) time.Duration {
	const most = 365 * 24 * 3600
	if n != n { // not a number
		return 0
	}
	return time.Duration(min(max(n, 0), most) * float64(time.Second))
}
