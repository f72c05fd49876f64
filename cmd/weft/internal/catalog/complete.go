package catalog

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft/registry/etcd"
)

// A shell waits for completions, so they may take completeWithin, and are kept for
// completeKept.
const (
	completeWithin = 300 * time.Millisecond
	completeKept   = 10 * time.Second
)

// CompleteService completes the name of a service, as the first argument.
func CompleteService(p *shell.Shell) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault // a file, for those commands that take one
		}
		find := func(ctx context.Context) ([]string, error) { return knownServices(ctx, p) }
		return Completions(p, cmd, "services", find), cobra.ShellCompDirectiveNoFileComp
	}
}

// knownServices are those of the registry.
func knownServices(ctx context.Context, p *shell.Shell) ([]string, error) {
	a, reg, err := OpenRegistry(p)
	if err != nil {
		return nil, err
	}
	defer reg.Close()
	if a.Kind != "etcd" {
		return nil, nil
	}
	services, err := etcd.Services(ctx, a.Etcd())
	services, _ = WithoutOwn(services)
	return services, err
}

// Completions are words, from the cache or found anew. Nothing can be reported while a line is
// completed, so an error gives no words.
func Completions(p *shell.Shell, cmd *cobra.Command, what string, find func(context.Context) ([]string, error)) []string {
	if p.Settings.Resolve(cmd) != nil {
		return nil
	}
	cache := completionCache(p, what)
	if info, err := os.Stat(cache); err == nil && time.Since(info.ModTime()) < completeKept {
		var words []string
		if text, err := os.ReadFile(cache); err == nil && json.Unmarshal(text, &words) == nil {
			return words
		}
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	words, err := find(ctx)
	if err != nil {
		return nil
	}
	words = slices.DeleteFunc(words, strange)
	// Without the cache the next completion is slower, and no worse.
	if text, err := json.Marshal(words); err == nil && cache != "" && os.MkdirAll(filepath.Dir(cache), 0o700) == nil {
		_ = os.WriteFile(cache, text, 0o600)
	}
	return words
}

// strange reports whether a word, which comes from a server or a registry, is not to be offered to a shell. The scripts of some write a
// word with a certain beginning to the terminal as it is.
func strange(word string) bool {
	return shell.Printable(shell.OneLine(word)) != word || strings.HasPrefix(word, "_activeHelp_")
}

// completionCache is the file that keeps words, or "" for a user without a folder of caches: in a folder for all users
// another one could write the words. Its name has the address in a hash, since there may be a password in that.
func completionCache(p *shell.Shell, what string) string {
	folder, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(what + "\x00" + p.Settings.Registry + "\x00" + p.Settings.Server))
	return filepath.Join(folder, "weft", "complete-"+hex.EncodeToString(sum[:8])+".json")
}
