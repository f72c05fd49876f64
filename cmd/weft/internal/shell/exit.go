package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// The exit codes.
const (
	ExitFine        = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitCallFailed  = 3
	ExitUnreachable = 4
	ExitRefused     = 5
	ExitInterrupted = 130
)

// coded is an error that has an exit code of its own.
type coded struct {
	error
	code int
}

func (e *coded) Unwrap() error { return e.error }

// Exit gives an error an exit code.
func Exit(err error, code int) error { return &coded{err, code} }

// Unreadable is the error of a file that the arguments name and that cannot be read: the arguments are wrong.
// flag is the flag that names it, "" for an argument.
func Unreadable(flag string, err error) error {
	if flag != "" {
		err = fmt.Errorf("%s: %w", flag, err)
	}
	return &coded{err, ExitUsage}
}

// usage is an error in the arguments of a command, which points to the help of that command.
type usage struct {
	error
	command string
}

func (e *usage) Error() string {
	return strings.ReplaceAll(e.error.Error(), ErrUsage.Error(), "see '"+e.command+" --help'")
}

func (e *usage) Unwrap() error { return e.error }

// UsageOf has an error in the arguments of a command point to its help.
func UsageOf(command string, err error) error { return &usage{err, command} }

// forDoctor is an error that ends in the advice to run weft doctor.
type forDoctor struct{ error }

func (e *forDoctor) Error() string { return e.error.Error() + "; 'weft doctor' looks into it" }

func (e *forDoctor) Unwrap() error { return e.error }

// InDoctor is an error without the advice to run weft doctor, for that command itself.
func InDoctor(err error) error {
	if e, ok := errors.AsType[*forDoctor](err); ok {
		return e.error
	}
	return err
}

// quiet is an error that the command has written already.
type quiet struct{ error }

func (e *quiet) Unwrap() error { return e.error }

// Written marks an error that the command has written already.
func Written(err error) error { return &quiet{err} }

// Report writes an error and returns the exit code for it.
func (p *Shell) Report(ctx context.Context, err error) int {
	if own, ok := errors.AsType[*coded](err); ok && own.code == ExitFine {
		return ExitFine
	}
	if context.Cause(ctx) != nil && (errors.Is(err, context.Canceled) || errors.Is(err, weft.Canceled)) {
		fmt.Fprintln(p.Log, "weft: interrupted")
		return ExitInterrupted
	}
	if _, written := errors.AsType[*quiet](err); !written {
		fmt.Fprintf(p.Log, "weft: %v\n", err)
	}
	own, isCoded := errors.AsType[*coded](err)
	switch {
	case errors.Is(err, ErrUsage):
		return ExitUsage
	case isCoded:
		return own.code
	}
	return ExitFailed
}

// FromRegistry says which registry an error is of, and gives it its exit code.
func FromRegistry(reg *registry.Registry, err error) error {
	if err == nil {
		return nil
	}
	named := fmt.Errorf("%s: %w", reg.Name(), err)
	switch text := err.Error(); {
	case errors.Is(err, registry.ErrConflict), errors.Is(err, registry.ErrNoDocuments), errors.Is(err, registry.ErrReadOnly):
		return named
	case denied(text):
		return &coded{fmt.Errorf("%w; give user and password in the address, or the certificate of a user with --cert and --key", named), ExitRefused}
	}
	return &coded{&forDoctor{named}, ExitUnreachable}
}

// denied reports whether a registry has refused credentials, by the text of its error: each
// kind has errors of its own.
func denied(text string) bool {
	text = strings.ToLower(text)
	for _, word := range []string{"permission denied", "authentication failed", "user name is empty", "invalid auth token", "noauth", "wrongpass", "unauthorized", "unknown user", "bad certificate", "certificate required"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	// The status 403, and no part of another number such as that of a port.
	return slices.Contains(strings.FieldsFunc(text, func(c rune) bool { return c < '0' || c > '9' }), "403")
}

// ErrNoAnswer is in the error of a call by a wire on which nothing tells a server that does not answer from one
// that still runs the call.
var ErrNoAnswer = errors.New("the server has not answered in time")

// FromCall gives the error of a call its exit code, and says what to do next.
func FromCall(err error) error {
	e, ok := errors.AsType[*weft.Error](err)
	if _, told := errors.AsType[*coded](err); !ok || told {
		return err
	}
	switch {
	case errors.Is(err, ErrNoAnswer):
		return &coded{&forDoctor{err}, ExitUnreachable}
	case e.Code == weft.Unauthenticated && strings.HasPrefix(e.Method, "weft.Admin."):
		return &coded{fmt.Errorf("%w; give the token with --admin-token-file, or a certificate with --cert and --key", err), ExitRefused}
	case e.Code == weft.Unauthenticated:
		return &coded{fmt.Errorf("%w; give a token with --token-file or $WEFT_TOKEN, or a certificate with --cert and --key", err), ExitRefused}
	case e.Code == weft.PermissionDenied && strings.Contains(e.Message, "plain HTTP"):
		return &coded{fmt.Errorf("%w; ask it by tcp://, or give its token with --admin-token-file", err), ExitRefused}
	case e.Code == weft.PermissionDenied:
		return &coded{err, ExitRefused}
	case e.Reason == weft.ReasonNoServer, e.Reason == weft.ReasonForbidden:
		return &coded{fmt.Errorf("%w; see 'weft explain %s'", err, e.Method), ExitUnreachable}
	case e.Outcome == weft.NotSent && (e.Code == weft.Unavailable || e.Code == weft.DeadlineExceeded):
		return &coded{&forDoctor{err}, ExitUnreachable}
	case e.Code == weft.DeadlineExceeded:
		return &coded{fmt.Errorf("%w; --timeout gives a call more time", err), ExitCallFailed}
	case e.Reason == weft.ReasonNoMethod:
		return &coded{fmt.Errorf("%w; 'weft list' names the methods", err), ExitCallFailed}
	case e.Reason == weft.ReasonDecode && e.Outcome == weft.Refused:
		return &coded{fmt.Errorf("%w; 'weft describe %s --as template' writes a request", err, e.Method), ExitCallFailed}
	}
	return &coded{err, ExitCallFailed}
}

// Failure is the error of a call in JSON.
type Failure struct {
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Reason  string          `json:"reason,omitempty"`
	Outcome string          `json:"outcome"`
	Method  string          `json:"method,omitempty"`
	Peer    string          `json:"peer,omitempty"`
	Details []failureDetail `json:"details,omitempty"`
}

type failureDetail struct {
	Type  string `json:"type"`
	Value []byte `json:"value"`
}

// FailureOf makes the JSON of an error.
func FailureOf(err error) *Failure {
	e, ok := errors.AsType[*weft.Error](err)
	if !ok {
		return &Failure{Code: weft.CodeOf(err).String(), Message: err.Error(), Outcome: weft.NotSent.String()}
	}
	f := &Failure{Code: e.Code.String(), Message: e.Message, Reason: e.Reason, Outcome: e.Outcome.String(), Method: e.Method, Peer: e.Peer}
	for _, d := range e.Details {
		f.Details = append(f.Details, failureDetail{d.Type, d.Value})
	}
	return f
}

// WriteFailure writes the error of a call as an object, if the output is one for programs.
func (p *Shell) WriteFailure(err error) {
	if err == nil || p.Settings.Output != "json" {
		return
	}
	text, failed := json.Marshal(map[string]*Failure{"error": FailureOf(err)})
	if failed == nil {
		fmt.Fprintf(p.Out, "%s\n", text)
	}
}
