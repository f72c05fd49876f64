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
	nethttp "net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/compress/gzip"
	"github.com/weftrpc/weft/door/connect"
	"github.com/weftrpc/weft/door/connect/internal/interop/conformance/pb"
	"github.com/weftrpc/weft/door/grpc"
	"github.com/weftrpc/weft/door/http"
)

// service is what the suite calls.
const service = "connectrpc.conformance.v1.ConformanceService."

// server serves until it is told to end.
func server(ctx context.Context) error {
	req := new(pb.ServerCompatRequest)
	if err := receive(os.Stdin, req); err != nil {
		return err
	}
	leading := func(key string) bool { return !strings.Contains(key, "trailer") }
	web := &http.Config{Front: func(_ *weft.DoorConn, next nethttp.Handler) nethttp.Handler { return queries{next} }}
	cfg := &weft.ServerConfig{
		Doors: connect.Doors(&connect.Config{Leading: leading, HTTP: web, GRPC: &grpc.Config{Leading: leading},
			Compressors: []compress.Compressor{gzip.New()}}),
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})), Timeout: -1,
		Compressors: []compress.Compressor{gzip.New()}, Compressor: gzip.New(),
		Limits: weft.Limits{MaxMessage: int(req.MessageReceiveLimit)},
	}
	if req.UseTls {
		cert, err := tls.X509KeyPair(req.ServerCreds.Cert, req.ServerCreds.Key)
		if err != nil {
			return err
		}
		cfg.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
		if len(req.ClientTlsCert) > 0 {
			cfg.TLS.ClientAuth, cfg.TLS.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
			cfg.TLS.ClientCAs.AppendCertsFromPEM(req.ClientTlsCert)
		}
	}
	srv := weft.NewServer(cfg)
	err := errors.Join(
		weft.Handle(srv, service+"Unary", answer(func(p *pb.ConformancePayload) *pb.UnaryResponse { return &pb.UnaryResponse{Payload: p} }, (*pb.UnaryRequest).GetResponseDefinition)),
		weft.Handle(srv, service+"IdempotentUnary", answer(func(p *pb.ConformancePayload) *pb.IdempotentUnaryResponse {
			return &pb.IdempotentUnaryResponse{Payload: p}
		}, (*pb.IdempotentUnaryRequest).GetResponseDefinition), weft.Idempotent()),
		weft.HandleServerStream(srv, service+"ServerStream", serverStream),
		weft.HandleClientStream(srv, service+"ClientStream", clientStream),
		weft.HandleStream(srv, service+"BidiStream", bidiStream),
	)
	if err != nil {
		return err
	}
	l, err := srv.Listen(ctx, "tcp://127.0.0.1:0")
	if err != nil {
		return err
	}
	res := &pb.ServerCompatResponse{Host: "127.0.0.1", Port: uint32(l.Addr().(*net.TCPAddr).Port)}
	if req.UseTls {
		res.PemCert = req.ServerCreds.Cert
	}
	if err := send(os.Stdout, res); err != nil {
		return err
	}
	told, cancel := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer cancel()
	context.AfterFunc(told, func() { srv.Close() })
	if err := srv.Serve(l); !errors.Is(err, weft.ErrServerClosed) {
		return err
	}
	return nil
}

// queryKey is the key of the metadata that has the query of a GET.
const queryKey = "conformance-query"

// queries gives handlers the query of a GET as metadata.
type queries struct{ next nethttp.Handler }

func (q queries) ServeHTTP(w nethttp.ResponseWriter, r *nethttp.Request) {
	if r.Method == nethttp.MethodGet {
		r.Header.Set(queryKey, r.URL.RawQuery)
	}
	q.next.ServeHTTP(w, r)
}

// answer is a unary handler.
func answer[Q, R any](reply func(*pb.ConformancePayload) *R, definition func(*Q) *pb.UnaryResponseDefinition) func(context.Context, *Q) (*R, error) {
	return func(ctx context.Context, q *Q) (*R, error) {
		p, err := payload(ctx, definition(q), any(q).(proto.Message))
		if err != nil {
			return nil, err
		}
		return reply(p), nil
	}
}

// payload is what a method with one reply answers.
func payload(ctx context.Context, def *pb.UnaryResponseDefinition, reqs ...proto.Message) (*pb.ConformancePayload, error) {
	info, err := infoOf(ctx, reqs...)
	if err != nil {
		return nil, err
	}
	if err := setHeaders(ctx, def.GetResponseHeaders(), def.GetResponseTrailers()); err != nil {
		return nil, err
	}
	if err := pause(ctx, def.GetResponseDelayMs()); err != nil {
		return nil, err
	}
	if e := def.GetError(); e != nil {
		return nil, errorOf(e, info)
	}
	return &pb.ConformancePayload{Data: def.GetResponseData(), RequestInfo: info}, nil
}

func pause(ctx context.Context, ms uint32) error {
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func setHeaders(ctx context.Context, lists ...[]*pb.Header) error {
	for _, list := range lists {
		for _, h := range list {
			for _, v := range h.Value {
				if strings.HasSuffix(strings.ToLower(h.Name), "-bin") {
					b, err := unbase64(v)
					if err != nil {
						return err
					}
					v = string(b)
				}
				if err := weft.SetReplyMetadata(ctx, strings.ToLower(h.Name), v); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// errorOf is an error that the suite asks for; info is in its details, if it is not nil.
func errorOf(e *pb.Error, info *pb.ConformancePayload_RequestInfo) error {
	out := weft.Errorf(weft.Code(e.Code), "%s", e.GetMessage())
	for _, d := range e.Details {
		out = out.WithDetail(string(d.MessageName()), d.Value)
	}
	if info != nil {
		b, err := proto.Marshal(info)
		if err != nil {
			return err
		}
		out = out.WithDetail(string(info.ProtoReflect().Descriptor().FullName()), b)
	}
	return out
}

// infoOf is what the server has seen of a call.
func infoOf(ctx context.Context, reqs ...proto.Message) (*pb.ConformancePayload_RequestInfo, error) {
	info := new(pb.ConformancePayload_RequestInfo)
	for _, q := range reqs {
		a, err := anypb.New(q)
		if err != nil {
			return nil, err
		}
		info.Requests = append(info.Requests, a)
	}
	if at, ok := ctx.Deadline(); ok {
		info.TimeoutMs = proto.Int64(time.Until(at).Milliseconds())
	}
	values := make(map[string]*pb.Header)
	for k, v := range weft.MetadataFrom(ctx).All() {
		if k == queryKey {
			q, err := url.ParseQuery(v)
			if err != nil {
				return nil, err
			}
			info.ConnectGetInfo = new(pb.ConformancePayload_ConnectGetInfo)
			for name, all := range q {
				info.ConnectGetInfo.QueryParams = append(info.ConnectGetInfo.QueryParams, &pb.Header{Name: name, Value: all})
			}
			continue
		}
		if strings.HasSuffix(k, "-bin") {
			v = tobase64(v)
		}
		h := values[k]
		if h == nil {
			h = &pb.Header{Name: k}
			values[k] = h
			info.RequestHeaders = append(info.RequestHeaders, h)
		}
		h.Value = append(h.Value, v)
	}
	return info, nil
}

func serverStream(ctx context.Context, q *pb.ServerStreamRequest, out *weft.Sender[pb.ServerStreamResponse]) error {
	info, err := infoOf(ctx, q)
	if err != nil {
		return err
	}
	def := q.ResponseDefinition
	if err := setHeaders(ctx, def.GetResponseHeaders(), def.GetResponseTrailers()); err != nil {
		return err
	}
	for _, data := range def.GetResponseData() {
		if err := pause(ctx, def.ResponseDelayMs); err != nil {
			return err
		}
		if err := out.Send(&pb.ServerStreamResponse{Payload: &pb.ConformancePayload{Data: data, RequestInfo: info}}); err != nil {
			return err
		}
		info = nil
	}
	if e := def.GetError(); e != nil {
		return errorOf(e, info)
	}
	return nil
}

func clientStream(ctx context.Context, in *weft.Receiver[pb.ClientStreamRequest]) (*pb.ClientStreamResponse, error) {
	var def *pb.UnaryResponseDefinition
	var reqs []proto.Message
	for q, err := range in.All() {
		if err != nil {
			return nil, err
		}
		if len(reqs) == 0 {
			def = q.ResponseDefinition
		}
		reqs = append(reqs, proto.Clone(q))
	}
	p, err := payload(ctx, def, reqs...)
	if err != nil {
		return nil, err
	}
	return &pb.ClientStreamResponse{Payload: p}, nil
}

func bidiStream(ctx context.Context, s *weft.Stream[pb.BidiStreamRequest, pb.BidiStreamResponse]) error {
	var def *pb.StreamResponseDefinition
	var reqs []proto.Message
	full, first, sent := false, true, 0
	reply := func(data []byte, whole bool) error {
		info, err := infoOf(ctx, reqs...)
		if err != nil {
			return err
		}
		if !whole {
			info = &pb.ConformancePayload_RequestInfo{Requests: info.Requests}
		}
		if len(reqs) == 0 && !whole {
			info = nil
		}
		if err := pause(ctx, def.ResponseDelayMs); err != nil {
			return err
		}
		sent++
		return s.Send(&pb.BidiStreamResponse{Payload: &pb.ConformancePayload{Data: data, RequestInfo: info}})
	}
	for {
		q, err := s.Recv()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("receive a request: %w", err)
		}
		reqs = append(reqs, proto.Clone(q))
		if first {
			first, def, full = false, q.ResponseDefinition, q.FullDuplex
			if err := setHeaders(ctx, def.GetResponseHeaders(), def.GetResponseTrailers()); err != nil {
				return err
			}
		}
		if full {
			if sent >= len(def.GetResponseData()) {
				break
			}
			if err := reply(def.ResponseData[sent], sent == 0); err != nil {
				return err
			}
			reqs = nil
		}
	}
	for sent < len(def.GetResponseData()) {
		if err := reply(def.ResponseData[sent], sent == 0); err != nil {
			return err
		}
		reqs = nil
	}
	if e := def.GetError(); e != nil {
		if sent > 0 {
			return errorOf(e, nil)
		}
		info, err := infoOf(ctx, reqs...)
		if err != nil {
			return err
		}
		return errorOf(e, info)
	}
	return nil
}
