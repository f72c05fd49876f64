package shell

import "testing"

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
