package zookeeper

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The protocol is that of zookeeper.jute and ZooKeeperServer.java, in the source of
// ZooKeeper: frames of at most some MiB with their length before them, in which
// numbers are big-endian and texts and lists have their length before them.

// op is the number of an operation.
type op int32

const (
	opCreate   op = 1
	opDelete   op = 2
	opExists   op = 3
	opGet      op = 4
	opSet      op = 5
	opSync     op = 9
	opPing     op = 11
	opChildren op = 12 // with what ZooKeeper knows of the node
	opMulti    op = 14
	opAuth     op = 100
	opClose    op = -11
)

// The numbers of what is no answer to one of many requests.
const (
	xidEvent int32 = -1
	xidPing  int32 = -2
	xidAuth  int32 = -4
)

// fault is why a server has not done what it was asked to do.
type fault int32

const (
	errNoNode     fault = -101
	errNoAuth     fault = -102
	errBadVersion fault = -103
	errNodeExists fault = -110
)

// Error says what the fault is, and what can be done.
func (f fault) Error() string {
	switch f {
	case errNoNode:
		return "there is no such node"
	case errNoAuth:
		return "the node's ACL denies it; use the User and Password with which the nodes below Prefix were made"
	case errBadVersion:
		return "the node has changed meanwhile"
	case errNodeExists:
		return "the node exists"
	case -108:
		return "an ephemeral node cannot have others below it; use another Prefix"
	case -112:
		return "the session has expired"
	case -114:
		return "the ACL is invalid; is the server configured for the digest scheme?"
	case -115:
		return "the server does not take the User and Password; is it configured for the digest scheme?"
	case -118:
		return "the session has moved to another server"
	case -125:
		return "the quota of the node is used up; raise it or use another Prefix"
	}
	return fmt.Sprintf("the server answers with error %d (see KeeperException.Code of ZooKeeper)", int32(f))
}

// stat is what ZooKeeper knows of a node, as far as it is used.
type stat struct {
	mzxid   int64 // the transaction that changed the value last
	pzxid   int64 // the one in which a node below came or went last
	version int32 // of the value
	owner   int64 // the session of an ephemeral node
}

func putInt(b []byte, n int32) []byte  { return binary.BigEndian.AppendUint32(b, uint32(n)) }
func putLong(b []byte, n int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(n)) }

func putBool(b []byte, is bool) []byte {
	if is {
		return append(b, 1)
	}
	return append(b, 0)
}

func putText[T string | []byte](b []byte, text T) []byte {
	return append(putInt(b, int32(len(text))), text...)
}

// decoder takes a message apart. What is not there is zero, and an error at the end.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.rest) {
		d.bad = true
		return make([]byte, min(max(n, 0), 8))
	}
	taken := d.rest[:n:n]
	d.rest = d.rest[n:]
	return taken
}

func (d *decoder) int() int32  { return int32(binary.BigEndian.Uint32(d.take(4))) }
func (d *decoder) long() int64 { return int64(binary.BigEndian.Uint64(d.take(8))) }

// bytes is a text; a missing one, of length -1, is empty.
func (d *decoder) bytes() []byte {
	n := d.int()
	if d.bad || n == -1 {
		return nil
	}
	text := d.take(int(n))
	if d.bad {
		return nil
	}
	return text
}

// texts is a list of texts. Nothing is allocated for what a length says alone.
func (d *decoder) texts() []string {
	var all []string
	for range max(d.int(), 0) {
		all = append(all, string(d.bytes()))
		if d.bad {
			return nil
		}
	}
	return all
}

func (d *decoder) stat() (s stat) {
	d.long() // the transaction that made it
	s.mzxid = d.long()
	d.take(16) // times
	s.version = d.int()
	d.take(8) // versions of the nodes below and of the ACL
	s.owner = d.long()
	d.take(8) // the length of the value and the number of nodes below
	s.pzxid = d.long()
	return s
}

// errStranger is said of what does not speak the protocol.
var errStranger = errors.New("what answers is no ZooKeeper")

func (d *decoder) err() error {
	if d.bad {
		return errStranger
	}
	return nil
}

// frame puts the length before a message, which begins with four bytes for it.
func frame(message []byte) []byte {
	binary.BigEndian.PutUint32(message, uint32(len(message)-4))
	return message
}

// readSize reads the length of a message.
func readSize(r io.Reader) (int64, error) {
	var head [4]byte
	_, err := io.ReadFull(r, head[:])
	return int64(binary.BigEndian.Uint32(head[:])), err
}

// readMessage reads a message. What it allocates grows with what comes, and not with
// what the length says.
func readMessage(r io.Reader, size int64) ([]byte, error) {
	var message bytes.Buffer
	_, err := io.CopyN(&message, r, size)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return message.Bytes(), err
}
