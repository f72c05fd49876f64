package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/weftrpc/weft"
)

// appKeys are the keys of applications. A caller proves that it has the key
// without sending it: it signs the method and the time of every call. A signature
// that was recorded on the way is valid for that method and for a minute, no more.
type appKeys map[string][]byte

// window is how old a signature may be, and how far the clocks may differ.
const window = time.Minute

func sign(key []byte, app, method, at string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(app + "\n" + method + "\n" + at))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// verify takes "app:unix seconds:signature".
func (k appKeys) verify(token string, call *weft.CallInfo) (*account, error) {
	parts := strings.Split(token, ":")
	if len(parts) != 3 {
		return nil, errors.New("an application key has the form app:time:signature")
	}
	app, at, signature := parts[0], parts[1], parts[2]
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > window {
		return nil, errors.New("the signature is too old, or the clocks differ")
	}
	key, known := k[app]
	if !known || !hmac.Equal([]byte(signature), []byte(sign(key, app, call.Method, at))) {
		return nil, errors.New("unknown application or wrong signature")
	}
	return &account{app, "an application key"}, nil
}

// credential is the client's side: every call gets a signature of its own.
func (appKeys) credential(app string, key []byte) func(context.Context, string) (weft.Credential, error) {
	return func(_ context.Context, method string) (weft.Credential, error) {
		at := strconv.FormatInt(time.Now().Unix(), 10)
		return weft.Credential{Scheme: "AppKey", Token: app + ":" + at + ":" + sign(key, app, method, at)}, nil
	}
}
