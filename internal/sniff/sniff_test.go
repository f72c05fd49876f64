package sniff_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/internal/sniff"
)

func TestMain(m *testing.M) { leak.Main(m) }

// words are doors that recognize a word each.
type words struct {
	all   []string
	heard int
}

func (w *words) Doors() []string { return w.all }
func (w *words) Heard()          { w.heard++ }
func (w *words) Match(word string, prefix []byte) (yes, more bool) {
	n := min(len(word), len(prefix))
	return string(prefix[:n]) == word, n < len(word) && word[:n] == string(prefix)
}

// pieces is a connection on which pieces come one by one.
type pieces struct {
	net.Conn
	left []string
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.left[0])
	p.left = p.left[1:]
	return n, nil
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		come      []string
		door      string
		own       bool
		err       string
		wantHeard int
	}{
		{[]string{"Wxyz"}, "", true, "", 1},
		{[]string{"hello"}, "hello", false, "", 1},
		{[]string{"h", "el", "lo there"}, "hello", false, "", 3},
		{[]string{"hel", "p"}, "help", false, "", 2},
		{[]string{"GET / HTTP/1.1\r\n"}, "", false, "looks like HTTP/1: the server has no door for it; add door/http", 1},
		{[]string{"hex"}, "", false, "no protocol that is known here", 1},
		{[]string{"hel"}, "", false, "no wire was recognized in 3 bytes: EOF", 1},
		{nil, "", false, "EOF", 0},
	} {
		w := &words{all: []string{"hello", "help"}}
		prefix, door, own, err := sniff.Read(&pieces{left: tt.come}, make([]byte, 512), 'W', w)
		if door != tt.door || own != tt.own || w.heard != tt.wantHeard {
			t.Errorf("%q: door %q, own %v, heard %d times", tt.come, door, own, w.heard)
		}
		if tt.err == "" && (err != nil || string(prefix) != strings.Join(tt.come, "")) || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%q: %q, %v, want %q", tt.come, prefix, err, tt.err)
		}
	}
	if _, _, _, err := sniff.Read(&pieces{}, make([]byte, 64), 'W', &words{}); !errors.Is(err, io.EOF) {
		t.Errorf("a connection without a byte gives %v, want io.EOF", err)
	}
}

// A door that always wants more gets no more than 64 bytes.
func TestUndecided(t *testing.T) {
	w := &words{all: []string{strings.Repeat("a", 100)}}
	_, _, _, err := sniff.Read(&pieces{left: []string{strings.Repeat("a", 50), strings.Repeat("a", 30), "aaa"}}, make([]byte, 512), 'W', w)
	if _, ok := errors.AsType[*sniff.StrangerError](err); !ok || w.heard != 2 {
		t.Errorf("%v after %d reads, want a StrangerError after 2", err, w.heard)
	}
}
