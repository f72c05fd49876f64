package interop

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/codec"
	"github.com/weftrpc/weft/door/doortest"
)

// grpcCodec lets grpc-go use a codec of weft.
type grpcCodec struct{ codec.Codec }

var _ encoding.Codec = grpcCodec{}

func (c grpcCodec) Marshal(v any) ([]byte, error)      { return c.Append(nil, v) }
func (c grpcCodec) Unmarshal(data []byte, v any) error { return c.Decode(data, v) }

// stock is a client of grpc-go for doortest.
type stock struct {
	conn  *grpc.ClientConn
	under net.Conn
}

// dialStock makes a client on a connection.
func dialStock(c codec.Codec) func(net.Conn) (doortest.Client, error) {
	return func(conn net.Conn) (doortest.Client, error) {
		var once sync.Once
		cc, err := grpc.NewClient("passthrough:///"+conn.RemoteAddr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(context.Context, string) (nc net.Conn, err error) {
				err = errors.New("the connection was used")
				once.Do(func() { nc, err = conn, nil })
				return nc, err
			}),
			grpc.WithDefaultCallOptions(grpc.ForceCodec(grpcCodec{c}), grpc.MaxCallRecvMsgSize(64<<20), grpc.MaxCallSendMsgSize(64<<20)),
			grpc.WithDisableRetry(), grpc.WithNoProxy())
		if err != nil {
			return nil, err
		}
		cc.Connect()
		within := 3 * time.Second // of a connection that reads nothing
		switch conn.(type) {
		case *net.TCPConn, *tls.Conn:
			within = time.Minute // a busy machine takes its time
		}
		ctx, cancel := context.WithTimeout(context.Background(), within)
		defer cancel()
		for s, begun := cc.GetState(), false; s != connectivity.Ready && s != connectivity.TransientFailure && !(begun && s == connectivity.Idle); s = cc.GetState() {
			begun = begun || s == connectivity.Connecting
			if !cc.WaitForStateChange(ctx, s) { // a server that does not read
				cc.Close()
				conn.Close()
				return nil, errors.New("the connection is not ready")
			}
		}
		return &stock{cc, conn}, nil
	}
}

func (s *stock) Call(method string, args, reply any) error {
	_, err := s.CallWith(context.Background(), method, args, reply, weft.Metadata{})
	return err
}

// CallWith implements doortest.CarryingClient.
func (s *stock) CallWith(ctx context.Context, method string, args, reply any, m weft.Metadata) (back weft.Metadata, err error) {
	for key, value := range m.All() {
		ctx = metadata.AppendToOutgoingContext(ctx, key, value)
	}
	var header, trailer metadata.MD
	err = s.conn.Invoke(ctx, path(method), args, reply, grpc.Header(&header), grpc.Trailer(&trailer))
	for key, values := range metadata.Join(header, trailer) {
		for _, value := range values {
			back = back.With(key, value)
		}
	}
	if st, ok := status.FromError(err); ok && err != nil {
		err = weft.Errorf(weft.Code(st.Code()), "%s", st.Message())
	}
	return back, err
}

func (s *stock) Close() error {
	err := s.conn.Close()
	s.under.Close()
	return err
}

// path is that of a method.
func path(method string) string {
	for i := len(method) - 1; i >= 0; i-- {
		if method[i] == '.' {
			return "/" + method[:i] + "/" + method[i+1:]
		}
	}
	return method
}
