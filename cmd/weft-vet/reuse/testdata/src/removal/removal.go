// Package removal removes elements of lists in a request.
package removal

import (
	"context"
	"slices"

	"github.com/weftrpc/weft"
)

type item struct {
	Name  string
	Parts []string
}

type flat struct {
	Name string
	Data []byte
}

type message struct {
	Items    []item
	Pointers []*item
	Flats    []flat
	N        int
}

func register(r weft.Registrar) {
	i, j := 1, 2
	_ = weft.HandleReuse(r, "R.Left", func(ctx context.Context, req, res *message) error {
		copy(req.Items[i:], req.Items[i+1:]) // want `copy leaves the last elements of req.Items behind its end too, where the next message is decoded: use slices.Delete`
		req.Items = req.Items[:len(req.Items)-1]

		pointers := req.Pointers
		n := copy(pointers[i:], pointers[j:]) // want `copy leaves the last elements of pointers behind its end too`
		req.Pointers = pointers[:i+n]
		return nil
	})
	_ = weft.HandleReuse(r, "R.Moved", func(ctx context.Context, req, res *message) error {
		req.Items[i] = req.Items[len(req.Items)-1] // want `the assignment leaves the last elements of req.Items behind its end too`
		req.Items = req.Items[:len(req.Items)-1]
		return nil
	})
	_ = weft.HandleReuse(r, "R.Flat", func(ctx context.Context, req, res *message) error {
		copy(req.Flats[i:], req.Flats[i+1:]) // strings and bytes are decoded anew
		req.Flats = req.Flats[:len(req.Flats)-1]
		req.Flats[i] = req.Flats[len(req.Flats)-1]
		req.Flats = req.Flats[:len(req.Flats)-1]
		return nil
	})
	_ = weft.HandleReuse(r, "R.Cleared", func(ctx context.Context, req, res *message) error {
		last := len(req.Items) - 1
		copy(req.Items[i:], req.Items[i+1:])
		req.Items[last] = item{}
		req.Items = req.Items[:last]

		req.Pointers[i] = req.Pointers[j]
		req.Pointers[j] = nil
		req.Pointers = req.Pointers[:j]
		return nil
	})
	_ = weft.HandleReuse(r, "R.ClearedAll", func(ctx context.Context, req, res *message) error {
		n := copy(req.Items[i:], req.Items[j:])
		clear(req.Items[i+n:])
		req.Items = req.Items[:i+n]
		return nil
	})
	_ = weft.HandleReuse(r, "R.Swapped", func(ctx context.Context, req, res *message) error {
		it := req.Items[i]
		req.Items[i] = req.Items[j]
		req.Items[j] = it
		req.Items = req.Items[:j]
		return nil
	})
	_ = weft.HandleReuse(r, "R.Other", func(ctx context.Context, req, res *message) error {
		req.Items[i], req.Items[j] = req.Items[j], req.Items[i]
		req.Items = req.Items[:j]
		req.Items = slices.Delete(req.Items, i, j)
		mine := []item{{}, {}}
		copy(mine[i:], mine[j:])
		mine = mine[:1]
		res.Items = make([]item, 2)
		copy(res.Items[i:], res.Items[j:])
		res.Items = res.Items[:1]
		copy(req.Pointers, req.Pointers[i:]) // the list is not cut
		return nil
	})
}

func appended(r weft.Registrar) {
	i, j := 1, 2
	_ = weft.HandleReuse(r, "A.Left", func(ctx context.Context, req, res *message) error {
		req.Items = append(req.Items[:i], req.Items[j:]...) // want `append leaves the last elements of req.Items behind its end too`
		items := req.Items
		items = append(items[:i], items[j:]...) // want `append leaves the last elements of items behind its end too`
		clear(res.Items[i:])
		clear(req.Pointers[i:])
		return nil
	})
	_ = weft.HandleReuse(r, "A.Before", func(ctx context.Context, req, res *message) error {
		clear(req.Items[j:])
		req.Items = append(req.Items[:i], req.Items[j:]...) // want `append leaves the last elements of req.Items behind its end too`
		return nil
	})
	_ = weft.HandleReuse(r, "A.ClearedTo", func(ctx context.Context, req, res *message) error {
		n := len(req.Items)
		req.Items = append(req.Items[:i], req.Items[i+1:]...)
		clear(req.Items[len(req.Items):n])
		req.Pointers = append(req.Pointers[:0], req.Pointers[1:]...)
		clear(req.Pointers[len(req.Pointers):cap(req.Pointers)])
		return nil
	})
	_ = weft.HandleReuse(r, "A.ClearedAll", func(ctx context.Context, req, res *message) error {
		req.Items = append(req.Items[:i], req.Items[j:]...)
		clear(req.Items[:cap(req.Items)][len(req.Items):])
		kept := append(req.Pointers[:i], req.Pointers[j:]...)
		clear(req.Pointers[len(kept):])
		req.Pointers = kept
		return nil
	})
	_ = weft.HandleReuse(r, "A.ClearedOther", func(ctx context.Context, req, res *message) error {
		items, n := req.Items, len(req.Pointers)
		req.Items = append(items[:i], items[j:]...)
		clear(req.Items[len(req.Items):cap(req.Items)])
		req.Pointers = append(req.Pointers[:i], req.Pointers[i+1:]...)
		req.Pointers[:n][n-1] = nil
		return nil
	})
}

func cloned(r weft.Registrar) {
	i, j := 1, 2
	_ = weft.HandleReuse(r, "C.Clone", func(ctx context.Context, req, res *message) error {
		items := slices.Clone(req.Items)
		items = append(items[:i], items[j:]...)
		items = slices.Delete(items, i, j)
		copy(items[i:], items[j:])
		items = items[:i]
		res.Items = items
		pointers := append([]*item(nil), req.Pointers...)
		pointers = append(pointers[:i], pointers[j:]...)
		pointers[i] = pointers[len(pointers)-1]
		pointers = pointers[:len(pointers)-1]
		var all []item
		all = append(all, req.Items...)
		all = append(all[:i], all[j:]...)
		made := make([]item, len(req.Items))
		copy(made, req.Items)
		made = append(made[:i], made[j:]...)
		return nil
	})
	_ = weft.HandleReuse(r, "C.Back", func(ctx context.Context, req, res *message) error {
		items := slices.Clone(req.Items)
		items = append(items[:i], items[j:]...) // want `append leaves the last elements of items behind its end too`
		req.Items = items
		pointers := slices.Clone(req.Pointers)
		req.Pointers = append(pointers[:i], pointers[j:]...) // want `append leaves the last elements of pointers behind its end too`
		return nil
	})
	_ = weft.HandleReuse(r, "C.Same", func(ctx context.Context, req, res *message) error {
		items := slices.Clone(req.Items)
		if j > i {
			items = req.Items
		}
		items = append(items[:i], items[j:]...) // want `append leaves the last elements of items behind its end too`
		clip := slices.Clip(req.Items)
		clip = append(clip[:i], clip[j:]...) // want `append leaves the last elements of clip behind its end too`
		for _, items := range [][]item{req.Items} {
			items = append(items[:i], items[j:]...) // want `append leaves the last elements of items behind its end too`
		}
		remove := func(items []item) {
			items = append(items[:i], items[j:]...) // want `append leaves the last elements of items behind its end too`
		}
		remove(req.Items)
		return nil
	})
}
