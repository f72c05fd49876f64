package weft

import (
	"slices"
	"testing"
)

func TestDefaultCodecNames(t *testing.T) {
	var names []string
	for _, c := range DefaultCodecs() {
		names = append(names, c.Name())
	}
	if !slices.Equal(names, defaultCodecNames()) {
		t.Errorf("the default codecs are %q, their names %q", names, defaultCodecNames())
	}
}
