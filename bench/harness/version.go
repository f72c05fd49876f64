package harness

import (
	"path"
	"runtime"
	"runtime/debug"
)

// Version names the version of a Go module that this program was built with, and
// that of Go, such as "grpc v1.85.0, go1.26.8".
func Version(module string) string {
	version := "of this repository"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == module && dep.Replace == nil {
				version = dep.Version
			}
		}
	}
	return path.Base(module) + " " + version + ", " + runtime.Version()
}
