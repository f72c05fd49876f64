package weft

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/weftrpc/weft/internal/session"
)

// MethodOption describes a method, or bounds it, when it is registered. The options are
// Idempotent, MethodTimeout, MethodLimit, MethodAuthenticate, Doc, Annotate and, for Register, For.
type MethodOption interface{ applyTo(f *methodFacts) error }

type methodOptionFunc func(f *methodFacts) error

func (o methodOptionFunc) applyTo(f *methodFacts) error { return o(f) }

// methodFacts are what the options of a method add up to.
type methodFacts struct {
	idempotent  bool
	timeout     time.Duration // 0: none
	limit       int           // of calls in flight; 0: by itself; Unlimited
	doc         string
	annotations map[string]string
	checks      []func(MethodInfo) error  // of annotations
	admit       authenticator             // nil: the server's alone
	of          map[string][]MethodOption // by the method's name in Go: what For says
}

// Idempotent says that a call of the method may be made twice with the effect of once. It is published with the service: a cluster.Client
// makes such calls again without being told, once all servers of the service that it sees publish it.
func Idempotent() MethodOption {
	return methodOptionFunc(func(f *methodFacts) error { f.idempotent = true; return nil })
}

// MethodTimeout ends the context of a call of the method after d at the latest, however
// long its caller would wait. It concerns unary calls and streams.
func MethodTimeout(d time.Duration) MethodOption {
	return methodOptionFunc(func(f *methodFacts) error {
		if d <= 0 {
			return Errorf(InvalidArgument, "weft: the timeout of a method is %v, want more than zero", d)
		}
		f.timeout = min(d, mostTimeout)
		return nil
	})
}

// Unlimited is the MethodLimit of methods whose calls are never refused for overload.
const Unlimited = -1

// MethodLimit lets at most n calls of the method wait or run at once on a server, over all connections, in place of what its overload
// protection finds out about the method; more are refused with ReasonOverloadMethod. It is for methods whose limit is known, such as the
// size of a pool. Unlimited exempts the method from the protection altogether, such as a health check.
func MethodLimit(n int) MethodOption {
	return methodOptionFunc(func(f *methodFacts) error {
		if n < 1 && n != Unlimited {
			return Errorf(InvalidArgument, "weft: the limit of a method is %d, want 1 or more, or Unlimited", n)
		}
		f.limit = n
		return nil
	})
}

// authenticator accepts or refuses a call by its credential; see ServerConfig.Authenticate.
type authenticator func(ctx context.Context, cred Credential, info *CallInfo) (principal any, err error)

// MethodAuthenticate accepts or refuses the calls of a method, after ServerConfig.Authenticate and in the same way: before the body is
// decoded, by the credential in the metadata. A principal that it returns takes the place of the server's. It is for methods that not every
// caller of the server may use; it has no effect on calls that do not come through a connection.
func MethodAuthenticate(f func(ctx context.Context, cred Credential, info *CallInfo) (principal any, err error)) MethodOption {
	return methodOptionFunc(func(m *methodFacts) error {
		if f == nil {
			return Errorf(InvalidArgument, "weft: the function of MethodAuthenticate is nil")
		}
		m.admit = f
		return nil
	})
}

// Doc describes the method, in plain text or Markdown, for people: Describe gives it.
func Doc(text string) MethodOption {
	return methodOptionFunc(func(f *methodFacts) error { f.doc = text; return nil })
}

// Annotate stores a value for a door, a plugin or a generator, which defines the key: for example an HTTP path, or the name of the method
// in an interface definition. Describe gives it. An error of one of checks, which get the method as it is to be registered, refuses the
// registration: with them a package checks the value against the types of the method.
func Annotate(key, value string, checks ...func(MethodInfo) error) MethodOption {
	return methodOptionFunc(func(f *methodFacts) error {
		if key == "" {
			return Errorf(InvalidArgument, "weft: the key of an annotation is empty")
		}
		if f.annotations == nil {
			f.annotations = make(map[string]string)
		}
		f.annotations[key] = value
		f.checks = append(f.checks, checks...)
		return nil
	})
}

// InvalidOption is an option that refuses the registration with err, for packages that make
// options of Annotate and have to report a wrong value.
func InvalidOption(err error) MethodOption {
	return methodOptionFunc(func(*methodFacts) error { return err })
}

// For gives options to one of the methods of a value that is registered as a whole, by
// the method's name in Go. A method that is not registered is an error.
func For(goName string, opts ...MethodOption) MethodOption {
	return methodOptionFunc(func(f *methodFacts) error {
		if f.of == nil {
			f.of = make(map[string][]MethodOption)
		}
		f.of[goName] = append(f.of[goName], opts...)
		return nil
	})
}

// factsOf applies the options of one method.
func factsOf(opts []MethodOption) (methodFacts, error) {
	var f methodFacts
	for i, o := range opts {
		if o == nil {
			return f, Errorf(InvalidArgument, "weft: method option %d is nil", i)
		}
		if err := o.applyTo(&f); err != nil {
			return f, err
		}
	}
	return f, nil
}

// Kind says how many messages client and server send in a call.
type Kind uint8

// The kinds of methods.
const (
	Unary        Kind = iota // one request, one reply
	ServerStream             // one request, many replies
	ClientStream             // many requests, one reply
	BidiStream               // many of both
)

// String is the name of the kind, for example "server stream".
func (k Kind) String() string {
	return [...]string{"unary", "server stream", "client stream", "bidirectional stream"}[k&3]
}

// method is one registered method.
type method struct {
	name    string // "Service.Method"
	kind    Kind
	in, out reflect.Type // of the messages, without the pointer
	facts   methodFacts

	newRequest func() any                                                 // a pointer to decode into
	call       func(ctx context.Context, req any) (any, error)            // unary
	raw        func(ctx context.Context, req, buf []byte) ([]byte, error) // unary, without a codec
	reuse      *recycler                                                  // unary, whose messages are used again
	stream     func(ctx context.Context, end RawStream) error

	mu    sync.Mutex
	bound []*session.Method // what hosts made of it
	gone  bool
}

// bind notes that a host runs the method as s, so that s can be told of its removal.
func (m *method) bind(s *session.Method) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		s.Remove()
		return
	}
	m.bound = append(m.bound, s)
}

// remove has all that was bound to the method look for it anew. It is found no more when it is gone, and under fewer names otherwise.
func (m *method) remove(gone bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gone = m.gone || gone
	for _, s := range m.bound {
		s.Remove()
	}
	m.bound = nil
}

// MethodInfo describes a registered method.
type MethodInfo struct {
	Name        string   // "Service.Method"
	Aliases     []string // other names of it, by name
	Kind        Kind
	Request     reflect.Type // what the caller sends; []byte for a raw method
	Reply       reflect.Type // what it gets
	Idempotent  bool
	Timeout     time.Duration // 0: none but the caller's
	Doc         string
	Annotations map[string]string
}

// check calls the checks of the method's annotations.
func (m *method) check() error {
	for _, check := range m.facts.checks {
		if check == nil {
			return Errorf(InvalidArgument, "weft: a check of an annotation of method %s is nil", m.name)
		}
		if err := check(m.info(nil)); err != nil {
			return err
		}
	}
	return nil
}

// info describes the method.
func (m *method) info(aliases []string) MethodInfo {
	slices.Sort(aliases)
	return MethodInfo{
		Name: m.name, Aliases: aliases, Kind: m.kind, Request: m.in, Reply: m.out,
		Idempotent: m.facts.idempotent, Timeout: m.facts.timeout, Doc: m.facts.doc, Annotations: maps.Clone(m.facts.annotations),
	}
}
