package target

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/protobuf"
)

// Reflection asks a server of gRPC what it serves, by its service of reflection.
type Reflection struct {
	ctx    context.Context
	caller weft.StreamCaller
	method string
	names  []string
	files  map[string]*descriptorpb.FileDescriptorProto
}

// Reflect asks a server for its services. The error has the code Unimplemented if the server has
// neither version of the reflection.
func Reflect(ctx context.Context, c weft.StreamCaller) (*Reflection, error) {
	var failed error
	for _, version := range []string{"v1", "v1alpha"} {
		r := &Reflection{ctx: ctx, caller: c, method: "grpc.reflection." + version + ".ServerReflection.ServerReflectionInfo", files: make(map[string]*descriptorpb.FileDescriptorProto)}
		answer, err := r.ask(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}})
		if err == nil {
			for _, s := range answer.GetListServicesResponse().GetService() {
				r.names = append(r.names, s.GetName())
			}
			slices.Sort(r.names)
			return r, nil
		}
		if failed = err; weft.CodeOf(err) != weft.Unimplemented {
			break
		}
	}
	return nil, failed
}

// ask asks one question, in a stream of its own: a server may answer a method that it does not have
// only behind the last message. The messages of v1 and v1alpha are the same on the wire.
func (r *Reflection) ask(q *grpc_reflection_v1.ServerReflectionRequest) (*grpc_reflection_v1.ServerReflectionResponse, error) {
	stream, err := r.caller.OpenStream(r.ctx, r.method, q, weft.WithCodec(protobuf.New()))
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	if err := stream.Send(q); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	_ = stream.CloseSend() // Recv has the error of the call
	answer := new(grpc_reflection_v1.ServerReflectionResponse)
	if err := stream.Recv(answer); err != nil {
		if errors.Is(err, io.EOF) {
			err = weft.Errorf(weft.Unavailable, "the server has ended the reflection without an answer")
		}
		return nil, err
	}
	if e := answer.GetErrorResponse(); e != nil {
		return nil, weft.Errorf(weft.Code(e.GetErrorCode()), "%s", e.GetErrorMessage())
	}
	return answer, nil
}

// Services are the names of the services, sorted.
func (r *Reflection) Services() []string { return r.names }

// maxFiles is how many files a service may need.
const maxFiles = 1000

// take keeps the files of an answer.
func (r *Reflection) take(answer *grpc_reflection_v1.ServerReflectionResponse) error {
	for _, text := range answer.GetFileDescriptorResponse().GetFileDescriptorProto() {
		file := new(descriptorpb.FileDescriptorProto)
		if err := proto.Unmarshal(text, file); err != nil {
			return fmt.Errorf("the server sent a file that is no descriptor: %w", err)
		}
		r.files[file.GetName()] = file
	}
	return nil
}

// complete asks for the files that others import.
func (r *Reflection) complete() error {
	for {
		missing := ""
		for _, file := range r.files {
			for _, name := range file.GetDependency() {
				if r.files[name] == nil {
					missing = name
				}
			}
		}
		if missing == "" {
			return nil
		}
		if len(r.files) > maxFiles {
			return fmt.Errorf("the server describes a service by more than %d files", maxFiles)
		}
		if err := r.fetch(missing); err != nil {
			return err
		}
	}
}

// fetch asks for one file; one of the standard ones need not be known to the server.
func (r *Reflection) fetch(name string) error {
	answer, err := r.ask(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileByFilename{FileByFilename: name}})
	if err != nil {
		own, found := protoregistry.GlobalFiles.FindFileByPath(name)
		if found != nil {
			return fmt.Errorf("the server does not describe %s: %w", name, err)
		}
		r.files[name] = protodesc.ToFileDescriptorProto(own)
		return nil
	}
	if err := r.take(answer); err != nil {
		return err
	}
	if r.files[name] == nil {
		return fmt.Errorf("the server does not describe %s", name)
	}
	return nil
}

// Service describes a service.
func (r *Reflection) Service(name string) (protoreflect.ServiceDescriptor, error) {
	answer, err := r.ask(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: name}})
	if err != nil {
		return nil, err
	}
	if err := r.take(answer); err != nil {
		return nil, err
	}
	if err := r.complete(); err != nil {
		return nil, err
	}
	set := new(descriptorpb.FileDescriptorSet)
	for _, file := range r.files {
		set.File = append(set.File, file)
	}
	files, err := protodesc.NewFiles(set)
	if err != nil {
		return nil, fmt.Errorf("the description of %s by the server is wrong: %w", name, err)
	}
	d, err := files.FindDescriptorByName(protoreflect.FullName(name))
	if err != nil {
		return nil, err
	}
	service, ok := d.(protoreflect.ServiceDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is no service", name)
	}
	return service, nil
}

// Method describes a method, "pkg.Service.Method".
func (r *Reflection) Method(name string) (protoreflect.MethodDescriptor, error) {
	service, method, ok := cutMethod(name)
	if !ok {
		return nil, weft.Errorf(weft.InvalidArgument, "%q is no method, want Service.Method", name)
	}
	s, err := r.Service(service)
	if err != nil {
		return nil, err
	}
	m := s.Methods().ByName(protoreflect.Name(method))
	if m == nil {
		return nil, weft.Errorf(weft.Unimplemented, "the service %s has no method %s", service, method).WithReason(weft.ReasonNoMethod)
	}
	return m, nil
}

// KindOf is the kind of a method.
func KindOf(m protoreflect.MethodDescriptor) weft.Kind {
	switch {
	case m.IsStreamingClient() && m.IsStreamingServer():
		return weft.BidiStream
	case m.IsStreamingClient():
		return weft.ClientStream
	case m.IsStreamingServer():
		return weft.ServerStream
	}
	return weft.Unary
}
