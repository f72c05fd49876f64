package protocol

import "testing"

// BenchmarkFind finds the end of a message.
func BenchmarkFind(b *testing.B) {
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
					w.Field(List, id+1)
					w.List(I32, 4)
					for n := range int32(4) {
						w.I32(n)
					}
				}
			}
			w.Stop()
			w.End()
			form := Binary
			if compact {
				form = Compact
			}
			message := append(AppendHead(nil, form, "method", Call, 1), w.Buf...)
			var f Finder
			b.SetBytes(int64(len(message)))
			for b.Loop() {
				if size, err := f.Find(message, form, 1<<20); err != nil || size != len(message) {
					b.Fatal(size, err)
				}
			}
		})
	}
}
