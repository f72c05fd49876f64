package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// probeEvery is how often a watch asks for a sign of life; when the next time
	// comes and there was none, the watch is over.
	probeEvery = 3 * time.Second
	// answerWithin bounds the time for a list, and for a stream to begin.
	answerWithin = 5 * time.Second
	// maxKeys and maxAnswer bound what a watch takes: of a service with more instances
	// something else is wrong.
	maxKeys   = 100_000
	maxAnswer = 64 << 20 // bytes
)

// errSilent is what a watch ends with whose member answers nothing.
var errSilent = errors.New("the member does not answer")

// errMany is what a watch ends with that would not end otherwise.
var errMany = fmt.Errorf("there are more than %d keys: remove what is no instance", maxKeys)

// view is what a watch makes of the keys that it watches. Its methods are called by
// one goroutine.
type view interface {
	clear()
	put(kv *mvccpb.KeyValue)
	remove(key string)
	keys() int
	// emit tells what is there now, as of a revision.
	emit(revision uint64)
}

// follow watches a key, or with an end those from key up to it, until ctx ends or
// what is shown can no longer be vouched for.
func (d *driver) follow(ctx context.Context, key, end string, v view) error {
	for {
		revision, err := d.list(ctx, key, end, v)
		if err == nil {
			w := &watch{key: key, end: end, view: v, revision: revision}
			err = w.run(ctx, d.watches)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, rpctypes.ErrCompacted):
			return failed("watch", key, err)
		}
	}
}

// list shows what a majority of the cluster has now, and returns the revision.
func (d *driver) list(ctx context.Context, key, end string, v view) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, errSilent)
	defer cancel()
	got, err := d.client.Get(ctx, key, clientv3.WithRange(end), clientv3.WithLimit(maxKeys+1))
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if err != nil {
		return 0, err
	}
	v.clear()
	for _, kv := range got.Kvs {
		v.put(kv)
	}
	if v.keys() > maxKeys {
		return 0, errMany
	}
	v.emit(uint64(got.Header.Revision))
	return got.Header.Revision, nil
}

// watch is the changes of keys after a revision.
type watch struct {
	key, end string
	view     view
	revision int64 // of what the view shows
	behind   bool  // the last answer to a probe was older than that
}

// run shows changes until ctx ends or the member fails. When they were compacted
// away its error is ErrCompacted.
func (w *watch) run(ctx context.Context, client pb.WatchClient) error {
	ctx, cancel := context.WithCancelCause(clientv3.WithRequireLeader(ctx))
	defer cancel(nil)
	late := time.AfterFunc(answerWithin, func() { cancel(errSilent) })
	stream, err := client.Watch(ctx)
	if err == nil {
		err = stream.Send(w.request())
	}
	if !late.Stop() {
		return errSilent
	}
	if err != nil && err != io.EOF { // on EOF, Recv says why
		return rpctypes.Error(err)
	}
	responses := make(chan *pb.WatchResponse)
	var broken error // why responses was closed
	// It ends with ctx, and then closes responses.
	go func() {
		defer close(responses)
		for {
			var response *pb.WatchResponse
			if response, broken = stream.Recv(); broken != nil {
				return
			}
			select {
			case responses <- response:
			case <-ctx.Done():
				broken = ctx.Err()
				return
			}
		}
	}()
	err = w.receive(stream, responses)
	cancel(nil)
	for range responses {
	}
	if err == nil {
		err = rpctypes.Error(broken)
	}
	return err
}

// receive shows what comes until the stream breaks, for which it returns nil, or
// something else is wrong.
func (w *watch) receive(stream pb.Watch_WatchClient, responses <-chan *pb.WatchResponse) error {
	probe := time.NewTicker(probeEvery)
	defer probe.Stop()
	answered := false
	for {
		select {
		case response, ok := <-responses:
			if !ok {
				return nil
			}
			answered = true
			if err := w.apply(response); err != nil {
				return err
			}
		case <-probe.C:
			if !answered {
				return errSilent
			}
			answered = false
			// When this fails, the stream is broken, and there are no responses any more.
			_ = stream.Send(&pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{ProgressRequest: &pb.WatchProgressRequest{}}})
		}
	}
}

// request asks for what comes from the revision on. What has come with it comes again, which changes nothing. With the next revision,
// members from 3.4.25 and 3.5.8 on would answer no probe until something is written.
func (w *watch) request() *pb.WatchRequest {
	return &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: &pb.WatchCreateRequest{
		Key: []byte(w.key), RangeEnd: []byte(w.end), StartRevision: w.revision,
	}}}
}

// apply shows a response. One without changes is an answer to a probe, and confirms
// what is shown. Its revision is not taken over: members before 3.4.25 and 3.5.8 tell
// one whose changes they have not sent yet.
func (w *watch) apply(response *pb.WatchResponse) error {
	switch {
	case response.CompactRevision != 0:
		return rpctypes.ErrCompacted
	case response.Canceled:
		return fmt.Errorf("the member ends the watch: %s", response.CancelReason)
	case response.Created:
		return nil // a member may be behind when it says so
	case response.Header.GetRevision() < w.revision && len(response.Events) == 0 && !w.behind:
		// It may have been written before a change that went out first: members before
		// 3.4.25 and 3.5.8 keep no order between the two. The next one cannot.
		w.behind = true
		return nil
	case response.Header.GetRevision() < w.revision:
		return fmt.Errorf("the member is at revision %d, and there was %d already: it is behind, or etcd has lost its data",
			response.Header.GetRevision(), w.revision)
	}
	w.behind = false
	for _, event := range response.Events {
		if event.Type == mvccpb.Event_DELETE {
			w.view.remove(string(event.Kv.Key))
		} else {
			w.view.put(event.Kv)
		}
		w.revision = max(w.revision, event.Kv.ModRevision)
	}
	if w.view.keys() > maxKeys {
		return errMany
	}
	w.view.emit(uint64(w.revision))
	return nil
}
