package main

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/weftrpc/weft/internal/leak"
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

func TestLoad(t *testing.T) {
	l, err := newLoad()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l.start(ctx, 0) // faults alone
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
