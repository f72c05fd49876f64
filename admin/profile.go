package admin

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strings"
	"time"

	"github.com/weftrpc/weft"
)

// ProfileRequest is the request of weft.Admin.Profile.
type ProfileRequest struct {
	Name    string  `json:"name" weft:"1" doc:"cpu, trace, or a profile of runtime/pprof such as heap, allocs, goroutine, block or mutex"`
	Seconds float64 `json:"seconds,omitempty" weft:"2" doc:"of cpu and trace: how long, at most 60; 0: 10 of cpu and 1 of trace"`
}

// ProfilePart is a part of a profile. All parts together are what go tool pprof, or go tool trace,
// reads.
type ProfilePart struct {
	Data []byte `json:"data" weft:"1"`
}

// The bounds of a profile.
const (
	longestProfile = 60 * time.Second
	profilePart    = 32 << 10 // bytes
)

// profile answers Profile.
func (s *service) profile(ctx context.Context, req *ProfileRequest, out *weft.Sender[ProfilePart]) error {
	lasts := seconds(req.Seconds)
	if !(req.Seconds >= 0) || lasts > longestProfile {
		return weft.Errorf(weft.InvalidArgument, "the profile is to take %v seconds, want 0 (the default) to %v", req.Seconds, longestProfile.Seconds())
	}
	if err := s.beginStream(); err != nil {
		return err
	}
	defer s.streams.Add(-1)
	w := &parts{out: out}
	switch req.Name {
	case "cpu":
		err := during(ctx, s.srv.Draining(), cmp.Or(lasts, 10*time.Second), func() error { return pprof.StartCPUProfile(w) }, pprof.StopCPUProfile)
		return errors.Join(err, w.err)
	case "trace":
		err := during(ctx, s.srv.Draining(), cmp.Or(lasts, time.Second), func() error { return trace.Start(w) }, trace.Stop)
		return errors.Join(err, w.err)
	}
	p := pprof.Lookup(req.Name)
	if p == nil {
		names := []string{"cpu", "trace"}
		for _, p := range pprof.Profiles() {
			names = append(names, p.Name())
		}
		slices.Sort(names)
		return weft.Errorf(weft.NotFound, "there is no profile %q; there are %s", req.Name, strings.Join(names, ", "))
	}
	return errors.Join(p.WriteTo(w, 0), w.err)
}

// during takes a profile for some time. It ends early when the caller gives up or the server shuts
// down.
func during(ctx context.Context, draining <-chan struct{}, lasts time.Duration, start func() error, stop func()) error {
	if err := start(); err != nil {
		return weft.Errorf(weft.ResourceExhausted, "the profile cannot be taken now: %w", err)
	}
	timer := time.NewTimer(lasts)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-draining:
	}
	stop()
	return ctx.Err()
}

// parts sends what is written in parts.
type parts struct {
	out *weft.Sender[ProfilePart]
	err error // the first
}

func (p *parts) Write(b []byte) (int, error) {
	for part := range slices.Chunk(b, profilePart) {
		if p.err == nil {
			p.err = p.out.Send(&ProfilePart{part})
		}
	}
	if p.err != nil {
		return 0, p.err
	}
	return len(b), nil
}

// Profile writes a profile of the server's process to w. One of cpu or trace takes as long as req
// says.
func (a *Client) Profile(ctx context.Context, req *ProfileRequest, w io.Writer) error {
	stream, err := subscribe[ProfilePart](ctx, a, "Profile", req)
	if err != nil {
		return err
	}
	defer stream.Close()
	for part, err := range stream.All() {
		if err != nil {
			return err
		}
		if _, err := w.Write(part.Data); err != nil {
			return err
		}
	}
	return nil
}
