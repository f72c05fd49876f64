//go:build unix

package adversary

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/cbor"
	"github.com/weftrpc/weft/codec/gob"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/compress/lz4"
	"github.com/weftrpc/weft/compress/snappy"
	"github.com/weftrpc/weft/compress/zstd"
)

// role is the variable that makes this program a server or an attacker: it has its task.
const role = "WEFT_ADVERSARY_TASK"

// task is what a process is told.
type task struct {
	Attack     string // the attack to run; "": be a server
	Address    string // of the server
	For        time.Duration
	Processors int    // that it uses; 0: all
	Limit      int    // MiB of memory that the Go runtime is to keep to; 0: none
	Journal    string // of a server: the file to which it writes the numbers of the calls that ran
}

// Item and Bomb are the types that bombs are decoded into.
type Item struct {
	Name  string
	Value *int
	Tags  []string
}

type Bomb struct {
	Items []Item
	Any   any
	Text  string
	Map   map[string]Item
}

// State is what a server tells of itself.
type State struct {
	Held, Peak  uint64 // bytes that the Go runtime has from the system
	Goroutines  int
	Connections int
	InFlight    int
}

// Number is the number of a call.
type Number struct{ N uint64 }

// service is what the attacked server has.
type service struct {
	srv     *weft.Server
	peak    atomic.Uint64
	journal *os.File
}

// held is how many bytes the Go runtime has from the system.
func held() uint64 {
	m := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(m)
	return m[0].Value.Uint64() - m[1].Value.Uint64()
}

// watch keeps the peak.
func (s *service) watch(ctx context.Context) {
	for ctx.Err() == nil {
		if h := held(); h > s.peak.Load() {
			s.peak.Store(h)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (s *service) register() error {
	r := s.srv
	return errors.Join(
		weft.HandleRaw(r, "Adv.Echo", func(_ context.Context, req, buf []byte) ([]byte, error) { return append(buf, req...), nil }),
		weft.HandleRaw(r, "Adv.Big", func(ctx context.Context, _, buf []byte) ([]byte, error) {
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
			return append(buf, make([]byte, 256<<10)...), nil
		}),
		weft.HandleRaw(r, "Adv.Wait", func(ctx context.Context, _, buf []byte) ([]byte, error) {
			<-ctx.Done()
			return buf, ctx.Err()
		}),
		weft.HandleRaw(r, "Adv.Panic", func(context.Context, []byte, []byte) ([]byte, error) { panic("the caller wants it") }),
		weft.Handle(r, "Adv.Decode", func(context.Context, *Bomb) (*Number, error) { return &Number{}, nil }),
		weft.Handle(r, "Adv.Proto", func(context.Context, *structpb.Value) (*structpb.Value, error) { return structpb.NewNullValue(), nil }),
		weft.HandleStream(r, "Adv.Unread", func(ctx context.Context, s *weft.Stream[[]byte, []byte]) error {
			<-ctx.Done() // messages wait, and no handler reads them
			return ctx.Err()
		}),
		weft.HandleStream(r, "Adv.Take", func(_ context.Context, s *weft.Stream[Bomb, Number]) error {
			_, err := s.Recv()
			return err
		}),
		weft.Handle(r, "Adv.Back", func(ctx context.Context, n *Number) (*Number, error) {
			ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			return weft.Invoke[Number](ctx, weft.PeerFrom(ctx), "Back.Call", n)
		}),
		weft.Handle(r, "Adv.Once", func(_ context.Context, n *Number) (*Number, error) {
			// One write of eight bytes to a file opened for appending is whole or absent.
			if _, err := s.journal.Write(binary.LittleEndian.AppendUint64(nil, n.N)); err != nil {
				return nil, err
			}
			time.Sleep(time.Millisecond)
			return n, nil
		}),
		weft.Handle(r, "Adv.Forget", func(context.Context, *Number) (*State, error) {
			debug.FreeOSMemory()
			s.peak.Store(held())
			return s.state(), nil
		}),
		weft.Handle(r, "Adv.State", func(context.Context, *Number) (*State, error) { return s.state(), nil }),
	)
}

func (s *service) state() *State {
	stats := s.srv.Stats()
	return &State{Held: held(), Peak: s.peak.Load(), Goroutines: runtime.NumGoroutine(), Connections: stats.Connections, InFlight: stats.InFlight}
}

// compressors are all that there are.
func compressors() []compress.Compressor {
	return []compress.Compressor{gzip.New(), snappy.New(), zstd.New(), lz4.New()}
}

// serve is a server process. It writes its address to the standard output, and shuts down on SIGTERM.
func serve(t task) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s := &service{srv: weft.NewServer(&weft.ServerConfig{
		Codecs: append(weft.DefaultCodecs(), cbor.New(), gob.New()), Compressors: compressors(),
		Logger: slog.New(slog.DiscardHandler), DrainTimeout: 2 * time.Second,
	})}
	if t.Journal != "" {
		file, err := os.OpenFile(t.Journal, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer file.Close()
		s.journal = file
	}
	if err := s.register(); err != nil {
		return err
	}
	address := t.Address
	if address == "" {
		address = "tcp://127.0.0.1:0"
	}
	l, err := s.srv.Listen(ctx, address)
	if err != nil {
		return err
	}
	go s.watch(ctx) // it ends with the process
	go s.srv.Serve(l)
	fmt.Println(l.Addr())
	<-ctx.Done()
	end, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.srv.Shutdown(end)
}

// play is what a process does that has a task.
func play(text string) error {
	var t task
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return err
	}
	if t.Attack == "" {
		return serve(t)
	}
	return attack(t)
}
