package wire

import (
	"encoding/binary"
	"hash/crc32"
)

// castagnoli is the table of CRC-32C, which processors compute in hardware.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendChecksum appends the checksum of a frame, which stands at dst[from:]: its
// header and its payload.
func AppendChecksum(dst []byte, from int) []byte {
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[from:], castagnoli))
}

// ChecksumOK reports whether sum, the ChecksumSize bytes behind a frame, fits the
// frame.
func ChecksumOK(frame, sum []byte) bool {
	return crc32.Checksum(frame, castagnoli) == binary.LittleEndian.Uint32(sum)
}
