package prometheus

import (
	"context"
	"errors"
	"io"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	client "github.com/prometheus/client_golang/prometheus"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/session"
	"github.com/weftrpc/weft/plugin/internal/ended"
	"github.com/weftrpc/weft/plugin/internal/figures"
)

// The families of the histograms.
const (
	servedFamily = "rpc_server_call_duration_seconds"
	calledFamily = "rpc_client_call_duration_seconds"
)

// maxSeries is how many time series have exemplars: the names of methods that a client calls may come from its own callers.
const maxSeries = 1 << 12

// Exemplars returns a plugin with which the histograms of the server, client or cluster.Client that was added under a name have
// exemplars: of each bucket the last call for which labels returns some. nil: those whose metadata has the trace context of the W3C,
// and says that the trace is sampled, with its ID as trace_id.
//
// A call pays for the question and, if there are labels, for keeping them. Its time is taken around what is inside of the plugin,
// and may be of the bucket below the one in which the histogram counts the call. With plugin/otel the plugin stands behind that of otel, and
// labels finds the span in ctx, also of a trace that begins here. Prometheus stores exemplars with
// --enable-feature=exemplar-storage; it gets them in the format OpenMetrics, which EnableOpenMetrics of promhttp.HandlerOpts permits.
func (c *Collector) Exemplars(name string, labels func(ctx context.Context) client.Labels) weft.Plugin {
	x := exemplars{c: c, name: name, served: labels, called: labels}
	if labels == nil {
		x.served = func(ctx context.Context) client.Labels { return sampledTrace(weft.MetadataFrom(ctx)) }
		x.called = func(ctx context.Context) client.Labels { return sampledTrace(weft.OutgoingMetadata(ctx)) }
	}
	return weft.Plugin{Name: "prometheus exemplars", Server: x.serve, ServerStream: x.serveStream, Client: x.call, ClientStream: x.open}
}

// exemplars is the plugin.
type exemplars struct {
	c              *Collector
	name           string
	served, called func(context.Context) client.Labels
}

// series is a histogram by its labels.
type series struct{ family, name, method, status string }

// buckets are the exemplars of a histogram, one for each bucket. nil: there is none yet.
type buckets []atomic.Pointer[client.Exemplar]

// kept are the exemplars of all histograms. The zero value is ready.
type kept struct {
	all sync.Map // series → buckets
	n   atomic.Int64
}

// of are the exemplars of a histogram; nil for one too many.
func (k *kept) of(s series, bounds int) buckets {
	if found, ok := k.all.Load(s); ok {
		return found.(buckets)
	}
	if k.n.Load() >= maxSeries {
		return nil
	}
	s.method = strings.Clone(s.method) // the caller's may be in memory that is used again
	found, known := k.all.LoadOrStore(s, make(buckets, bounds+1))
	if !known {
		k.n.Add(1)
	}
	return found.(buckets)
}

// list are the exemplars that there are of a histogram.
func (k *kept) list(s series) (all []client.Exemplar) {
	found, ok := k.all.Load(s)
	if !ok {
		return nil
	}
	b := found.(buckets)
	for i := range b {
		if e := b[i].Load(); e != nil {
			all = append(all, *e)
		}
	}
	return all
}

func (x *exemplars) serve(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	reply, err := next(ctx, info, req)
	x.note(servedFamily, x.served(ctx), info.Method, received(ctx), err)
	return reply, err
}

func (x *exemplars) serveStream(ctx context.Context, info *weft.CallInfo, stream weft.RawStream, next weft.StreamFunc) error {
	err := next(ctx, info, stream)
	told := err
	if errors.Is(err, io.EOF) {
		told = nil // the handler has passed on the end of its input
	}
	x.note(servedFamily, x.served(ctx), info.Method, received(ctx), told)
	return err
}

func (x *exemplars) call(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
	began := session.Nanos()
	reply, err := next(ctx, info, req)
	x.note(calledFamily, x.called(ctx), info.Method, began, err)
	return reply, err
}

func (x *exemplars) open(ctx context.Context, info *weft.CallInfo, next weft.OpenFunc) (weft.RawStream, error) {
	began, method := session.Nanos(), strings.Clone(info.Method) // the stream may outlast the caller's memory of it
	end := func(err error) { x.note(calledFamily, x.called(ctx), method, began, err) }
	stream, err := next(ctx, info)
	if err != nil {
		end(err)
		return nil, err
	}
	return ended.Watch(ctx, stream, end), nil
}

// received is when the request of a call was read, on the clock of session.Nanos.
func received(ctx context.Context) int64 {
	if c := session.FromContext(ctx); c != nil {
		return c.Received()
	}
	return session.Nanos()
}

// note keeps a call that has ended, if it has labels.
func (x *exemplars) note(family string, labels client.Labels, method string, began int64, err error) {
	if len(labels) == 0 {
		return
	}
	code := weft.Code(0)
	if err != nil {
		code = weft.CodeOf(err)
	}
	bounds := x.c.bounds
	all := x.c.exemplars.of(series{family, x.name, strings.ToValidUTF8(figures.MethodName(method), "\uFFFD"), figures.Status(code)}, len(bounds))
	if all == nil {
		return
	}
	took := time.Duration(session.Nanos() - began).Seconds()
	all[sort.SearchFloat64s(bounds, took)].Store(&client.Exemplar{Value: took, Labels: labels, Timestamp: time.Now()})
}

// sampledTrace is the ID of the trace in the metadata of a call, if it is sampled.
func sampledTrace(m weft.Metadata) client.Labels {
	parent := m.Get("traceparent")
	if len(parent) < 55 || parent[2] != '-' || parent[35] != '-' || parent[52] != '-' || !strings.ContainsRune("13579bdf", rune(parent[54])) {
		return nil
	}
	id := parent[3:35]
	if strings.Trim(id, "0123456789abcdef") != "" || strings.Trim(id, "0") == "" {
		return nil // a caller may send any text
	}
	return client.Labels{"trace_id": strings.Clone(id)}
}

// withExemplars adds those that are kept to a histogram.
func (c *Collector) withExemplars(m client.Metric, f figures.Family, s figures.Sample) client.Metric {
	at := series{family: f.Name}
	for _, l := range s.Labels {
		switch l.Name {
		case "weft_name":
			at.name = l.Value
		case "rpc_method":
			at.method = l.Value
		case "rpc_response_status_code":
			at.status = l.Value
		}
	}
	// A function of the program may make labels that no exemplar may have. One of them would cost those of all buckets.
	all := slices.DeleteFunc(c.exemplars.list(at), func(e client.Exemplar) bool {
		_, err := client.NewMetricWithExemplars(m, e)
		return err != nil
	})
	if len(all) == 0 {
		return m
	}
	if with, err := client.NewMetricWithExemplars(m, all...); err == nil {
		return with
	}
	return m
}
