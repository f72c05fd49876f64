package main

import (
	"context"
	"testing"
)

// BenchmarkEngine measures the codecs alone, as the program does, for profiles.
func BenchmarkEngine(b *testing.B) {
	for _, s := range subjects() {
		all, stop, err := s.operations(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		for _, o := range all {
			if o.kind == call {
				continue
			}
			b.Run(o.String(), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := o.once(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		stop()
	}
}
