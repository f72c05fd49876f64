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
		if e := r.x.conn.takeBytes(limit); e != nil {
			return nil, e
		}
		out, err = r.Compressor.Decompress(dst, src, limit)
		if err == nil {
			r.x.size, limit = r.x.size+len(out)-len(dst), limit-len(out)+len(dst)
		}
		r.x.conn.giveBytes(limit)
	}
	return out, err
}
