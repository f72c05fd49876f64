package weft

import (
	"github.com/weftrpc/weft/compress"
	"github.com/weftrpc/weft/internal/restore"
)

// Restoring returns z for the request of the call, for a door that decodes it: what it becomes counts until the
// call ends, as one that came as it is, and is refused with an *Error before there is memory for it. What a message of a stream becomes
// counts until DecodeBody has decoded it. What may be large waits for its turn, as in DecodeInTurn.
func (x *DoorCall) Restoring(z compress.Compressor) compress.Compressor { return restoring{z, x} }

type restoring struct {
	compress.Compressor
	x *DoorCall
}

// Decompress implements compress.Compressor.
func (r restoring) Decompress(dst, src []byte, most int) (out []byte, err error) {
	turn := func(f func() error) error { return r.x.a.h.turn(r.x.a.ctx, f) }
	err = restore.Within(len(src), most, turn, func(limit int) error {
		out, err = r.within(dst, src, limit)
		return err
	})
	return out, err
}

// within undoes the compression of what becomes at most limit bytes, for which there must be room meanwhile.
func (r restoring) within(dst, src []byte, limit int) (out []byte, err error) {
	if e := r.x.conn.takeBytes(limit); e != nil {
		return nil, e
	}
	kept := 0
	defer func() { r.x.conn.giveBytes(limit - kept) }() // also when the compressor panics
	if out, err = r.Compressor.Decompress(dst, src, limit); err != nil {
		return nil, err
	}
	kept = len(out) - len(dst)
	r.x.restored.Add(int64(kept))
	return out, nil
}

// decoded has what a message of a stream has become count no more.
func (x *DoorCall) decoded() {
	if x.restored.Load() > 0 {
		x.conn.giveBytes(int(x.restored.Swap(0)))
	}
}
