package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec/json"
	"github.com/weftrpc/weft/codec/protobuf"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/connect/internal/interop/conformance/pb"
	"github.com/weftrpc/weft/door/grpc"
)

// client makes the calls that standard input names.
func client(ctx context.Context) error {
	var wg sync.WaitGroup
	var out sync.Mutex
	var failed error
	places := make(chan struct{}, 16)
	for {
		req := new(pb.ClientCompatRequest)
		if err := receive(os.Stdin, req); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			res := &pb.ClientCompatResponse{TestName: req.TestName}
			if got, err := try(ctx, req); err != nil {
				res.Result = &pb.ClientCompatResponse_Error{Error: &pb.ClientErrorResult{Message: err.Error()}}
			} else {
				res.Result = &pb.ClientCompatResponse_Response{Response: got}
			}
			out.Lock()
			defer out.Unlock()
			failed = errors.Join(failed, send(os.Stdout, res))
		})
	}
	wg.Wait()
	return failed
}

// try makes one call.
func try(ctx context.Context, req *pb.ClientCompatRequest) (*pb.ClientResponseResult, error) {
	method := req.GetService() + "." + req.GetMethod()
	wire := &connect.WireConfig{HTTP2: req.HttpVersion == pb.HTTPVersion_HTTP_VERSION_2,
		Get: func(string) bool { return req.UseGetHttpMethod }}
	cfg := &weft.ClientConfig{Wires: []weft.Wire{connect.Wire(wire), grpc.Wire(nil)}, Logger: slog.New(slog.DiscardHandler),
		Compressors: []compress.Compressor{gzip.New()},
		Limits:      weft.Limits{MaxMessage: int(req.MessageReceiveLimit)}}
	if req.Compression == pb.Compression_COMPRESSION_GZIP {
		cfg.Compressor, cfg.Limits.CompressAbove = gzip.New(), 1
	}
	if len(req.ServerTlsCert) > 0 {
		cfg.TLS = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
		if wire.HTTP2 {
			cfg.TLS.NextProtos = []string{"h2"}
		}
		cfg.TLS.RootCAs.AppendCertsFromPEM(req.ServerTlsCert)
		if creds := req.ClientTlsCreds; creds != nil {
			cert, err := tls.X509KeyPair(creds.Cert, creds.Key)
			if err != nil {
				return nil, err
			}
			cfg.TLS.Certificates = []tls.Certificate{cert}
		}
	}
	scheme := "connect+http://"
	if req.Protocol == pb.Protocol_PROTOCOL_GRPC {
		scheme = "grpc://"
	}
	c, err := weft.Dial(ctx, scheme+net.JoinHostPort(req.Host, strconv.Itoa(int(req.Port))), cfg)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var reply weft.Metadata
	opts := []weft.CallOption{weft.WithReplyMetadata(&reply)}
	if req.Codec == pb.Codec_CODEC_JSON {
		opts = append(opts, weft.WithCodec(json.New()))
	} else {
		opts = append(opts, weft.WithCodec(protobuf.New()))
	}
	if req.TimeoutMs != nil {
		opts = append(opts, weft.WithTimeout(time.Duration(*req.TimeoutMs)*time.Millisecond))
	} else {
		opts = append(opts, weft.WithTimeout(-1))
	}
	for _, h := range req.RequestHeaders {
		for _, v := range h.Value {
			if strings.HasSuffix(strings.ToLower(h.Name), "-bin") {
				b, err := unbase64(v)
				if err != nil {
					return nil, err
				}
				v = string(b)
			}
			ctx = weft.WithMetadata(ctx, strings.ToLower(h.Name), v)
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := &trial{req: req, ctx: ctx, cancel: cancel, c: c, method: method, opts: opts, result: new(pb.ClientResponseResult)}
	switch req.GetMethod() {
	case "Unary":
		err = unaryCall[pb.UnaryRequest, pb.UnaryResponse](t)
	case "IdempotentUnary":
		err = unaryCall[pb.IdempotentUnaryRequest, pb.IdempotentUnaryResponse](t)
	case "Unimplemented":
		err = unaryCall[pb.UnimplementedRequest, pb.UnimplementedResponse](t)
	case "ServerStream":
		err = streamCall[pb.ServerStreamRequest, pb.ServerStreamResponse](t)
	case "ClientStream":
		err = streamCall[pb.ClientStreamRequest, pb.ClientStreamResponse](t)
	case "BidiStream":
		err = streamCall[pb.BidiStreamRequest, pb.BidiStreamResponse](t)
	default:
		return nil, fmt.Errorf("there is no method %s", method)
	}
	if err != nil {
		t.result.Error = t.errorOf(err)
	}
	t.metadata(reply)
	return t.result, nil
}

// trial is one call and what came of it.
type trial struct {
	req    *pb.ClientCompatRequest
	ctx    context.Context
	cancel context.CancelFunc
	c      *weft.Client
	method string
	opts   []weft.CallOption
	result *pb.ClientResponseResult
}

// metadata notes the metadata of a reply: a weft client gets header and trailers together.
func (t *trial) metadata(m weft.Metadata) {
	header, trailer := make(map[string]*pb.Header), make(map[string]*pb.Header)
	for k, v := range m.All() {
		if strings.HasSuffix(k, "-bin") {
			v = tobase64(v)
		}
		in, list := header, &t.result.ResponseHeaders
		if strings.Contains(k, "trailer") {
			in, list = trailer, &t.result.ResponseTrailers
		}
		if in[k] == nil {
			in[k] = &pb.Header{Name: k}
			*list = append(*list, in[k])
		}
		in[k].Value = append(in[k].Value, v)
	}
}

func (t *trial) errorOf(err error) *pb.Error {
	e, ok := errors.AsType[*weft.Error](err)
	if !ok {
		return &pb.Error{Code: pb.Code(weft.CodeOf(err)), Message: proto.String(err.Error())}
	}
	out := &pb.Error{Code: pb.Code(e.Code), Message: proto.String(e.Message)}
	for _, d := range e.Details {
		out.Details = append(out.Details, &anypb.Any{TypeUrl: "type.googleapis.com/" + d.Type, Value: d.Value})
	}
	return out
}

func (t *trial) add(m any) {
	if p, ok := m.(interface{ GetPayload() *pb.ConformancePayload }); ok {
		t.result.Payloads = append(t.result.Payloads, p.GetPayload())
	}
}

func (t *trial) pause() {
	time.Sleep(time.Duration(t.req.RequestDelayMs) * time.Millisecond)
}

func unaryCall[Q, R any](t *trial) error {
	q := new(Q)
	if err := t.req.RequestMessages[0].UnmarshalTo(any(q).(proto.Message)); err != nil {
		return err
	}
	t.pause()
	if k := t.req.Cancel; k != nil {
		time.AfterFunc(time.Duration(k.GetAfterCloseSendMs())*time.Millisecond, t.cancel)
	}
	r, err := weft.Invoke[R](t.ctx, t.c, t.method, q, t.opts...)
	if err != nil {
		return err
	}
	t.add(r)
	return nil
}

func streamCall[Q, R any](t *trial) error {
	s, err := weft.OpenStream[Q, R](t.ctx, t.c, t.method, t.opts...)
	if err != nil {
		return err
	}
	defer s.Close()
	full := t.req.StreamType == pb.StreamType_STREAM_TYPE_FULL_DUPLEX_BIDI_STREAM
	received := func() error {
		r, err := s.Recv()
		if err != nil {
			return err
		}
		t.add(r)
		if k, ok := t.req.GetCancel().GetCancelTiming().(*pb.ClientCompatRequest_Cancel_AfterNumResponses); ok && len(t.result.Payloads) == int(k.AfterNumResponses) {
			t.cancel()
		}
		return nil
	}
	for i, a := range t.req.RequestMessages {
		q := new(Q)
		if err := a.UnmarshalTo(any(q).(proto.Message)); err != nil {
			return err
		}
		t.pause()
		if err := s.Send(q); err != nil {
			t.result.NumUnsentRequests = int32(len(t.req.RequestMessages) - i)
			break
		}
		if full {
			if err := received(); err == io.EOF {
				t.result.NumUnsentRequests = int32(len(t.req.RequestMessages) - i - 1)
				break
			} else if err != nil {
				t.result.NumUnsentRequests = int32(len(t.req.RequestMessages) - i - 1)
				return err
			}
		}
	}
	switch k := t.req.GetCancel().GetCancelTiming().(type) {
	case *pb.ClientCompatRequest_Cancel_BeforeCloseSend:
		t.cancel()
	case *pb.ClientCompatRequest_Cancel_AfterCloseSendMs:
		time.AfterFunc(time.Duration(k.AfterCloseSendMs)*time.Millisecond, t.cancel)
		err = s.CloseSend()
	default:
		err = s.CloseSend()
	}
	if err != nil {
		return err
	}
	if t.req.StreamType == pb.StreamType_STREAM_TYPE_CLIENT_STREAM {
		r, err := s.CloseAndRecv()
		if err != nil {
			return err
		}
		t.add(r)
		return nil
	}
	for {
		if err := received(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}
