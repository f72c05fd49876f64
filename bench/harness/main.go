package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/msg"
)

// Main is a program that holds these peers and does what package contract asks
// of it. It does not return.
func Main(peers ...Peer) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := Run(ctx, os.Args[1:], peers, os.Stdin, os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Run is Main with the parts of the process given: the arguments, the peers, and
// the three standard streams. The parent has had the error already.
func Run(ctx context.Context, args []string, peers Peers, stdin io.Reader, stdout, stderr io.Writer) error {
	if len(args) == 0 {
		return errors.New("want describe, serve or load")
	}
	lines := &lines{in: bufio.NewReader(stdin), out: json.NewEncoder(stdout)}
	command := args[0]
	var err error
	switch command {
	case "describe":
		return describe(peers, lines)
	case "serve", "load":
		var t *task
		if t, err = parseTask(command, args[1:], peers, stderr); err != nil {
			break
		}
		if command == "serve" {
			err = serve(ctx, t, lines)
		} else {
			err = load(ctx, t, lines)
		}
	default:
		err = fmt.Errorf("unknown command %q; there are describe, serve and load", command)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		// If the parent is gone, the event has no reader.
		_ = lines.send(contract.Event{Event: contract.Failed, Error: err.Error()})
	}
	return err
}

func describe(peers Peers, lines *lines) error {
	for _, p := range peers {
		d := p.Describe()
		d.Peer = p.Name()
		d.Usage = true
		for _, codec := range msg.Codecs() {
			if p.Supports(codec, msg.Say) == nil || p.Supports(codec, msg.Add) == nil {
				d.Codecs = append(d.Codecs, string(codec))
			}
		}
		for _, w := range contract.Workloads() {
			if supportsAny(p, w) {
				d.Workloads = append(d.Workloads, w)
			}
		}
		if err := lines.out.Encode(d); err != nil {
			return err
		}
	}
	return nil
}

func supportsAny(p Peer, w contract.Workload) bool {
	main, side := methods(w)
	for _, codec := range msg.Codecs() {
		if p.Supports(codec, main) == nil && p.Supports(codec, side) == nil {
			return true
		}
	}
	return false
}

// lines is this end of the contract: orders come in, events go out. Each
// direction belongs to one goroutine.
type lines struct {
	in  *bufio.Reader
	out *json.Encoder
}

func (l *lines) send(e contract.Event) error { return l.out.Encode(e) }

// order is the next line of the input, or an error when the parent is gone.
func (l *lines) order() (string, error) {
	line, err := l.in.ReadString('\n')
	if err != nil {
		return "", err
	}
	return line[:len(line)-1], nil
}
