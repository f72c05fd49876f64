package etcd

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weftrpc/weft/registry"
)

// TestApply has what a member can answer.
func TestApply(t *testing.T) {
	header := func(revision int64) *pb.ResponseHeader { return &pb.ResponseHeader{Revision: revision} }
	put := func(value string, revision int64) *mvccpb.Event {
		return &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte("k"), Value: []byte(value), ModRevision: revision}}
	}
	for _, test := range []struct {
		name     string
		response *pb.WatchResponse
		err      string // what the error has in it; "": there is none
		shown    string // the value that is shown last; "": nothing is shown
		revision int64
	}{
		{"created", &pb.WatchResponse{Created: true, Header: header(10)}, "", "", 10},
		{"created by a member that is behind", &pb.WatchResponse{Created: true, Header: header(3)}, "", "", 10},
		{"confirmed", &pb.WatchResponse{Header: header(10)}, "", "old", 10},
		{"confirmed at a revision without changes here", &pb.WatchResponse{Header: header(12)}, "", "old", 10},
		// One such answer may be late; these are given twice.
		{"confirmed by a member that is still behind", &pb.WatchResponse{Header: header(9)}, "behind", "", 10},
		{"changes", &pb.WatchResponse{Header: header(12), Events: []*mvccpb.Event{put("a", 11), put("b", 12)}}, "", "b", 12},
		{"a deletion", &pb.WatchResponse{Header: header(11), Events: []*mvccpb.Event{
			{Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: []byte("k"), ModRevision: 11}},
		}}, "", "none", 11},
		{"compacted", &pb.WatchResponse{Header: header(20), Canceled: true, CompactRevision: 15}, rpctypes.ErrCompacted.Error(), "", 10},
		{"refused", &pb.WatchResponse{Header: header(20), Created: true, Canceled: true, CancelReason: "permission denied"}, "permission denied", "", 10},
		{"nothing at all", &pb.WatchResponse{}, "behind", "", 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			shown := ""
			v := &document{now: registry.Document{Value: []byte("old"), Version: 7}}
			v.show = func(d registry.Document) {
				if shown = string(d.Value); d.Version == 0 {
					shown = "none"
				}
			}
			w := &watch{view: v, revision: 10}
			err := w.apply(test.response)
			if test.err == "behind" {
				if err != nil || shown != "" {
					t.Errorf("after a single answer that is late: %v, and %q is shown", err, shown)
				}
				err = w.apply(test.response)
			}
			if err == nil && test.err != "" || err != nil && (test.err == "" || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("the error is %v, want one with %q", err, test.err)
			}
			if shown != test.shown || w.revision != test.revision {
				t.Errorf("%q is shown at revision %d, want %q at %d", shown, w.revision, test.shown, test.revision)
			}
		})
	}
}

// TestCompacted begins a watch at a revision that is gone.
func TestCompacted(t *testing.T) {
	t.Parallel()
	d := startServer(t).driver(t)
	ctx := testContext(t, time.Minute)
	key, last := d.keys.document("rules"), int64(0)
	for _, value := range []string{"a", "b", "c"} {
		done, err := d.client.Put(ctx, key, value)
		if err != nil {
			t.Fatal(err)
		}
		last = done.Header.Revision
	}
	if _, err := d.client.Compact(ctx, last); err != nil {
		t.Fatal(err)
	}
	w := &watch{key: key, view: &document{show: func(registry.Document) {}}, revision: last - 2}
	if err := w.run(ctx, d.watches); !errors.Is(err, rpctypes.ErrCompacted) {
		t.Errorf("a watch of what was compacted away ends with %v, want %v", err, rpctypes.ErrCompacted)
	}
}

// TestCompactedUnderWatch has a client that does not look while a lot happens, which
// is then compacted away.
func TestCompactedUnderWatch(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	writer := s.driver(t)
	ctx := testContext(t, 3*time.Minute)
	gate := make(chan struct{})
	var mu sync.Mutex
	var revisions []uint64
	found := make(chan struct{})
	var once sync.Once
	ended := begun(t, ctx, s.driver(t), func(l registry.List) {
		mu.Lock()
		revisions = append(revisions, l.Revision)
		n := len(revisions)
		mu.Unlock()
		switch {
		case n == 2:
			<-gate
		case len(l.Instances) == 1 && l.Instances[0].Weight == 4242:
			once.Do(func() { close(found) })
		}
	})
	instance := arith("one")
	instance.Tags = map[string]string{}
	for _, tag := range strings.Fields("a b c d e f g h i j k l m n o p q r s t u v w x y z") {
		instance.Tags[tag] = strings.Repeat(tag, 250)
	}
	const changes = 800
	change := func(weight int) *clientv3.PutResponse {
		i := instance.Clone()
		i.Weight = weight
		value, err := registry.Encode(i)
		if err != nil {
			t.Fatal(err)
		}
		put, err := writer.client.Put(ctx, writer.keys.instance("Arith", "one"), string(value))
		if err != nil {
			t.Fatal(err)
		}
		return put
	}
	for n := range changes {
		change(n + 1)
	}
	if _, err := writer.client.Compact(ctx, change(4242).Header.Revision); err != nil {
		t.Fatal(err)
	}
	close(gate)
	select {
	case <-found:
	case err := <-ended:
		t.Fatalf("the watch has ended: %v", err)
	case <-ctx.Done():
		t.Fatal("the last change is never seen")
	}
	mu.Lock()
	defer mu.Unlock()
	for i := 1; i < len(revisions); i++ {
		if revisions[i] < revisions[i-1] {
			t.Errorf("revision %d comes after %d", revisions[i], revisions[i-1])
		}
	}
	if len(revisions) >= changes {
		t.Errorf("the client saw %d lists of %d changes: nothing was compacted away under it", len(revisions), changes)
	}
}
