package frame

import "encoding/binary"

// Begin appends the header of a frame, without its length, and the names. at is where the frame
// begins, for End.
func Begin(b []byte, flags, serial byte, seq uint64, names []byte) (out []byte, at int) {
	at = len(b)
	b = append(b, Magic, 0, flags, serial<<SerialShift)
	b = binary.BigEndian.AppendUint64(b, seq)
	b = append(b, 0, 0, 0, 0)
	return append(b, names...), at
}

// End sets the length of the frame that begins at at and ends with b.
func End(b []byte, at int) {
	binary.BigEndian.PutUint32(b[at+HeaderSize-4:], uint32(len(b)-at-HeaderSize))
}

// Open appends the length of a part that is appended next, for Close to set.
func Open(b []byte) (out []byte, at int) { return append(b, 0, 0, 0, 0), len(b) }

// Close sets the length of the part that was opened at at and ends with b.
func Close(b []byte, at int) { binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4)) }

// AppendPart appends a part with its length.
func AppendPart(b []byte, part string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(part))), part...)
}

// AppendPair appends a pair of metadata.
func AppendPair(b []byte, key, value string) []byte { return AppendPart(AppendPart(b, key), value) }

// Names are a path and a method as they stand in a frame.
func Names(path, method string) []byte { return AppendPart(AppendPart(nil, path), method) }
