package archtest

import (
	"slices"
	"strings"
	"testing"
)

func moduleSamples() map[string][]sample {
	var requires strings.Builder
	for _, l := range libraries() {
		requires.WriteString("\t" + l.path + " v1.0.0\n")
	}
	full := "-- go.mod --\nmodule github.com/weftrpc/weft\n\nrequire (\n" + requires.String() + ")\n"
	return map[string][]sample{
		"third-party imports": {
			{name: "not on the list", files: `
-- a.go --
package weft

import _ "github.com/stretchr/testify/assert"
`, want: []string{"a.go:3 testify"}},
			{name: "in a test too", files: `
-- a_test.go --
package weft

import _ "github.com/stretchr/testify/assert"
`, want: []string{"a_test.go:3 testify"}},
			{name: "a library in the wrong package", files: `
-- a.go --
package weft

import _ "github.com/pierrec/lz4/v4"
-- b.go --
package weft

import _ "github.com/pierrec/lz4/v40"
`, want: []string{"a.go:3 compress/...", "b.go:3 v40"}},
			{name: "its own package, a test, a module of its own", files: `
-- compress/lz4/a.go --
package lz4

import _ "github.com/pierrec/lz4/v4"
-- door/a_test.go --
package door

import _ "google.golang.org/protobuf/proto"
-- codec/cbor/go.mod --
module github.com/weftrpc/weft/codec/cbor
-- codec/cbor/a.go --
package cbor

import (
	_ "github.com/fxamacker/cbor/v2"

	_ "github.com/weftrpc/weft/codec"
)
`},
		},
		"third-party requirements": {
			{name: "one too many, one too few, one replaced", files: strings.Replace(full, "github.com/pierrec/lz4/v4", "golang.org/x/net", 1) +
				"replace golang.org/x/net => ../net\n",
				want: []string{"go.mod lz4", "go.mod:6 golang.org/x/net", "go.mod:10 replace"}},
			{name: "indirect", files: full + "require golang.org/x/sys v0.1.0 // indirect\n", want: []string{"go.mod:10 golang.org/x/sys"}},
			{name: "exactly", files: full + "-- bench/go.mod --\nmodule github.com/weftrpc/weft/bench\nrequire google.golang.org/grpc v1.0.0\n"},
		},
		"workspace": {
			{name: "one too many, one too few, one misnamed", files: `
-- go.work --
go 1.26

use (
	.
	./codec/cbor
)
-- bench/go.mod --
module example.com/bench
`, want: []string{"bench/go.mod:1 call it github.com/weftrpc/weft/bench", "go.work bench", "go.work:5 ./codec/cbor"}},
			{name: "no file", files: "-- a.go --\npackage weft\n", want: []string{"go.work the module in ."}},
			{name: "all", files: `
-- go.work --
go 1.26

use (
	.
	./bench // measurements
)
-- bench/go.mod --
module github.com/weftrpc/weft/bench
`},
		},
	}
}

func TestDirectives(t *testing.T) {
	got := directives([]byte("module a/b // c\n\nrequire x v1\nrequire (\n\ty v2 // indirect\n\n)\nuse .\n)\n"))
	for keyword, want := range map[string][]directive{
		"module":  {{"a/b", 1}},
		"require": {{"x", 3}, {"y", 5}},
		"use":     {{".", 8}},
	} {
		if !slices.Equal(got[keyword], want) {
			t.Errorf("%s: %v, want %v", keyword, got[keyword], want)
		}
	}
}

func FuzzDirectives(f *testing.F) {
	f.Add([]byte("module a\nrequire (\n\tb v1\n)\n"))
	f.Add([]byte("require (\nrequire )\n)("))
	f.Fuzz(func(t *testing.T, content []byte) {
		lines := strings.Count(string(content), "\n") + 1
		for keyword, all := range directives(content) {
			for _, d := range all {
				if d.value == "" || d.line < 1 || d.line > lines {
					t.Errorf("%s: %+v in %d lines", keyword, d, lines)
				}
			}
		}
	})
}
