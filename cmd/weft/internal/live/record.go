package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/admin"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
	"github.com/weftrpc/weft/plugin/record"
)

const recordHelp = `Writes the calls that servers answer to a file, until it is interrupted, --count calls are in it or --duration is over:
those of the server at an address, or of all instances that a service has in the registry when it begins. 'weft replay'
makes them again, and 'weft rules check --calls' tells what rules would do to them.

The calls come from a tap of package admin, so its rules hold: messages and metadata are there only if the server's
program permits it (admin.Config.Bodies), values with names of secrets are "***", of a thousand calls in a second those
beyond are dropped, and a call with a message of more than --max-body bytes is left out. Streams are not recorded. To
record more than that, use plugin/record in the program: it writes files of the same format.`

const recordExamples = `  weft record tcp://127.0.0.1:8972 --out calls.weftrec --duration 30s
  weft record Arith --method Arith.Mul --one-in 10 --count 1000 --out calls.weftrec
  weft record Arith --no-bodies --out calls.weftrec`

// recordOptions are the flags of record.
type recordOptions struct {
	out      string
	count    int
	duration time.Duration
	noBodies bool
	maxBody  int
	metadata []string
	methods  []string
	failed   bool
	oneIn    int
}

// RecordCommand writes calls to a file.
func RecordCommand(p *shell.Shell) *cobra.Command {
	o := new(recordOptions)
	cmd := &cobra.Command{
		Use: "record [address or service]", GroupID: shell.GroupSee, Short: "Write the calls that servers answer to a file", Long: recordHelp, Example: recordExamples,
		Args: shell.Arguments(0, 1), ValidArgsFunction: catalog.CompleteService(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.out == "" {
				return fmt.Errorf("record: --out is missing, the file to write; %w", shell.ErrUsage)
			}
			if o.count < 0 || o.duration < 0 || o.maxBody < 1 || o.maxBody > longestBody {
				return fmt.Errorf("record: --count is %d, --duration %v and --max-body %d, want 0 or more, and 1 to %d; %w", o.count, o.duration, o.maxBody, longestBody, shell.ErrUsage)
			}
			address, rest := target.Split(args)
			service := strings.Join(rest, "")
			f, err := fleetOf(cmd.Context(), p, address, service, false)
			if err != nil {
				return err
			}
			defer f.close()
			if len(o.methods) == 0 && service != "" {
				o.methods = []string{service + ".*"}
			}
			return recordCalls(cmd.Context(), p, o, f)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.out, "out", "", "the `file` to write; it must not be there yet")
	f.StringSliceVar(&o.methods, "method", nil, "only calls of this `method`, or of a service and .*; may be repeated")
	f.BoolVar(&o.failed, "failed", false, "only calls that failed")
	f.IntVar(&o.oneIn, "one-in", 0, "record one of this `number` of calls")
	f.IntVar(&o.count, "count", 0, "end after this `number` of calls; 0: go on")
	f.DurationVar(&o.duration, "duration", 0, "end after this `time`; 0: go on")
	f.StringSliceVar(&o.metadata, "metadata", nil, "record this `key` of the metadata; may be repeated")
	f.BoolVar(&o.noBodies, "no-bodies", false, "record no requests and replies: enough to try rules with")
	f.IntVar(&o.maxBody, "max-body", longestBody, "leave out calls with a message of more than this `number` of bytes")
	return cmd
}

// longestBody is how many bytes of a message a tap shows at most.
const longestBody = 64 << 10

// errRecorded ends a recording.
var errRecorded = errors.New("the recording has all that it was to have")

// recording is a file that is written.
type recording struct {
	o       *recordOptions
	out     *record.Writer
	began   time.Time
	calls   int
	streams int
	tooLong int
	masked  int
	dropped uint64
}

func recordCalls(ctx context.Context, p *shell.Shell, o *recordOptions, f *fleet) error {
	out, err := record.Create(o.out)
	if err != nil {
		return shell.Unreadable("--out", err)
	}
	r := &recording{o: o, out: out, began: time.Now()}
	failed := r.run(ctx, p, f)
	if err := out.Close(); err != nil {
		return errors.Join(err, failed)
	}
	if r.calls == 0 && failed != nil {
		_ = os.Remove(o.out) // nothing was recorded
		return noBodies(failed)
	}
	return errors.Join(r.write(p), noBodies(failed))
}

// noBodies says what to do about a server that does not permit bodies.
func noBodies(err error) error {
	if err != nil && strings.Contains(err.Error(), "Config.Bodies") {
		return fmt.Errorf("%w; without them --no-bodies records the methods and times", err)
	}
	return err
}

// run records until ctx ends or all is recorded. The error is that of servers that cannot be recorded.
func (r *recording) run(ctx context.Context, p *shell.Shell, f *fleet) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	status := &lines{to: p.Status()}
	log := p.Guarded(status)
	req := &admin.TapRequest{Methods: r.o.methods, Failed: r.o.failed, OneIn: r.o.oneIn, Bodies: !r.o.noBodies, MaxBody: r.o.maxBody, Metadata: r.o.metadata}
	open := func(ctx context.Context, t *target.Target) (*weft.Stream[admin.TappedCall, admin.TapRequest], error) {
		s, err := t.Admin(p).Tap(target.Context(ctx, p), req)
		if err == nil {
			fmt.Fprintf(log, "weft: calls of %s are recorded; Ctrl-C ends it\n", t.Address)
		}
		return s, err
	}
	if r.o.duration > 0 {
		timer := time.AfterFunc(r.o.duration, func() { end(errRecorded) })
		defer timer.Stop()
	}
	// The line is written anew for each call, so that it needs no lock.
	var failed error
	shown := time.Time{}
	err := follow(ctx, p, log, f, 0, open, func(m message[admin.TappedCall]) error {
		if m.err != nil {
			failed = errors.Join(failed, m.err)
			return nil
		}
		if m.value == nil {
			return nil
		}
		if err := r.take(m.value); err != nil {
			return err
		}
		if p.Steers() && time.Since(shown) > 200*time.Millisecond {
			shown = time.Now()
			fmt.Fprintf(status, "\r%s\x1b[K", p.StatusLine(fmt.Sprintf("%s, %d bytes", shell.Plural(r.calls, "call"), r.out.Size())))
		}
		if r.o.count > 0 && r.calls >= r.o.count {
			end(errRecorded)
		}
		return nil
	})
	if p.Steers() {
		fmt.Fprint(status, "\r\x1b[K")
	}
	if ctx.Err() == nil {
		return err // all servers have failed or ended, or the file cannot be written
	}
	if failed != nil { // they were told of on the standard error, if there are several
		failed = target.NoAdmin(failed)
		if f.named() {
			failed = shell.Written(failed)
		}
	}
	return failed
}

// take writes a call.
func (r *recording) take(c *admin.TappedCall) error {
	r.dropped += c.Dropped
	call := &record.Call{Time: c.At, Took: time.Duration(c.Duration * float64(time.Second)), Side: record.Answered, Wire: c.Wire, Method: c.Method, Oneway: c.Oneway,
		Attempt: c.Attempt, Principal: c.Principal, Reason: c.Reason, Message: c.Error}
	for code := weft.Canceled; code <= weft.Unauthenticated; code++ {
		if code.String() == c.Code {
			call.Code = code
		}
	}
	content := c.Content
	if content == nil {
		content = new(admin.Content)
	}
	for _, pair := range content.Metadata {
		call.Metadata = append(call.Metadata, [2]string{pair.Key, pair.Value})
	}
	if c.Stream != nil {
		r.streams++
		return nil
	}
	if !r.o.noBodies {
		for _, m := range []struct {
			text string
			to   *record.Message
		}{{content.Request, &call.Request}, {content.Reply, &call.Reply}} {
			if m.text == "" {
				continue
			}
			if !json.Valid([]byte(m.text)) { // it was cut, or has no form in JSON
				r.tooLong++
				return nil
			}
			*m.to = record.Message{Codec: "json", Body: []byte(m.text)}
		}
		if strings.Contains(content.Request, `"***"`) {
			r.masked++
		}
	}
	if r.o.count > 0 && r.calls >= r.o.count {
		return nil
	}
	r.calls++
	return r.out.Write(call)
}

// recorded is a recording in JSON.
type recorded struct {
	File    string  `json:"file"`
	Calls   int     `json:"calls"`
	Seconds float64 `json:"seconds"`
	Bytes   int64   `json:"bytes"`
	Streams int     `json:"streams_left_out,omitempty"`
	TooLong int     `json:"too_long_left_out,omitempty"`
	Dropped uint64  `json:"dropped,omitempty"`
	Masked  int     `json:"masked,omitempty"`
}

// write tells what was recorded.
func (r *recording) write(p *shell.Shell) error {
	v := recorded{r.o.out, r.calls, time.Since(r.began).Seconds(), r.out.Size(), r.streams, r.tooLong, r.dropped, r.masked}
	if !p.ForPeople() {
		return p.Write(&shell.Listing{Names: []string{v.File}, Value: v})
	}
	text := fmt.Sprintf("%s in %s, in %v, %d bytes\n", shell.Plural(v.Calls, "call"), v.File, time.Since(r.began).Round(time.Millisecond), v.Bytes)
	for _, part := range []struct {
		n    uint64
		text string
	}{
		{uint64(v.Streams), "left out, since they are streams"},
		{uint64(v.TooLong), "left out, since a message is longer than --max-body or has no form in JSON"},
		{v.Dropped, "dropped by the server, which shows at most 1000 in a second: use --one-in or --method"},
		{uint64(v.Masked), "recorded with \"***\" in place of secrets, which a replay sends as it is"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf("  %s %s\n", shell.Plural(int(part.n), "call"), part.text)
		}
	}
	_, err := fmt.Fprint(p.Out, text)
	return err
}
