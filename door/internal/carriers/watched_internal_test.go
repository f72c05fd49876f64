package carriers

import "testing"

// TestGoAwayInPieces finds a GOAWAY frame among others, however the bytes arrive.
func TestGoAwayInPieces(t *testing.T) {
	settings := []byte{0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 7}
	data := append([]byte{0, 1, 0, 0, 0, 0, 0, 0, 1}, make([]byte, 256)...)
	for i := range 256 {
		data[9+i] = frameGoAway
	}
	goAway := []byte{0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0}
	all := append(append(append([]byte{}, settings...), data...), goAway...)
	for size := 1; size <= len(all); size++ {
		told := 0
		w := &watched{goAway: func() { told++ }}
		for at := 0; at < len(all); at += size {
			if at+size < len(all)-len(goAway) && told > 0 {
				t.Fatalf("in pieces of %d bytes a GOAWAY is seen before byte %d", size, at)
			}
			w.look(all[at:min(at+size, len(all))])
		}
		if told != 1 {
			t.Fatalf("in pieces of %d bytes %d frames of GOAWAY are seen, want 1", size, told)
		}
	}
}
