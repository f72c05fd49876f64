package tls

import (
	"encoding/pem"
	"testing"
)

func FuzzParseAuthorities(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("no PEM at all"))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"))
	f.Add(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Headers: map[string]string{"a": "b"}, Bytes: []byte{0x30, 0x80}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if pool, err := parseAuthorities(b); (pool == nil) == (err == nil) {
			t.Errorf("pool %v, error %v, want one of them", pool, err)
		}
	})
}
