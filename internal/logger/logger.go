// Package logger chooses the logger of a configuration that names none.
package logger

import (
	"context"
	"fmt"
	"log/slog"
)

// OrDefault returns a logger with the handler of l, or, if l is nil, one that passes warnings
// and errors to slog.Default() as it is at this moment and drops everything below. A record
// whose handler panics is lost.
func OrDefault(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(contained{warnings{slog.Default().Handler()}})
	}
	if _, ok := l.Handler().(contained); ok || l.Handler() == slog.DiscardHandler {
		return l
	}
	return slog.New(contained{l.Handler()})
}

// contained is a handler whose panics end nothing but the record.
type contained struct{ slog.Handler }

func (c contained) Handle(ctx context.Context, r slog.Record) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the handler of the logger panicked: %v", v)
		}
	}()
	return c.Handler.Handle(ctx, r)
}

func (c contained) WithAttrs(attrs []slog.Attr) slog.Handler {
	return contained{c.Handler.WithAttrs(attrs)}
}

func (c contained) WithGroup(name string) slog.Handler { return contained{c.Handler.WithGroup(name)} }

// warnings is a handler without the records below slog.LevelWarn.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
