package record

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// magic begins a file; its last byte is the version of the format.
const magic = "weftrec\x01"

// The parts of a frame.
const (
	headSize = 8        // the length of the payload and its checksum
	maxFrame = 64 << 20 // bytes of a payload
)

func checksum(payload []byte) uint32 {
	return crc32.Checksum(payload, crc32.MakeTable(crc32.Castagnoli))
}

// appendFrame appends a frame.
func appendFrame(dst, payload []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(payload)))
	dst = binary.LittleEndian.AppendUint32(dst, checksum(payload))
	return append(dst, payload...)
}

// frames reads the frames of a file.
type frames struct {
	r  *bufio.Reader
	at int64 // where the next frame begins
}

// begin reads the head of a file.
func (f *frames) begin() error {
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(f.r, head); err != nil {
		return fmt.Errorf("it is shorter than the head of a file of calls")
	}
	if n := len(magic) - 1; string(head[:n]) != magic[:n] {
		return fmt.Errorf("it is no file of calls")
	} else if head[n] != magic[n] {
		return fmt.Errorf("it is of version %d, and this program reads %d", head[n], magic[n])
	}
	f.at = int64(len(magic))
	return nil
}

// next reads a frame; io.EOF says that there is none.
func (f *frames) next() ([]byte, error) {
	var head [headSize]byte
	if n, err := io.ReadFull(f.r, head[:]); err == io.EOF {
		return nil, io.EOF
	} else if err != nil {
		return nil, cutOff(err, n)
	}
	size := binary.LittleEndian.Uint32(head[:])
	if size > maxFrame {
		return nil, fmt.Errorf("the frame says that it has %d bytes, more than %d", size, maxFrame)
	}
	payload, err := io.ReadAll(io.LimitReader(f.r, int64(size))) // which grows with what is there
	if err == nil && len(payload) < int(size) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, cutOff(err, headSize+len(payload))
	}
	if checksum(payload) != binary.LittleEndian.Uint32(head[4:]) {
		return nil, errors.New("the checksum of the frame is wrong")
	}
	f.at += headSize + int64(size)
	return payload, nil
}

func cutOff(err error, n int) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the file ends in the middle of a frame, of which %d bytes are there", n)
	}
	return err
}
