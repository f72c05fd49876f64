package logger_test

import (
	"bytes"
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
