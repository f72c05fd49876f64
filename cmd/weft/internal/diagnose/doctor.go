package diagnose

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
)

const doctorHelp = `Looks into why something does not work: of a server, whether its name resolves, its port can be reached, its certificate
is good and for how long, whether it answers, how far its clock is off, and its versions; of a registry, whether it
answers and how fast, also each member of an etcd that is given with several addresses, and of each service in it (or of
the one that is named) instances that are silent, registered twice, or at an address that others cannot reach, and rules
that cannot be used or match nothing. Each instance is looked into as a server. Each finding says what to do.

The exit code is 1 when there is an error, with --strict also when there is a warning.`

const doctorExamples = `  weft doctor
  weft doctor Arith
  weft doctor tcp://127.0.0.1:8972
  weft doctor --tls --cacert ca.pem tcp://10.0.0.7:8972 --strict`

// The levels of findings.
const (
	good    = "ok"
	warning = "warning"
	failing = "error"
)

// finding is one thing that was looked into.
type finding struct {
	Level   string `json:"level"` // "ok", "warning" or "error"
	Check   string `json:"check"`
	Subject string `json:"subject"`
	Text    string `json:"text"`
	Do      string `json:"do,omitempty"` // what to do about it
}

// report collects findings.
type report struct {
	p        *shell.Shell
	findings []finding
	programs map[string][]string // servers by the version of weft
}

func (r *report) ok(check, subject, format string, args ...any) {
	r.findings = append(r.findings, finding{good, check, subject, fmt.Sprintf(format, args...), ""})
}

func (r *report) warn(check, subject, do, format string, args ...any) {
	r.findings = append(r.findings, finding{warning, check, subject, fmt.Sprintf(format, args...), do})
}

func (r *report) fail(check, subject, do, format string, args ...any) {
	r.findings = append(r.findings, finding{failing, check, subject, fmt.Sprintf(format, args...), do})
}

// DoctorCommand looks into why something does not work.
func DoctorCommand(p *shell.Shell) *cobra.Command {
	strict := false
	cmd := &cobra.Command{
		Use: "doctor [address or service]", GroupID: shell.GroupSee, Short: "Look into why something does not work", Long: doctorHelp, Example: doctorExamples,
		Args: shell.Arguments(0, 1), ValidArgsFunction: catalog.CompleteService(p),
		RunE: func(cmd *cobra.Command, args []string) error {
			r := &report{p: p, programs: make(map[string][]string)}
			address, rest := target.Split(args)
			if address == "" {
				address = p.Settings.Server
			}
			if address != "" {
				r.server(cmd.Context(), address)
			} else if err := r.registry(cmd.Context(), strings.Join(rest, "")); err != nil {
				return err
			}
			if err := cmd.Context().Err(); err != nil {
				return err // what an interrupt has ended is no finding
			}
			r.compareVersions()
			return r.write(strict)
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "exit with 1 also when there are only warnings")
	return cmd
}

// compareVersions warns of servers with different versions of weft.
func (r *report) compareVersions() {
	if len(r.programs) < 2 {
		return
	}
	var parts []string
	for version, servers := range r.programs {
		parts = append(parts, fmt.Sprintf("%s on %s", shell.Dash(version), strings.Join(servers, ", ")))
	}
	slices.Sort(parts)
	r.warn("versions", "servers", "bring all servers to one version, unless a rolling upgrade is under way", "there are %d versions of weft: %s", len(r.programs), strings.Join(parts, "; "))
}

// write writes the findings.
func (r *report) write(strict bool) error {
	p := r.p
	errs, warnings := 0, 0
	l := &shell.Listing{Value: r.findings}
	for _, f := range r.findings {
		switch f.Level {
		case failing:
			errs++
		case warning:
			warnings++
		}
		if f.Level != good {
			l.Names = append(l.Names, f.Check+" "+f.Subject)
		}
	}
	if !p.ForPeople() {
		if err := p.Write(l); err != nil {
			return err
		}
	} else {
		for _, f := range r.findings {
			fmt.Fprintf(p.Out, "%s  %s %s: %s\n", p.Paint(colourOf(f.Level), fmt.Sprintf("%-7s", f.Level)), f.Check, f.Subject, f.Text)
			if f.Do != "" {
				fmt.Fprintf(p.Out, "         %s\n", f.Do)
			}
		}
		fmt.Fprintf(p.Out, "\n%s, %s, %s\n", shell.Plural(len(r.findings), "check"), shell.Plural(errs, "error"), shell.Plural(warnings, "warning"))
	}
	if errs > 0 || strict && warnings > 0 {
		return shell.Written(shell.Exit(errors.New("something is wrong"), shell.ExitFailed))
	}
	return nil
}

func colourOf(level string) shell.Colour {
	switch level {
	case failing:
		return shell.Red
	case warning:
		return shell.Yellow
	}
	return shell.Green
}

// within is the time of one check.
func (r *report) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return target.Within(ctx, r.p)
}
