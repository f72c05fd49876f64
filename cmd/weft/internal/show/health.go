package show

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/health"
)

const healthHelp = `Asks whether servers are ready: the one at an address, or all instances of a service in the registry. A server of weft
answers by package health, one of gRPC by its service of health; of a server without either it is told that it can
be reached. The exit code is 1 when one is not ready.`

const healthExamples = `  weft health tcp://127.0.0.1:8972
  weft health tcp://127.0.0.1:8972 Arith
  weft health grpc://127.0.0.1:50051
  weft health Arith`

// HealthCommand asks servers whether they are ready.
func HealthCommand(p *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "health [address] [service]", GroupID: shell.GroupCall, Short: "Ask whether servers are ready", Long: healthHelp, Example: healthExamples,
		Args: shell.Arguments(0, 2), ValidArgsFunction: catalog.CompleteService(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			address, rest := target.Split(args)
			if len(rest) > 1 || address == "" && p.Settings.Server == "" && len(rest) == 0 {
				return fmt.Errorf("health: want the address of a server, or a service; %w", shell.ErrUsage)
			}
			ctx, cancel := target.Within(cmd.Context(), p)
			defer cancel()
			return healthOf(ctx, p, address, strings.Join(rest, ""))
		},
	}
}

// state is the health of one server.
type state struct {
	ID      string          `json:"id,omitempty"`
	Address string          `json:"address"`
	Status  string          `json:"status"`
	Took    float64         `json:"seconds"`
	Checks  []health.Result `json:"checks,omitempty"`
	Error   string          `json:"error,omitempty"`
	Code    int             `json:"-"` // the exit code
}

func healthOf(ctx context.Context, p *shell.Shell, address, service string) error {
	var states []state
	if address == "" {
		address = p.Settings.Server
	}
	if address != "" {
		states = append(states, stateOf(ctx, p, address, service))
	} else {
		a, reg, err := catalog.OpenRegistry(p)
		if err != nil {
			return err
		}
		defer reg.Close()
		snapshot, err := catalog.Ask(ctx, reg, service)
		if err != nil {
			return err
		}
		if len(snapshot.Instances) == 0 {
			return catalog.Unknown(ctx, a, reg, service)
		}
		states = statesOf(ctx, p, snapshot.Instances, service)
	}
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return err // what an interrupt has ended is no state
	}
	l := &shell.Listing{Heads: []string{"ID", "ADDRESS", "STATUS", "TIME", "FAILING", "ERROR"}, Value: states}
	code := shell.ExitFine
	for _, s := range states {
		var failing []string
		for _, c := range s.Checks {
			if c.Failing {
				failing = append(failing, c.Name)
			}
		}
		took := shell.Seconds(s.Took)
		l.Lines = append(l.Lines, []string{s.ID, s.Address, s.Status, took.String(), strings.Join(failing, " "), s.Error})
		l.Names = append(l.Names, s.Address)
		code = max(code, s.Code)
	}
	if err := p.Write(l); err != nil {
		return err
	}
	if code != shell.ExitFine {
		return shell.Written(shell.Exit(errors.New("a server is not ready"), code))
	}
	return nil
}

// mostAsked is how many servers are asked at once.
const mostAsked = 64

// statesOf asks the servers of instances at once: one that does not answer takes no time of the others.
func statesOf(ctx context.Context, p *shell.Shell, instances []weft.Instance, service string) []state {
	states := make([]state, len(instances))
	room := make(chan struct{}, mostAsked)
	var all sync.WaitGroup
	for n, i := range instances {
		room <- struct{}{}
		all.Go(func() {
			states[n] = stateOf(ctx, p, i.Address, service)
			if i.ID != i.Address {
				states[n].ID = i.ID
			}
			<-room
		})
	}
	all.Wait()
	return states
}

// stateOf asks one server.
func stateOf(ctx context.Context, p *shell.Shell, address, service string) state {
	s := state{Address: address}
	from := time.Now()
	err := s.ask(ctx, p, service)
	s.Took = time.Since(from).Seconds()
	if err != nil {
		s.Error = shell.FromCall(err).Error() // with what to do about it
		if s.Status == "" {
			s.Status, s.Code = "not reachable", shell.ExitUnreachable
		}
	}
	return s
}

func (s *state) ask(ctx context.Context, p *shell.Shell, service string) error {
	t, err := target.Open(ctx, p, s.Address)
	if err != nil {
		return err
	}
	defer t.Close()
	ctx = target.Context(ctx, p)
	if strings.HasPrefix(t.Scheme(), "grpc") {
		answer := new(grpc_health_v1.HealthCheckResponse)
		err := t.Call(ctx, "grpc.health.v1.Health.Check", &grpc_health_v1.HealthCheckRequest{Service: service}, answer, weft.WithCodec(protobuf.New()))
		if err == nil {
			s.is(strings.ToLower(strings.ReplaceAll(answer.GetStatus().String(), "_", " ")), nil)
		}
		return s.failed(err)
	}
	report, err := weft.Invoke[health.Report](ctx, t, health.Service+".Check", &health.Query{Service: service})
	if err == nil {
		s.is(report.Status, report.Checks)
	}
	return s.failed(err)
}

func (s *state) is(status string, checks []health.Result) {
	if s.Status, s.Checks = status, checks; status != health.Serving.String() {
		s.Code = shell.ExitFailed
	}
}

// failed sorts the errors of the question: a server without the service can be reached at least.
func (s *state) failed(err error) error {
	switch weft.CodeOf(err) {
	case 0:
		return nil
	case weft.Unimplemented:
		s.Status = "reachable"
		return nil
	case weft.NotFound:
		s.Status, s.Code = "unknown service", shell.ExitFailed
	case weft.Unauthenticated, weft.PermissionDenied:
		s.Status, s.Code = "refused", shell.ExitRefused
	}
	return err
}
