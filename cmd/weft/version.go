package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"

	"github.com/spf13/cobra"
)

// build is what the binary knows of itself.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	System   string `json:"system"`
}

func ownBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(info.Main.Version, b.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// versionCommand tells the version.
func versionCommand(p *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use: "version", GroupID: shell.GroupOther, Short: "Tell the version of this command", Args: shell.Arguments(0, 0),
		Long:    "Tells the version of this command, of Go, and of the system it was built for.",
		Example: "  weft version\n  weft version -o json",
		RunE: func(*cobra.Command, []string) error {
			b := ownBuild()
			if !p.ForPeople() {
				return p.Write(&shell.Listing{Names: []string{b.Version}, Value: b})
			}
			revision := b.Revision
			if b.Modified {
				revision += " with changes"
			}
			if revision != "" {
				revision = ", revision " + revision
			}
			_, err := fmt.Fprintf(p.Out, "weft %s%s, %s, %s\n", b.Version, revision, b.Go, b.System)
			return err
		},
	}
}
