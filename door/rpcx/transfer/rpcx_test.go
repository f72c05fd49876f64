package transfer_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// What follows is what a client of rpcx does, on plain sockets: it knows neither this package nor the frames of package rpcx.

// patience bounds what must happen.
const patience = 20 * time.Second

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	must(t, err)
	return b
}

// part is a part of a frame behind its length.
func part(b []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(text))), text...)
}

// request is a call as rpcx's client sends it.
func request(service, method string, third byte, meta map[string]string, payload []byte) []byte {
	var pairs []byte
	for k, v := range meta {
		pairs = part(part(pairs, k), v)
	}
	body := part(part(part(part(nil, service), method), string(pairs)), string(payload))
	b := []byte{8, 0, 0, third, 0, 0, 0, 0, 0, 0, 0, 1}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(body))), body...)
}

// exchange sends a request and returns the payload of the response and whether it is an error.
func exchange(t testing.TB, addr string, request []byte) (payload []byte, failed bool) {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = conn.Write(request)
	must(t, err)
	head := make([]byte, 16)
	_, err = io.ReadFull(conn, head)
	must(t, err)
	body := make([]byte, binary.BigEndian.Uint32(head[12:]))
	_, err = io.ReadFull(conn, body)
	must(t, err)
	for range 3 { // path, method, metadata
		body = body[4+binary.BigEndian.Uint32(body):]
	}
	return body[4:], head[2]&1 != 0
}

// msgpackReply takes the token and the address off a reply as rpcx's client reads it.
func msgpackReply(t testing.TB, payload []byte) (token []byte, addr string) {
	t.Helper()
	head, middle := unhex(t, "82 a5 546f6b656e c4 20"), unhex(t, "a4 41646472")
	rest, ok := bytes.CutPrefix(payload, head)
	if !ok || len(rest) < 32+len(middle)+1 || !bytes.Equal(rest[32:32+len(middle)], middle) || int(rest[32+len(middle)]) != 0xa0+len(rest)-32-len(middle)-1 {
		t.Fatalf("the reply is % x", payload)
	}
	return rest[:32], string(rest[32+len(middle)+1:])
}

// dialSecond makes a second connection.
func dialSecond(t testing.TB, addr string, token []byte) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = conn.Write(token)
	must(t, err)
	return conn.(*net.TCPConn)
}

// The arguments of rpcx's client for file a.txt of 5 bytes, with the pair k=v.
const (
	uploadMsgpack   = "83 a8 46696c654e616d65 a5 612e747874 a8 46696c6553697a65 d3 0000000000000005 a4 4d657461 81 a1 6b a1 76"
	downloadMsgpack = "82 a8 46696c654e616d65 a5 612e747874 a4 4d657461 c0"
	streamMsgpack   = "81 a4 4d657461 81 a1 6b a1 76"
	uploadJSON      = `{"file_name":"a.txt","file_size":5,"meta":{"k":"v"}}`
)

const (
	inJSON    = 0x10
	inMsgpack = 0x30
)

// token asks for a second connection by MessagePack.
func token(t testing.TB, addr, service, method, args string) (token []byte, second string) {
	t.Helper()
	payload, failed := exchange(t, addr, request(service, method, inMsgpack, nil, unhex(t, args)))
	if failed {
		t.Fatalf("%s.%s failed", service, method)
	}
	return msgpackReply(t, payload)
}
