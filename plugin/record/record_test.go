package record_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"google.golang.org/protobuf/types/known/apipb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/typepb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/raw"
	"github.com/weftrpc/weft/plugin/internal/plugintest"
	"github.com/weftrpc/weft/plugin/record"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, cfg record.Config) *record.Recorder {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	r, err := record.New(&cfg)
	must(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

// read reads all calls of a folder.
func read(t *testing.T, dir string) (all []*record.Call, damage []*record.Damage) {
	t.Helper()
	recording, err := record.Open(dir)
	must(t, err)
	for c, err := range recording.Calls() {
		if d, ok := errors.AsType[*record.Damage](err); ok {
			damage = append(damage, d)
		} else {
			must(t, err)
			all = append(all, c)
		}
	}
	return all, damage
}

// Calls over weft's own wire and a door are recorded, those that fail too, and made again.
func TestRecordAndReplay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "calls")
	r := open(t, record.Config{Dir: dir, Metadata: []string{"tenant"}})
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{r.Plugin()},
		Authenticate: func(context.Context, weft.Credential, *weft.CallInfo) (any, error) { return "ada", nil }})
	must(t, weft.HandleRaw(w.Server, "Raw.Echo", func(_ context.Context, req, buf []byte) ([]byte, error) { return append(buf, req...), nil }))
	must(t, weft.Handle(w.Server, "Proto.Echo", func(_ context.Context, v *structpb.Value) (*structpb.Value, error) { return v, nil }))
	c := w.Dial(t, &weft.ClientConfig{Credential: weft.StaticCredential("Bearer", "hush")})
	ctx := weft.WithMetadata(t.Context(), "tenant", "blue", "other", "x")
	must(t, c.Call(ctx, "Arith.Mul", &plugintest.Args{A: 6, B: 7}, nil))
	_ = c.Call(ctx, "Arith.Fail", &plugintest.Args{A: int(weft.NotFound)}, nil)
	must(t, c.Call(ctx, "Raw.Echo", []byte{0, 1, 2}, new([]byte), weft.WithCodec(raw.New())))
	must(t, c.Call(ctx, "Proto.Echo", structpb.NewStringValue("x"), &structpb.Value{}))
	must(t, w.DialDoor(t).Call("Arith.Mul", &plugintest.Args{A: 2, B: 2}, &plugintest.Result{}))
	if n, err := plugintest.Count(ctx, c, 3); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	must(t, r.Close())
	must(t, c.Call(ctx, "Arith.Mul", &plugintest.Args{}, nil)) // is not recorded

	all, damage := read(t, dir)
	if len(all) != 5 || len(damage) != 0 || r.Stats() != (record.Stats{Written: 5}) {
		t.Fatalf("%d calls, %v, %+v", len(all), damage, r.Stats())
	}
	mul := all[0]
	if mul.Method != "Arith.Mul" || mul.Side != record.Answered || mul.Wire != "weft" || mul.Principal != "ada" || fmt.Sprint(mul.Metadata) != "[[tenant blue]]" ||
		string(mul.Request.Body) != `{"A":6,"B":7}` || string(mul.Reply.Body) != `{"C":42}` || mul.Code != 0 || mul.Took <= 0 || time.Since(mul.Time) > time.Hour {
		t.Errorf("%+v", mul)
	}
	if fail := all[1]; fail.Code != weft.NotFound || fail.Message != "failed as asked" || fail.Reply.Codec != "" {
		t.Errorf("%+v", fail)
	}
	if all[2].Request.Codec != "raw" || all[3].Request.Codec != "protobuf" || all[4].Wire != "netrpc" {
		t.Errorf("%+v, %+v, %+v", all[2], all[3], all[4])
	}

	stats, err := record.Replay(t.Context(), dir, &record.ReplayConfig{Target: c})
	if err != nil || stats.Calls != 5 || stats.Equal != 5 || stats.Different != 0 {
		t.Errorf("%+v, %v", stats, err)
	}
	other := plugintest.Serve(t, &weft.ServerConfig{Interceptors: []weft.UnaryInterceptor{func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		if weft.MetadataFrom(ctx).Get(record.Mark) != "1" {
			return nil, weft.Errorf(weft.Internal, "the call is not marked")
		}
		return &plugintest.Result{C: -1}, nil
	}}})
	var results []record.Result
	stats, err = record.Replay(t.Context(), dir, &record.ReplayConfig{Target: other.Dial(t, nil), Methods: []string{"Arith.*"}, Concurrency: 1, Each: func(r record.Result) { results = append(results, r) }})
	if err != nil || stats.Calls != 3 || stats.Different != 3 || stats.Skipped != 2 || fmt.Sprint(results[0].Differences) != "[{C 42 -1}]" {
		t.Errorf("%+v, %v, %+v", stats, err, results)
	}
	stats, err = record.Replay(t.Context(), dir, &record.ReplayConfig{Target: other.Dial(t, nil), Methods: []string{"Arith.Mul"}, Ignore: []string{"C"}})
	if err != nil || stats.Equal != 2 {
		t.Errorf("%+v, %v", stats, err)
	}
}

// Fields are redacted in JSON and in protobuf, and Change sees what is left.
func TestRedact(t *testing.T) {
	dir := t.TempDir()
	type card struct {
		Number string
		Lines  []struct{ Price, N int }
		Extra  map[string]string
	}
	r := open(t, record.Config{Dir: dir, Redact: []string{"Number", "Lines.*.Price", "Extra", "name", "methods.*.requestTypeUrl", "source_context", "options.0"},
		Change: func(c *record.Call) bool {
			c.Principal = "changed"
			return c.Method != "Arith.Mul"
		}})
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{r.Plugin()}})
	must(t, weft.Handle(w.Server, "Card.Pay", func(_ context.Context, c *card) (*card, error) { return c, nil }))
	must(t, weft.Handle(w.Server, "Proto.Pay", func(_ context.Context, c *apipb.Api) (*apipb.Api, error) { return c, nil }))
	c := w.Dial(t, nil)
	must(t, c.Call(t.Context(), "Card.Pay", &card{"4111", []struct{ Price, N int }{{7, 1}, {8, 2}}, map[string]string{"a": "4112"}}, &card{}))
	must(t, c.Call(t.Context(), "Proto.Pay", &apipb.Api{Name: "4113", Version: "v1", Methods: []*apipb.Method{{Name: "kept", RequestTypeUrl: "4114"}}}, &apipb.Api{}))
	must(t, c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil))
	must(t, r.Close())
	all, _ := read(t, dir)
	if len(all) != 2 || r.Stats().LeftOut != 1 || all[0].Principal != "changed" {
		t.Fatal(all, r.Stats())
	}
	if got := string(all[0].Request.Body); got != `{"Extra":null,"Lines":[{"N":1,"Price":0},{"N":2,"Price":0}],"Number":"redacted"}` || got != string(all[0].Reply.Body) {
		t.Error(got)
	}
	if got := string(all[1].Request.Body); !strings.Contains(got, "kept") || !strings.Contains(got, "v1") || strings.Contains(got, "411") {
		t.Errorf("%q", got)
	}
}

// A field is redacted however its name is written, and in every element of a list, whether its path says so or not.
func TestRedactNames(t *testing.T) {
	dir := t.TempDir()
	type line struct {
		Price int `json:"price"`
		Note  string
	}
	type order struct {
		CardNumber string `json:"cardNumber"`
		Lines      []line
		Nested     [][]line
	}
	r := open(t, record.Config{Dir: dir, Redact: []string{"CARDNUMBER", "lines.note", "nested.NOTE", "METHODS.requesttypeurl", "METHODS.options.name"}})
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{r.Plugin()}})
	must(t, weft.Handle(w.Server, "Order.Pay", func(_ context.Context, o *order) (*order, error) { return o, nil }))
	must(t, weft.Handle(w.Server, "Proto.Pay", func(_ context.Context, c *apipb.Api) (*apipb.Api, error) { return c, nil }))
	c := w.Dial(t, nil)
	must(t, c.Call(t.Context(), "Order.Pay", &order{"4111", []line{{7, "4112"}, {8, "4113"}}, [][]line{{{9, "4114"}}}}, &order{}))
	must(t, c.Call(t.Context(), "Proto.Pay", &apipb.Api{Methods: []*apipb.Method{{Name: "kept", RequestTypeUrl: "4115", Options: []*typepb.Option{{Name: "4116"}}}}}, &apipb.Api{}))
	must(t, r.Close())
	all, _ := read(t, dir)
	if len(all) != 2 {
		t.Fatal(all, r.Stats())
	}
	for _, one := range all {
		for _, m := range []record.Message{one.Request, one.Reply} {
			if got := string(m.Body); strings.Contains(got, "411") || !strings.Contains(got, "redacted") {
				t.Errorf("%s: %q", one.Method, got)
			}
		}
	}
	if got := string(all[0].Request.Body); !strings.Contains(got, `"price":7`) || !strings.Contains(got, `"price":9`) {
		t.Error(got)
	}
}

// numbered is a message of Protocol Buffers without generated code.
type numbered struct {
	Card string `json:"card" weft:"1"`
	Note string `json:"note" weft:"2"`
}

// embedding has the fields of a generated message, and one of its own.
type embedding struct {
	*typepb.Option
	Card string
}

// only has those of a generated message alone: it is one of Protocol Buffers.
type only struct{ *apipb.Method }

// Fields are redacted in messages that are none of generated code, and in structs that embed one of these.
func TestRedactOther(t *testing.T) {
	dir := t.TempDir()
	r := open(t, record.Config{Dir: dir, Redact: []string{"card", "name", "requestTypeUrl"}})
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{r.Plugin()}})
	must(t, weft.Handle(w.Server, "Numbered.Pay", func(_ context.Context, v *numbered) (*numbered, error) { return v, nil }))
	must(t, weft.Handle(w.Server, "Embedding.Pay", func(_ context.Context, v *embedding) (*embedding, error) { return v, nil }))
	must(t, weft.Handle(w.Server, "Only.Pay", func(_ context.Context, v *only) (*only, error) { return v, nil }))
	c := w.Dial(t, nil)
	must(t, c.Call(t.Context(), "Numbered.Pay", &numbered{"4111", "kept"}, &numbered{}))
	must(t, c.Call(t.Context(), "Embedding.Pay", &embedding{&typepb.Option{Name: "4112"}, "4113"}, &embedding{}, weft.WithCodec(json.New())))
	must(t, c.Call(t.Context(), "Embedding.Pay", &embedding{nil, "4114"}, &embedding{}, weft.WithCodec(json.New())))
	must(t, c.Call(t.Context(), "Only.Pay", &only{&apipb.Method{Name: "4115", RequestTypeUrl: "4116", ResponseTypeUrl: "kept"}}, &only{&apipb.Method{}}, weft.WithCodec(json.New())))
	must(t, r.Close())
	all, _ := read(t, dir)
	if len(all) != 4 {
		t.Fatal(all, r.Stats())
	}
	for _, one := range all {
		for _, m := range []record.Message{one.Request, one.Reply} {
			if got := string(m.Body); strings.Contains(got, "411") || !strings.Contains(got, "redacted") {
				t.Errorf("%s: %q", one.Method, got)
			}
		}
	}
	if got := string(all[0].Request.Body); got != `{"card":"redacted","note":"kept"}` {
		t.Error(got)
	}
	stats, err := record.Replay(t.Context(), dir, &record.ReplayConfig{Target: c})
	if err != nil || stats.Calls != 4 || stats.Equal != 4 {
		t.Errorf("%+v, %v", stats, err)
	}
}

// Files are begun anew at their size, and the oldest are deleted.
func TestRotation(t *testing.T) {
	dir := t.TempDir()
	r := open(t, record.Config{Dir: dir, MaxFile: 2000, MaxFiles: 3, MaxMessage: 500})
	w := plugintest.Serve(t, &weft.ServerConfig{Plugins: []weft.Plugin{r.Plugin()}})
	must(t, weft.Handle(w.Server, "Text.Echo", func(_ context.Context, s *string) (*string, error) { return s, nil }))
	c := w.Dial(t, nil)
	for i := range 40 {
		must(t, c.Call(t.Context(), "Text.Echo", new(fmt.Sprint(i, strings.Repeat("x", 100))), new(string)))
	}
	must(t, c.Call(t.Context(), "Text.Echo", new(strings.Repeat("x", 1000)), new(string)))
	must(t, r.Close())
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Size() > 2000 || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
	all, damage := read(t, dir)
	last := all[len(all)-1]
	if s := r.Stats(); len(entries) != 3 || s.Written != 40 || s.LeftOut != 1 || len(damage) != 0 || !strings.HasPrefix(string(last.Request.Body), `"39x`) {
		t.Errorf("%d files, %+v, %v, %s", len(entries), s, damage, last.Request.Body)
	}
}

// A share of the calls is recorded; a queue without room drops calls.
func TestSampling(t *testing.T) {
	dir := t.TempDir()
	held, hold := make(chan struct{}), make(chan struct{})
	first := true
	r := open(t, record.Config{Dir: dir, Percent: 50, Methods: []string{"Arith.Mul"}, Queue: 2, Change: func(*record.Call) bool {
		if first {
			first = false
			close(held)
			<-hold
		}
		return true
	}})
	c := plugintest.Serve(t, nil).Dial(t, &weft.ClientConfig{Plugins: []weft.Plugin{r.Plugin()}})
	for range 400 {
		must(t, c.Call(t.Context(), "Arith.Mul", &plugintest.Args{}, nil))
		_ = c.Call(t.Context(), "Arith.Fail", &plugintest.Args{A: 5}, nil)
	}
	<-held
	close(hold)
	must(t, r.Close())
	all, _ := read(t, dir)
	s := r.Stats()
	if n := s.Written + s.Dropped; n < 100 || n > 300 || s.Dropped == 0 || uint64(len(all)) != s.Written || all[0].Side != record.Made {
		t.Errorf("%+v, %d calls", s, len(all))
	}
}

// A file that is cut off at any byte, or has a wrong byte anywhere, gives the calls before that place.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	r := open(t, record.Config{Dir: dir})
	c := plugintest.Serve(t, nil).Dial(t, &weft.ClientConfig{Plugins: []weft.Plugin{r.Plugin()}})
	for i := range 3 {
		must(t, c.Call(t.Context(), "Arith.Mul", &plugintest.Args{A: i}, nil))
	}
	must(t, r.Close())
	recording, err := record.Open(dir)
	must(t, err)
	whole, err := os.ReadFile(recording.Files()[0])
	must(t, err)
	file := filepath.Join(t.TempDir(), "damaged.weftrec")
	size := (len(whole) - 8) / 3 // about that of a frame
	for i := range whole {
		must(t, os.WriteFile(file, whole[:i], 0o600))
		all, damage := read(t, file)
		if want := max(i-8, 0) / size; len(all) > 3 || len(all) < want-1 || len(all) > want+1 {
			t.Fatalf("of %d bytes of %d: %d calls", i, len(whole), len(all))
		}
		if len(damage) == 1 && (damage[0].Calls != len(all) || damage[0].Offset > int64(i) || damage[0].File != file) {
			t.Fatalf("%+v", damage[0])
		}
		wrong := append([]byte(nil), whole...)
		wrong[i] ^= 0x41
		must(t, os.WriteFile(file, wrong, 0o600))
		if all, damage = read(t, file); len(damage) != 1 || len(all) > 2 || damage[0].Calls != len(all) || damage[0].Error() == "" {
			t.Fatalf("with a wrong byte at %d: %d calls, %v", i, len(all), damage)
		}
	}
	// The next file is read nevertheless.
	must(t, os.WriteFile(filepath.Join(dir, "0.weftrec"), whole[:len(whole)-1], 0o600))
	stats, err := record.Replay(t.Context(), dir, &record.ReplayConfig{Target: c})
	if err != nil || stats.Equal != 5 || len(stats.Damage) != 1 || stats.Damage[0].Calls != 2 {
		t.Errorf("%+v, %v", stats, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("weftrec\x01"))
	f.Add([]byte("weftrec\x01\x02\x00\x00\x00\xc0\xa6\x4f\x6d{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		file := filepath.Join(t.TempDir(), "x.weftrec")
		must(t, os.WriteFile(file, b, 0o600))
		read(t, file)
	})
}

// Calls are made at their pace, faster as asked; a canceled replay ends.
func TestSpeed(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := open(t, record.Config{Dir: dir})
		one := r.Plugin().Client
		for range 3 {
			_, err := one(t.Context(), &weft.CallInfo{Method: "Arith.Mul", Codec: "json"}, &plugintest.Args{}, func(context.Context, *weft.CallInfo, any) (any, error) {
				return &plugintest.Result{}, nil
			})
			must(t, err)
			time.Sleep(time.Minute)
		}
		must(t, r.Close())
		for speed, want := range map[float64]time.Duration{0: 0, 1: 2 * time.Minute, 4: 30 * time.Second} {
			began := time.Now()
			stats, err := record.Replay(t.Context(), dir, &record.ReplayConfig{Target: fixed{}, Speed: speed})
			if took := time.Since(began); err != nil || stats.Equal != 3 || took != want {
				t.Errorf("at speed %v: %+v, %v, %v", speed, stats, err, took)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		stats, err := record.Replay(ctx, dir, &record.ReplayConfig{Target: fixed{}, Speed: 1})
		if !errors.Is(err, context.DeadlineExceeded) || stats.Calls != 2 {
			t.Errorf("%+v, %v", stats, err)
		}
	})
}

// Calls that the end of a replay cuts off are no answers that differ; one whose own time is up is.
func TestReplayCutOff(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := open(t, record.Config{Dir: dir})
		for range 3 {
			_, err := r.Plugin().Client(t.Context(), &weft.CallInfo{Method: "Arith.Mul", Codec: "json"}, &plugintest.Args{}, func(context.Context, *weft.CallInfo, any) (any, error) {
				return &plugintest.Result{}, nil
			})
			must(t, err)
		}
		must(t, r.Close())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		stats, err := record.Replay(ctx, dir, &record.ReplayConfig{Target: hanging{}, Concurrency: 1, Timeout: 45 * time.Second, Each: func(r record.Result) {
			if !errors.Is(r.Err, context.DeadlineExceeded) {
				t.Errorf("%+v", r)
			}
		}})
		if !errors.Is(err, context.DeadlineExceeded) || stats.Calls != 1 || stats.Different != 1 {
			t.Errorf("%+v, %v", stats, err)
		}
	})
}

// hanging answers no call.
type hanging struct{}

func (hanging) Call(ctx context.Context, _ string, _, _ any, _ ...weft.CallOption) error {
	<-ctx.Done()
	return ctx.Err()
}

// fixed answers every call alike.
type fixed struct{}

func (fixed) Call(_ context.Context, _ string, _, reply any, _ ...weft.CallOption) error {
	*reply.(*[]byte) = []byte(`{"C":0}`)
	return nil
}

func TestWrongConfig(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	for _, cfg := range []*record.Config{nil, {Dir: dir, Percent: 101}, {Dir: dir, Metadata: []string{"Authorization"}}, {Dir: dir, Methods: []string{"x"}},
		{Dir: dir, Redact: []string{""}}, {Dir: dir, Queue: -1}, {Dir: dir, MaxMessage: 1 << 30}, {Dir: filepath.Join(dir, "file")}} {
		if r, err := record.New(cfg); err == nil {
			r.Close()
			t.Errorf("%+v is accepted", cfg)
		}
	}
	for _, cfg := range []*record.ReplayConfig{nil, {Target: fixed{}, Speed: -1}, {Target: fixed{}, Methods: []string{"x"}}, {Target: fixed{}, Ignore: []string{"a..b"}}, {Target: fixed{}}} {
		if _, err := record.Replay(t.Context(), dir, cfg); err == nil { // the last one: there are no files
			t.Errorf("%+v is accepted", cfg)
		}
	}
	if _, err := record.Open(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there is opened")
	}
}

// A file that a program writes itself is read and replayed like those of a Recorder.
func TestWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own")
	w, err := record.Create(path)
	must(t, err)
	for n := range 3 {
		must(t, w.Write(&record.Call{Time: time.Now(), Side: record.Answered, Method: "Arith.Mul",
			Request: record.Message{Codec: "json", Body: fmt.Appendf(nil, `{"A":%d,"B":7}`, n)}, Reply: record.Message{Codec: "json", Body: fmt.Appendf(nil, `{"C":%d}`, 7*n)}}))
	}
	must(t, w.Flush())
	must(t, w.Close())
	info, err := os.Stat(path)
	must(t, err)
	if info.Size() != w.Size() || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has %d bytes and the mode %v, want %d and 0600", info.Size(), info.Mode(), w.Size())
	}
	if _, err := record.Create(path); !errors.Is(err, weft.AlreadyExists) {
		t.Errorf("a file that is there gives %v", err)
	}
	if _, err := record.Create(filepath.Join(path, "below")); !errors.Is(err, weft.Unavailable) {
		t.Errorf("a folder that is none gives %v", err)
	}
	target := plugintest.Serve(t, nil).Dial(t, nil)
	n := 0
	stats, err := record.Replay(t.Context(), path, &record.ReplayConfig{Target: target, Choose: func(*record.Call) bool { n++; return n != 2 }})
	if err != nil || stats.Calls != 2 || stats.Equal != 2 || stats.Skipped != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
}

// A call waits for the writer with a method and metadata of its own: the caller's may be in memory that is used again when it has ended.
func TestMemoryUsedAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "calls")
	r := open(t, record.Config{Dir: dir, Metadata: []string{"tenant"}})
	c := plugintest.Serve(t, nil).Dial(t, &weft.ClientConfig{Plugins: []weft.Plugin{r.Plugin()}})
	memory := []byte("Arith.Mulblue")
	method, tenant := unsafe.String(&memory[0], 9), unsafe.String(&memory[9], 4)
	const calls = 200
	for range calls {
		copy(memory, "Arith.Mulblue")
		must(t, c.Call(weft.WithMetadata(t.Context(), "tenant", tenant), method, &plugintest.Args{A: 1, B: 2}, nil))
		copy(memory, "Arith.Xyzpink")
	}
	must(t, r.Close())
	all, _ := read(t, dir)
	if len(all) != calls {
		t.Errorf("%d calls are recorded, want %d", len(all), calls)
	}
	for _, call := range all {
		if call.Method != "Arith.Mul" || fmt.Sprint(call.Metadata) != "[[tenant blue]]" {
			t.Fatalf("recorded as %s with %v", call.Method, call.Metadata)
		}
	}
}
