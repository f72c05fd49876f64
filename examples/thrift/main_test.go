package main

import (
	"testing"

	"github.com/weftrpc/weft/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestRun(t *testing.T) {
	if err := run(t.Context(), "tcp://127.0.0.1:0", false); err != nil {
		t.Error(err)
	}
}
