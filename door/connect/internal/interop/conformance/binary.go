package main

import (
	"encoding/base64"
	"strings"
)

func unbase64(s string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}

func tobase64(s string) string { return base64.RawStdEncoding.EncodeToString([]byte(s)) }
