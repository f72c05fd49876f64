// Package diff finds where two JSON values differ.
package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Most is how many differences are told, and MaxValue how many bytes of a value.
const (
	Most     = 20
	MaxValue = 256
)

// Difference is one place where two values differ.
type Difference struct {
	Path string // "order.lines.2.price"; "" for the whole
	A, B string // the values there as JSON, cut at MaxValue bytes; "" where there is none
}

// Paths are places that are not compared: "order.id" with all below it. "*" is any one name or index.
type Paths []string

// Has reports whether a place, or one above it, is among them.
func (p Paths) Has(path []string) bool {
	return slices.ContainsFunc(p, func(pattern string) bool {
		parts := strings.Split(pattern, ".")
		if len(parts) > len(path) {
			return false
		}
		for i, part := range parts {
			if part != "*" && part != path[i] {
				return false
			}
		}
		return true
	})
}

// Check tells what is wrong with the paths.
func (p Paths) Check() error {
	for _, path := range p {
		if slices.Contains(strings.Split(path, "."), "") {
			return fmt.Errorf("the path %q has an empty part", path)
		}
	}
	return nil
}

// JSON returns where two JSON texts differ. Numbers are equal when they are written alike.
func JSON(a, b []byte, ignore Paths) ([]Difference, error) {
	x, err := decode(a)
	if err != nil {
		return nil, err
	}
	y, err := decode(b)
	if err != nil {
		return nil, err
	}
	w := walk{ignore: ignore}
	w.compare(x, y, true, true, nil)
	return w.found, nil
}

func decode(b []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

type walk struct {
	ignore Paths
	found  []Difference
}

// compare compares two values, each of which may be missing.
func (w *walk) compare(a, b any, hasA, hasB bool, path []string) {
	if len(w.found) >= Most || len(path) > 0 && w.ignore.Has(path) {
		return
	}
	path = slices.Clip(path)
	if x, y, ok := both[map[string]any](a, b); ok {
		keys := maps.Clone(x)
		maps.Copy(keys, y)
		for _, k := range slices.Sorted(maps.Keys(keys)) {
			_, inA := x[k]
			_, inB := y[k]
			w.compare(x[k], y[k], inA, inB, append(path, k))
		}
		return
	}
	if x, y, ok := both[[]any](a, b); ok {
		for i := range max(len(x), len(y)) {
			w.compare(at(x, i), at(y, i), i < len(x), i < len(y), append(path, strconv.Itoa(i)))
		}
		return
	}
	if hasA != hasB || shape(a) != shape(b) {
		w.found = append(w.found, Difference{strings.Join(path, "."), text(a, hasA), text(b, hasB)})
	}
}

func both[T any](a, b any) (x, y T, ok bool) {
	x, isX := a.(T)
	y, isY := b.(T)
	return x, y, isX && isY
}

func at(list []any, i int) any {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// shape is a value as text, for comparison: of two values that are not both objects, nor both lists.
func shape(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func text(v any, has bool) string {
	if !has {
		return ""
	}
	s := shape(v)
	if len(s) > MaxValue {
		s = strings.ToValidUTF8(s[:MaxValue], "") + "…"
	}
	return s
}
