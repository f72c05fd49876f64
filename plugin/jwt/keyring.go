package jwt

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// The bounds of fetching.
const (
	fetchTimeout = 10 * time.Second
	keyWait      = 2 * time.Second // of a call whose key is not known
	mostKeys     = 256
	mostTried    = 8    // keys, of a token that names none
	leastRSA     = 2048 // bits
	mostRSA      = 16 << 10
	mostKeyID    = 256 // bytes
	mostTold     = 4   // keys that cannot be used, of one set
	leastSecret  = 32  // bytes
)

// keySet are the keys of one fetch. It is not changed.
type keySet struct {
	text string // as they were fetched
	keys []jose.JSONWebKey
}

// keyring are the keys of an issuer, fetched anew from time to time.
type keyring struct {
	fetch func(context.Context) ([]byte, error)
	every time.Duration // between two fetches
	least time.Duration // between two that tokens cause
	log   *slog.Logger

	set  atomic.Pointer[keySet] // nil: none was fetched yet
	life context.Context
	end  context.CancelFunc
	all  sync.WaitGroup

	mu       sync.Mutex
	underway chan struct{} // closed when the fetch that a token has caused has ended; nil: there is none
	last     time.Time     // when the last fetch began
	begun    uint64        // fetches that have begun
	taken    uint64        // the number, in the order in which they began, of the fetch whose keys are used
	closed   bool
}

func newKeyring(c *Config, issuer Issuer) *keyring {
	k := &keyring{fetch: issuer.Keys, every: c.Refresh, least: c.Refetch, log: c.Logger.With("issuer", issuer.Name)}
	k.life, k.end = context.WithCancel(context.Background())
	return k
}

// start begins to refresh the keys.
func (k *keyring) start() { k.all.Go(k.watch) }

// watch fetches the keys from time to time, and sooner after a failure.
func (k *keyring) watch() {
	failed := k.now() == nil
	for {
		pause := k.every
		if failed {
			pause = min(pause, k.least)
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-k.life.Done():
			timer.Stop()
			return
		}
		err := k.refresh(k.life)
		if failed = err != nil; failed && k.life.Err() == nil {
			k.log.Warn("jwt: the keys could not be fetched; the last ones stay", "error", err)
		}
	}
}

// close ends the goroutines of the keyring.
func (k *keyring) close() {
	k.mu.Lock()
	k.closed = true
	k.mu.Unlock()
	k.end()
	k.all.Wait()
}

// now are the keys; nil when there are none yet.
func (k *keyring) now() *keySet { return k.set.Load() }

// refresh fetches the keys. After an error the last ones stay. Fetches may run beside each other, so that one that hangs does not hold
// up one for a token with an unknown key.
func (k *keyring) refresh(ctx context.Context) error {
	k.mu.Lock()
	k.last = time.Now()
	k.begun++
	n := k.begun
	k.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	text, err := contained(ctx, k.fetch)
	if err != nil {
		return err
	}
	set := k.now()
	if set == nil || set.text != string(text) {
		if set, err = k.parse(text); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if n > k.taken { // keys that took long to come must not take the place of newer ones
		k.taken = n
		k.set.Store(set)
	}
	return nil
}

// parse reads a JSON Web Key Set. A key that cannot be used is left out; a set without usable keys is
// an error, and so the keys before it stay.
func (k *keyring) parse(text []byte) (*keySet, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("the JSON Web Key Set cannot be read: %w", err)
	}
	if len(set.Keys) > mostKeys {
		return nil, fmt.Errorf("the JSON Web Key Set has %d keys, more than %d", len(set.Keys), mostKeys)
	}
	out, wrong := &keySet{text: string(text)}, 0
	for i, raw := range set.Keys {
		key, err := keyOf(raw)
		if err != nil {
			if wrong++; wrong <= mostTold {
				k.log.Warn("jwt: a key of the JSON Web Key Set is left out", "index", i, "kid", key.KeyID, "error", err)
			}
			continue
		}
		out.keys = append(out.keys, key)
	}
	if wrong > mostTold {
		k.log.Warn("jwt: more keys of the JSON Web Key Set are left out", "keys", wrong-mostTold)
	}
	if len(out.keys) == 0 {
		return nil, fmt.Errorf("the JSON Web Key Set has %d keys, of which none can be used", len(set.Keys))
	}
	return out, nil
}

// keyOf reads a key that verifies tokens. Of a private key the public one is used.
func keyOf(raw json.RawMessage) (key jose.JSONWebKey, err error) {
	if err := key.UnmarshalJSON(raw); err != nil {
		return jose.JSONWebKey{}, fmt.Errorf("%.256v", err) // it may repeat what the set has
	}
	if len(key.KeyID) > mostKeyID {
		return jose.JSONWebKey{}, fmt.Errorf("its kid has %d bytes, more than %d", len(key.KeyID), mostKeyID)
	}
	if key.Use != "" && key.Use != "sig" {
		return key, fmt.Errorf("its use is %q", key.Use)
	}
	if secret, symmetric := key.Key.([]byte); symmetric {
		if len(secret) < leastSecret {
			return key, fmt.Errorf("it has %d bytes, fewer than %d", len(secret), leastSecret)
		}
		return key, nil
	}
	public := key.Public()
	if !public.Valid() {
		return key, fmt.Errorf("it is not valid")
	}
	if k, ok := public.Key.(*rsa.PublicKey); ok && (k.N.BitLen() < leastRSA || k.N.BitLen() > mostRSA) {
		return key, fmt.Errorf("it has %d bits, want %d to %d", k.N.BitLen(), leastRSA, mostRSA)
	}
	return public, nil
}

// find returns the keys and those of them that may have signed a token. When the token names a key
// that is not known, they are fetched, if that was not done in the last Config.Refetch.
func (k *keyring) find(ctx context.Context, kid, alg string) (*keySet, []jose.JSONWebKey) {
	set := k.now()
	if found := set.of(kid, alg); len(found) > 0 {
		return set, found
	}
	if kid == "" && set != nil {
		return set, nil
	}
	done := k.refetch()
	if done == nil {
		return set, nil
	}
	timer := time.NewTimer(keyWait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
	set = k.now()
	return set, set.of(kid, alg)
}

// refetch begins a fetch, unless one is under way or was made lately. The channel is closed when it
// has ended; nil: there is none.
func (k *keyring) refetch() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.underway != nil || k.closed || time.Since(k.last) < k.least {
		return k.underway
	}
	done := make(chan struct{})
	k.underway, k.last = done, time.Now()
	k.all.Go(func() {
		err := k.refresh(k.life)
		k.mu.Lock()
		k.underway = nil
		k.mu.Unlock()
		close(done)
		if err != nil && k.life.Err() == nil {
			k.log.Warn("jwt: the keys could not be fetched for a token with an unknown one; the last ones stay", "error", err)
		}
	})
	return done
}

// of are the keys of an id, and of a kind that fits an algorithm; all that fit when the id is "".
func (s *keySet) of(kid, alg string) []jose.JSONWebKey {
	if s == nil {
		return nil
	}
	var out []jose.JSONWebKey
	for _, key := range s.keys {
		if (kid == "" || key.KeyID == kid) && fits(&key, alg) && len(out) < mostTried {
			out = append(out, key)
		}
	}
	return out
}

// fits reports whether a key is for an algorithm. A public key never verifies an HMAC.
func fits(key *jose.JSONWebKey, alg string) bool {
	if key.Algorithm != "" && key.Algorithm != alg {
		return false
	}
	_, symmetric := key.Key.([]byte)
	return symmetric == strings.HasPrefix(alg, "HS") && slices.Contains(algorithms(), alg)
}
