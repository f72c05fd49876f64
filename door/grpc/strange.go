package grpc

// strange is the body of the answer to a request of HTTP/2 that is none of gRPC.
const strange = "this is a gRPC endpoint; it takes requests with the method POST and the content type application/grpc. " +
	"If the server has a door for HTTP/1.1 as well, use HTTP/1.1 (curl --http1.1)\n"

// answerHTTP answers what is no call of gRPC.
func (s *serverConn) answerHTTP(x *call, status string) {
	x.refused = true
	head := s.req.head
	s.conn.Lock()
	defer s.conn.Unlock()
	if !s.conn.OpenLocked(&x.st) {
		return
	}
	at := s.conn.StartHeadersLocked(&x.st, head)
	e := &s.conn.Enc
	b := e.Literal(s.conn.BufferLocked(), ":status", status)
	b = e.Literal(b, contentType, "text/plain; charset=utf-8")
	if status == "405" {
		b = e.Literal(b, "allow", "POST")
	}
	s.conn.SetBufferLocked(b)
	s.conn.EndHeadersLocked(at)
	if head {
		s.conn.SaidLocked(&x.st)
		return
	}
	s.conn.QueueDataLocked(&x.st, []byte(strange), true, nil)
}
