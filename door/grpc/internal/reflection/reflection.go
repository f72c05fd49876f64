// Package reflection answers the requests of gRPC's server reflection, for the methods that a server
// has registered.
package reflection

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/weftrpc/weft"
)

// Source is what a server has registered: a *weft.Server.
type Source interface {
	Describe() []weft.ServiceInfo
	Changes() uint64
}

// Server answers for a source.
type Server struct {
	source Source
	names  func(weft.MethodInfo) []string

	mu    sync.Mutex
	at    uint64 // Changes of source when index was made
	index *index
}

// New returns a server that answers for a source. names are the full names that a method has for gRPC's
// clients, such as "helloworld.Greeter.SayHello".
func New(source Source, names func(weft.MethodInfo) []string) *Server {
	return &Server{source: source, names: names}
}

// Serve serves a call of ServerReflectionInfo.
func (s *Server) Serve(_ context.Context, stream *weft.Stream[Request, Response]) error {
	sent := make(map[string]bool)
	for q, err := range stream.All() {
		if err != nil {
			return err
		}
		r, err := s.answer(q, sent)
		if err != nil {
			return err
		}
		if err := stream.Send(r); err != nil {
			return err
		}
	}
	return nil
}

// Names lists the services.
func (s *Server) Names() []string {
	var names []string
	for _, service := range s.current().services {
		names = append(names, service.Name)
	}
	return names
}

// current is what the source has now.
func (s *Server) current() *index {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.source.Changes(); s.index == nil || s.at != at {
		s.index, s.at = newIndex(s.source.Describe(), s.names), at
	}
	return s.index
}

// answer answers a request; sent are the paths of the files that the stream has sent.
func (s *Server) answer(q *Request, sent map[string]bool) (*Response, error) {
	r := &Response{ValidHost: q.Host, OriginalRequest: q}
	x := s.current()
	var why string
	switch {
	case q.FileByFilename != nil:
		r.FileDescriptor, why = x.whole(x.file(*q.FileByFilename))(sent)
	case q.FileContainingSymbol != nil:
		r.FileDescriptor, why = x.whole(x.symbol(strings.TrimPrefix(*q.FileContainingSymbol, ".")))(sent)
	case q.FileContainingExtension != nil:
		e := q.FileContainingExtension
		r.FileDescriptor, why = x.whole(x.extension(strings.TrimPrefix(e.ContainingType, "."), e.ExtensionNumber))(sent)
	case q.AllExtensionNumbersOfType != nil:
		r.AllExtensionNumbers, why = x.extensions(strings.TrimPrefix(*q.AllExtensionNumbersOfType, "."))
	case q.ListServices != nil:
		r.ListServices = &ServiceList{x.services}
	default:
		return nil, weft.Errorf(weft.InvalidArgument, "reflection: the request asks for nothing")
	}
	if why != "" {
		r.Error = &Error{Code: int32(weft.NotFound), Message: why}
	}
	return r, nil
}

// quoted is a name of a peer's for an error.
func quoted(name string) string {
	const most = 200
	if len(name) > most {
		return fmt.Sprintf("%q… (%d bytes)", name[:most], len(name))
	}
	return fmt.Sprintf("%q", name)
}
