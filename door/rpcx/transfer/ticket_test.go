package transfer

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftrpc/weft"
)

// TestTickets issues and takes tokens: each is taken once, and in time.
func TestTickets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all tickets
		all.init(time.Minute, 2)
		first, second := &ticket{}, &ticket{}
		a, err := all.issue(first)
		if err != nil || all.take(token{}) != nil || all.take(newToken()) != nil {
			t.Fatalf("%v, or a token that was not issued was taken", err)
		}
		time.Sleep(30 * time.Second)
		b, err := all.issue(second)
		if err != nil || a == b {
			t.Fatalf("the tokens are %x and %x, %v", a, b, err)
		}
		if _, err := all.issue(&ticket{}); weft.CodeOf(err) != weft.ResourceExhausted {
			t.Errorf("a third one: %v", err)
		}
		time.Sleep(30 * time.Second)
		if all.take(a) != nil {
			t.Error("a token was taken behind its time")
		}
		if all.take(b) != second || all.take(b) != nil {
			t.Error("the second token was not taken, or twice")
		}
		for range 10 { // no token that was taken has a place
			n, err := all.issue(first)
			if err != nil || all.take(n) != first {
				t.Fatal(err)
			}
		}
		if len(all.waiting) != 0 || all.order.Len() != 0 {
			t.Errorf("%d and %d are left", len(all.waiting), all.order.Len())
		}
	})
}

// TestMatch finds the wire at each number of bytes.
func TestMatch(t *testing.T) {
	d := New(nil)
	n := newToken()
	for i := 1; i <= len(n); i++ {
		yes, more := d.Match(n[:i])
		if yes != (i >= len(mark)) || more != (i < len(mark)) {
			t.Errorf("%d bytes: %v, %v", i, yes, more)
		}
	}
	if yes, more := d.Match([]byte("\xd7rpcx2nf")); yes || more {
		t.Error("another wire was taken")
	}
}

// FuzzNames looks for a name that is let in and leads out of its folder.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"a.txt", "a/b", "../a", "/a", `a\..\b`, "c:a", "a\x00b", ".", "", "a/./b", "a//b", strings.Repeat("a", 300)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if (&DownloadArgs{FileName: name}).check() == nil && (!filepath.IsLocal(name) || filepath.Clean(name) != name || strings.ContainsAny(name, "\\\x00")) {
			t.Errorf("%q may be downloaded", name)
		}
		if (&UploadArgs{FileName: name}).check() == nil && (filepath.Base(name) != name || name == ".." || name == "." || strings.Contains(name, "\x00")) {
			t.Errorf("%q may be uploaded", name)
		}
	})
}

// TestNames has names that are refused, and others.
func TestNames(t *testing.T) {
	for name, want := range map[string][2]bool{ // upload, download
		"a.txt": {true, true}, "ä b": {true, true}, "a/b.txt": {false, true}, "": {false, false}, ".": {false, false}, "..": {false, false},
		"../a": {false, false}, "a/../b": {false, false}, "/etc/passwd": {false, false}, `a\b`: {false, false}, "c:a": {false, false}, "a\x00": {false, false},
		strings.Repeat("a", 256): {false, true}, strings.Repeat("a", 4097): {false, false},
	} {
		up, down := (&UploadArgs{FileName: name}).check(), (&DownloadArgs{FileName: name}).check()
		if (up == nil) != want[0] || (down == nil) != want[1] {
			t.Errorf("%.20q: %v, %v, want %v", name, up, down, want)
		}
	}
	many := make(map[string]string)
	for i := range 65 {
		many[strings.Repeat("k", i+1)] = ""
	}
	for _, err := range []error{
		(&UploadArgs{FileName: "a", FileSize: -1}).check(),
		(&StreamArgs{Meta: many}).check(),
		(&StreamArgs{Meta: map[string]string{"k": strings.Repeat("v", 16<<10)}}).check(),
	} {
		if err == nil {
			t.Error("arguments were let in that must not be")
		}
	}
}
