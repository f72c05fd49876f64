package admin

import (
	"context"
	"time"

	"github.com/weftrpc/weft"
)

// WatchRequest is the request of weft.Admin.Watch.
type WatchRequest struct {
	Interval float64      `json:"interval_seconds,omitempty" weft:"1" doc:"between two messages; 0: 1; at least 0.1"`
	Stats    StatsRequest `json:"stats" weft:"2" doc:"what the messages are to have"`
	Count    int          `json:"count,omitempty" weft:"3" doc:"end after so many; 0: go on"`
}

// The bounds of a watch.
const (
	usualInterval = time.Second
	leastInterval = 100 * time.Millisecond
)

// watch answers Watch.
func (s *service) watch(ctx context.Context, req *WatchRequest, out *weft.Sender[Stats]) error {
	interval := seconds(req.Interval)
	switch {
	case req.Interval == 0:
		interval = usualInterval
	case interval < leastInterval:
		return weft.Errorf(weft.InvalidArgument, "the interval is %v seconds, want at least %v", req.Interval, leastInterval.Seconds())
	}
	if err := s.beginStream(); err != nil {
		return err
	}
	defer s.streams.Add(-1)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for sent := 1; ; sent++ {
		if err := out.Send(s.read(&req.Stats)); err != nil {
			return err
		}
		if sent == req.Count {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-s.srv.Draining(): // which waits for this stream
			return nil
		}
	}
}

// beginStream takes a place for a tap, a watch or a profile.
func (s *service) beginStream() error {
	if int(s.streams.Add(1)) > s.cfg.MaxStreams {
		s.streams.Add(-1)
		return weft.Errorf(weft.ResourceExhausted, "%d taps, watches and profiles are open already (Config.MaxStreams of package admin)", s.cfg.MaxStreams)
	}
	return nil
}
