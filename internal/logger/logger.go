// Package logger chooses the logger of a configuration that names none.
package logger

import (
	"context"
	"log/slog"
)

// OrDefault returns l, or, if l is nil, a logger that passes warnings and errors to
// slog.Default() as it is at this moment and drops everything below.
func OrDefault(l *slog.Logger) *slog.Logger {
	if l != nil {
		return l
	}
	return slog.New(warnings{slog.Default().Handler()})
}

// warnings is a handler without the records below slog.LevelWarn.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
