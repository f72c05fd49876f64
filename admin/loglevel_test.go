package admin_test

import (
	"bytes"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/transport"
	"github.com/weftrpc/weft/transport/mem"
)

// locked is a buffer for several goroutines.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// inMemory starts a server with weft.Admin on a network in memory, where callers need no token.
func inMemory(t *testing.T, cfg *admin.Config) *admin.Client {
	t.Helper()
	network := mem.New()
	srv := weft.NewServer(&weft.ServerConfig{Transports: []transport.Transport{network}, Logger: quiet()})
	if err := admin.Register(srv, cfg); err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "mem://server")
	if err != nil {
		t.Fatal(err)
	}
	// It ends with the server.
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	c, err := weft.Dial(t.Context(), "mem://server", &weft.ClientConfig{Transports: []transport.Transport{network}, Logger: quiet(), Name: "ops"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return admin.NewClient(c, nil)
}

func TestLogLevel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var level, store slog.LevelVar
		var log locked
		a := inMemory(t, &admin.Config{LogLevel: &level, LogLevels: map[string]*slog.LevelVar{"store": &store}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx := t.Context()
		if now, err := a.LogLevel(ctx, nil); err != nil || now.Level != "INFO" {
			t.Errorf("%+v, %v", now, err)
		}
		now, err := a.SetLogLevel(ctx, &admin.SetLogLevelRequest{Level: "debug", For: 60})
		if err != nil || now.Level != "DEBUG" || now.Next != "INFO" || !now.Until.Equal(time.Now().Add(time.Minute)) || level.Level() != slog.LevelDebug {
			t.Errorf("%+v, %v", now, err)
		}
		// Another change during this time does not change what comes back.
		if now, err = a.SetLogLevel(ctx, &admin.SetLogLevelRequest{Level: "debug-2", For: 120}); err != nil || now.Level != "DEBUG-2" || now.Next != "INFO" {
			t.Errorf("%+v, %v", now, err)
		}
		time.Sleep(61 * time.Second)
		if level.Level() != slog.LevelDebug-2 {
			t.Errorf("%v", level.Level())
		}
		time.Sleep(60 * time.Second)
		if now, err = a.LogLevel(ctx, nil); err != nil || now.Level != "INFO" || now.Next != "" {
			t.Errorf("%+v, %v", now, err)
		}
		if now, err = a.SetLogLevel(ctx, &admin.SetLogLevelRequest{Name: "store", Level: "ERROR"}); err != nil || now.Level != "ERROR" || now.Next != "" || store.Level() != slog.LevelError || level.Level() != slog.LevelInfo {
			t.Errorf("%+v, %v", now, err)
		}
		for _, req := range []*admin.SetLogLevelRequest{{Level: "loud"}, {Level: "info", For: -1}, {Level: "info", For: 1e9}, {Level: "info", For: math.NaN()}} {
			_, err := a.SetLogLevel(ctx, req)
			isError(t, err, weft.InvalidArgument)
		}
		_, err = a.LogLevel(ctx, &admin.LogLevelRequest{Name: "none"})
		isError(t, err, weft.NotFound)
		if text := log.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "client=ops") || !strings.Contains(text, "before=INFO level=DEBUG") {
			t.Error(text)
		}
		_, err = inMemory(t, nil).LogLevel(ctx, nil)
		isError(t, err, weft.FailedPrecondition)
	})
}

func TestStacks(t *testing.T) {
	a := inMemory(t, nil)
	for _, each := range []bool{false, true} {
		s, err := a.Stacks(t.Context(), &admin.StacksRequest{Each: each})
		if err != nil || s.Goroutines < 2 || s.Cut || !strings.Contains(s.Text, "TestStacks") || strings.Contains(s.Text, "goroutine profile") == each {
			t.Errorf("each %v: %+v, %v", each, s, err)
		}
	}
}
