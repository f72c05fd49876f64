package jwt

import (
	"crypto/sha256"
	"sync"

	"github.com/weftrpc/weft/plugin/internal/keyed"
)

// known are the tokens that were verified, by their hashes. nil knows none.
type known struct {
	mu    sync.Mutex
	table *keyed.Table[tokenID, result]
}

type tokenID [sha256.Size]byte

// result is the principal of a token, as long as the keys of its issuer are those that verified it.
type result struct {
	ring *keyring
	keys *keySet
	p    *Principal
}

func newKnown(most int) *known { return &known{table: keyed.New[tokenID, result](most)} }

func (k *known) id(token string) (id tokenID) {
	if k != nil {
		id = sha256.Sum256([]byte(token))
	}
	return id
}

func (k *known) get(id tokenID) *Principal {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.table.Get(id)
	switch {
	case r == nil:
		return nil
	case r.keys != r.ring.now(): // one of them may be gone
		k.table.Delete(id)
		return nil
	}
	return r.p
}

func (k *known) put(id tokenID, r result) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	*k.table.Add(id, nil) = r
}
