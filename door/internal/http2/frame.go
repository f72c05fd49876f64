package http2

import "encoding/binary"

// appendFrame appends the header of a frame whose payload of n bytes comes next.
func appendFrame(b []byte, n int, typ, flags byte, id uint32) []byte {
	return append(b, byte(n>>16), byte(n>>8), byte(n), typ, flags, byte(id>>24), byte(id>>16), byte(id>>8), byte(id))
}

func appendSetting(b []byte, id uint16, v uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, id), v)
}

func appendWindow(b []byte, id, n uint32) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(b, 4, typeWindow, 0, id), n)
}

func appendReset(b []byte, id uint32, code ErrCode) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(b, 4, typeReset, 0, id), uint32(code))
}

// maxDebug is how many bytes of explanation a GOAWAY carries.
const maxDebug = 1 << 10

func appendGoAway(b []byte, last uint32, code ErrCode, debug string) []byte {
	debug = debug[:min(len(debug), maxDebug)]
	b = appendFrame(b, 8+len(debug), typeGoAway, 0, 0)
	b = binary.BigEndian.AppendUint32(b, last)
	b = binary.BigEndian.AppendUint32(b, uint32(code))
	return append(b, debug...)
}

// unpad takes the padding, and the priority of HEADERS, off a payload.
func unpad(typ, flags byte, id uint32, p []byte) ([]byte, error) {
	pad := 0
	if flags&flagPadded != 0 {
		if len(p) == 0 {
			return nil, breach(FrameSizeError, "a padded frame without a length of its padding")
		}
		pad = int(p[0])
		p = p[1:]
	}
	if typ == typeHeaders && flags&flagPriority != 0 {
		if len(p) < 5 {
			return nil, breach(FrameSizeError, "HEADERS too short for their priority")
		}
		if binary.BigEndian.Uint32(p)&^(1<<31) == id {
			return nil, breach(ProtocolError, "stream %d depends on itself", id)
		}
		p = p[5:]
	}
	if pad > len(p) {
		return nil, breach(ProtocolError, "more padding than payload")
	}
	return p[:len(p)-pad], nil
}

// number31 reads the 31 bits that most numbers have.
func number31(p []byte) uint32 { return binary.BigEndian.Uint32(p) &^ (1 << 31) }
