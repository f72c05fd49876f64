package processtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bin is the folder in which scripts/registries.sh puts the programs that are not
// in $PATH.
func bin() string {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		cache = filepath.Join(os.Getenv("HOME"), ".cache")
	}
	return filepath.Join(cache, "weft", "registries", "bin")
}

// Find returns the path of a program: in $PATH, or in the folder where
// scripts/registries.sh puts programs. The test fails, and is not skipped, when the program is not found.
func Find(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	path, err = exec.LookPath(filepath.Join(bin(), name))
	if err != nil {
		t.Fatalf("registrytest: %s is neither in $PATH nor in %s: run scripts/registries.sh", name, bin())
	}
	return path
}
