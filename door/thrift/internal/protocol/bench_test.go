package protocol

import "testing"

// BenchmarkScan finds the end of a message.
func BenchmarkScan(b *testing.B) {
	for name, compact := range map[string]bool{"binary": false, "compact": true} {
		b.Run(name, func(b *testing.B) {
			var w Writer
			w.Reset(nil, compact)
			w.Begin()
			for id := range int16(30) {
				switch id % 3 {
				case 0:
					w.Field(I32, id+1)
					w.I32(12345)
				case 1:
					w.Field(String, id+1)
					w.Text("some text that is not long")
				case 2:
					w.Field(Bool, id+1)
					w.Bool(true)
				}
			}
			w.Stop()
			w.End()
			var s Scanner
			b.SetBytes(int64(len(w.Buf)))
			for b.Loop() {
				s.Reset(compact, 1<<20)
				if end, done, err := s.Scan(w.Buf); !done || err != nil || end != len(w.Buf) {
					b.Fatal(end, done, err)
				}
			}
		})
	}
}
