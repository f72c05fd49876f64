package catalog

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
)

// TestStrangeWords: words of servers and registries that would steer the terminal are not offered to a shell.
func TestStrangeWords(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("WEFT_CONFIG", filepath.Join(t.TempDir(), "contexts.json"))
	p := &shell.Shell{Settings: shell.Settings{Timeout: time.Second, Output: "table", Color: "auto"}}
	cmd := new(cobra.Command)
	cmd.SetContext(t.Context())
	words := []string{"Arith.Mul", "Ari\x1b[2Jth.Mul", "Arith.\nMul", "Arith.Mul\t", "_activeHelp_ Arith.Mul", "größe.織る", "\u202eluM.htirA"}
	for range 2 { // the second time from the cache
		got := Completions(p, cmd, "words", func(context.Context) ([]string, error) { return slices.Clone(words), nil })
		if want := []string{words[0], words[5]}; !slices.Equal(got, want) {
			t.Errorf("the completions are %q, want %q", got, want)
		}
	}
}

// TestCompletionCache finds words twice. They are kept in the user's folder for caches, and nowhere without one: other users
// can write to the system's folder for temporary files.
func TestCompletionCache(t *testing.T) {
	home, temporary := t.TempDir(), t.TempDir()
	t.Setenv("WEFT_REGISTRY", "")
	t.Setenv("WEFT_SERVER", "")
	t.Setenv("WEFT_CONTEXT", "")
	t.Setenv("WEFT_CONFIG", filepath.Join(home, "contexts.json"))
	t.Setenv("TMPDIR", temporary)
	t.Setenv("HOME", "")
	for cache, want := range map[string]string{home: "old", "": "new"} {
		t.Setenv("XDG_CACHE_HOME", cache)
		p := &shell.Shell{Settings: shell.Settings{Timeout: time.Second, Output: "table", Color: "auto"}}
		cmd := new(cobra.Command)
		cmd.SetContext(t.Context())
		var got []string
		for _, word := range []string{"old", "new"} {
			got = Completions(p, cmd, "words", func(context.Context) ([]string, error) { return []string{word}, nil })
		}
		if !slices.Equal(got, []string{want}) {
			t.Errorf("with the folder %q for caches the second completion gives %q, want %q", cache, got, want)
		}
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("the folder for temporary files has %v, error %v", left, err)
	}
}
