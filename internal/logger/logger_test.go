package logger_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/logger"
)

func TestOrDefault(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer slog.SetDefault(before)

	l := logger.OrDefault(nil).With("part", "one").WithGroup("g")
	l.Debug("low")
	l.Info("low")
	l.Warn("middle", "k", 1)
	l.Error("high")
	if got := out.String(); strings.Contains(got, "low") || !strings.Contains(got, "middle part=one g.k=1") || !strings.Contains(got, "high") {
		t.Errorf("logged:\n%s", got)
	}

	own := slog.New(slog.DiscardHandler)
	if logger.OrDefault(own) != own {
		t.Error("a logger of the configuration is not used")
	}
}

// broken is a handler that panics.
type broken struct{ slog.Handler }

func (broken) Enabled(context.Context, slog.Level) bool  { return true }
func (broken) Handle(context.Context, slog.Record) error { panic("on purpose") }
func (b broken) WithAttrs([]slog.Attr) slog.Handler      { return b }
func (b broken) WithGroup(string) slog.Handler           { return b }

// A handler that panics costs its record.
func TestHandlerThatPanics(t *testing.T) {
	l := logger.OrDefault(slog.New(broken{}))
	l.Error("lost")
	l.With("k", 1).WithGroup("g").Error("lost")
	if logger.OrDefault(l) != l {
		t.Error("the logger was wrapped twice")
	}
}
