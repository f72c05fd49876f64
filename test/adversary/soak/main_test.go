package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/polltest"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	leak.Main(m)
}

// growing is a sample of a process that holds n of everything.
func growing(n int) sample {
	return sample{live: uint64(n) << 20, resident: uint64(n) << 20, files: n, goroutines: n}
}

func TestGrowth(t *testing.T) {
	var flat, rising []sample
	for i := range 40 {
		flat, rising = append(flat, growing(100)), append(rising, growing(100+10*i))
	}
	if err := growth(flat); err != nil {
		t.Errorf("a process that holds the same all the time: %v", err)
	}
	if err := growth(rising); err == nil {
		t.Error("a process that grows was not noticed")
	}
	if err := growth(rising[:4]); err != nil {
		t.Errorf("of four samples nothing can be told: %v", err)
	}
}

// The figures replace those between the marks of a document.
func TestPublish(t *testing.T) {
	name := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(name, []byte("before <!-- soak:begin -->old<!-- soak:end --> after"), 0o600); err != nil {
		t.Fatal(err)
	}
	var samples []sample
	for i := range 60 {
		s := growing(10)
		s.at, s.calls = time.Duration(i+1)*time.Minute, int64(i+1)*1000
		samples = append(samples, s)
	}
	if err := publish(name, samples, 200); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before <!--", "--> after", "| | after 1 min | 15 min | 30 min | 45 min | 60 min |", "| calls | 1,000 | 15,000 |", "200 calls a second"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the document lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "old") {
		t.Error("the old figures are still there")
	}
	if err := os.WriteFile(name, []byte("no marks"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := publish(name, samples, 0); err == nil {
		t.Error("a document without marks was accepted")
	}
	if got := grouped(1234567); got != "1,234,567" {
		t.Errorf("1234567 is written %s", got)
	}
}

// A rate bounds how many calls there are.
func TestRate(t *testing.T) {
	l, err := newLoad()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l.start(ctx, 2, 0.001) // one call in a thousand seconds, after the first of each caller
	polltest.True(t, time.Minute, "each caller has made a call", func() bool { return l.calls.Load() >= 42 })
	cancel()
	if err := l.end(); err != nil {
		t.Error(err)
	}
	if n := l.calls.Load(); n > 42+1000 { // clients that come and go make three a second
		t.Errorf("%d calls were made at a rate of one in a thousand seconds", n)
	}
}

func TestLoad(t *testing.T) {
	l, err := newLoad()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l.start(ctx, 0, 0) // faults alone
	for range 20 {
		l.visit(t.Context())
	}
	for _, step := range []func() error{
		func() error { return echo(t.Context(), l.clients[0]) }, func() error { return multiply(t.Context(), l.clients[1]) },
		func() error { return cancelled(t.Context(), l.clients[2]) }, func() error { return nested(t.Context(), l.clients[0]) },
		func() error { return notify(t.Context(), l.clients[1]) }, func() error { return refused(t.Context(), l.clients[2]) },
		func() error { return stream(t.Context(), l.clients[0]) }, l.restart,
	} {
		if err := step(); err != nil {
			t.Error(err)
		}
	}
	cancel()
	s := take(time.Second, l)
	if s.calls < 20 || s.goroutines < 3 {
		t.Errorf("the sample is %v", s)
	}
	if err := l.end(); err != nil {
		t.Error(err)
	}
}
