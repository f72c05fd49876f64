package weft

import (
	"errors"

	"github.com/weftrpc/weft/compress"
)

// Restoring returns z for the request of the call, for a door that decodes it: what it becomes counts until the
// call ends, as one that came as it is, and is refused with an *Error before there is memory for it.
func (x *DoorCall) Restoring(z compress.Compressor) compress.Compressor { return restoring{z, x} }

type restoring struct {
	compress.Compressor
	x *DoorCall
}

// Decompress implements compress.Compressor. Most bodies become no longer than the first limit.
func (r restoring) Decompress(dst, src []byte, most int) (out []byte, err error) {
	err = compress.ErrTooLarge
	for limit := 0; errors.Is(err, compress.ErrTooLarge) && limit < most; {
		limit = min(max(4*limit, 16*len(src), 4<<10), most)
		out, err = r.within(dst, src, limit)
	}
	return out, err
}

// within undoes the compression of what becomes at most limit bytes, for which there must be room meanwhile.
func (r restoring) within(dst, src []byte, limit int) (out []byte, err error) {
	if e := r.x.conn.takeBytes(limit); e != nil {
		return nil, e
	}
	kept := 0
	defer func() { r.x.conn.giveBytes(limit - kept) }() // also when the compressor panics
	if out, err = r.Compressor.Decompress(dst, src, limit); err == nil {
		kept = len(out) - len(dst)
		r.x.size += kept
	}
	return out, err
}
