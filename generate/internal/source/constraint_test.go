package source

import (
	"os"
	"path/filepath"
	"testing"
)

func TestConstraintOf(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"shop.go", "", ""},
		{"linux.go", "", ""},
		{"shop_orders.go", "", ""},
		{"shop_linux.go", "", "linux"},
		{"shop_arm64.go", "", "arm64"},
		{"shop_linux_arm64.go", "", "linux && arm64"},
		{"shop_arm64_linux.go", "", "linux"},
		{"shop_orders_windows.go", "", "windows"},
		{"linux_arm64.go", "", "arm64"},
		{"shop_linux.v2.go", "", "linux"},
		{"shop_linux.go", "//go:build linux\n\n", "linux"},
		{"shop_linux.go", "// Copyright.\n\n//go:build !race || ignore\n\n// Package shop is a shop.\n", "(!race || ignore) && linux"},
		{"shop.go", "// +build linux darwin\n// +build !race\n\n", "(linux || darwin) && !race"},
		{"shop.go", "//go:build linux\n// +build windows\n\n", "linux"},
		{"shop.go", "// +build linux\n", ""}, // a comment of the package
	} {
		name := filepath.Join(t.TempDir(), c.name)
		if err := os.WriteFile(name, []byte(c.text+"package shop\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		want := ""
		if c.want != "" {
			want = "//go:build " + c.want + "\n"
		}
		if got, err := constraintOf(name); err != nil || got != want {
			t.Errorf("%s, %q: %q, %v, want %q", c.name, c.text, got, err, want)
		}
	}
}
