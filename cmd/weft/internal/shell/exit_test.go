package shell

import (
	"errors"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
)

// What to do next is said once.
func TestFromCallOnce(t *testing.T) {
	e := weft.Errorf(weft.Unavailable, "connection refused")
	e.Outcome = weft.NotSent
	err := FromCall(errors.Join(FromCall(e)))
	if strings.Count(err.Error(), "'weft doctor'") != 1 {
		t.Error(err)
	}
}

// An error in the arguments points to the help of its command.
func TestUsageOf(t *testing.T) {
	err := UsageOf("weft rules show", errors.Join(errors.New("no"), ErrUsage))
	if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "see 'weft rules show --help'") || strings.Contains(err.Error(), "'weft help'") {
		t.Error(err)
	}
}

func TestDenied(t *testing.T) {
	for text, want := range map[string]bool{
		"etcdserver: permission denied": true, "NOAUTH Authentication required.": true, "Unexpected response code: 403 (Permission denied)": true,
		"status 403": true, "dial tcp 127.0.0.1:40329: connection refused": false, "read 14034 bytes": false,
	} {
		if got := denied(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// The token of weft.Admin has a flag of its own.
func TestAdminToken(t *testing.T) {
	for method, want := range map[string]string{"weft.Admin.Stats": "--admin-token-file", "Arith.Mul": "--token-file or $WEFT_TOKEN"} {
		e := weft.Errorf(weft.Unauthenticated, "wrong token")
		e.Method = method
		if err := FromCall(e); !strings.Contains(err.Error(), want) {
			t.Errorf("of %s: %v, want %s", method, err, want)
		}
	}
}
