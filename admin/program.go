package admin

import (
	"os"
	"runtime"
	"runtime/debug"
)

// Program is what runs the server.
type Program struct {
	Name    string `json:"name" weft:"1" doc:"the path of the main package"`
	Version string `json:"version" weft:"2" doc:"of the main module, or the revision it was built of"`
	Weft    string `json:"weft" weft:"3" doc:"the version of weft"`
	Go      string `json:"go" weft:"4" doc:"the version of Go"`
	OS      string `json:"os" weft:"5" doc:"system and architecture"`
	Host    string `json:"host" weft:"6" doc:"the name of the machine"`
	PID     int    `json:"pid" weft:"7" doc:"the number of the process"`
}

// modulePath is that of weft.
const modulePath = "github.com/weftrpc/weft"

// program describes this process.
func program() Program {
	p := Program{Go: runtime.Version(), OS: runtime.GOOS + "/" + runtime.GOARCH, PID: os.Getpid()}
	p.Host, _ = os.Hostname() // "" says that it is not known
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return p
	}
	p.Name, p.Version = info.Path, info.Main.Version
	if info.Main.Path == modulePath {
		p.Weft = info.Main.Version
	}
	for _, m := range info.Deps {
		if m.Path == modulePath {
			p.Weft = m.Version
		}
	}
	for _, set := range info.Settings {
		if set.Key == "vcs.revision" && (p.Version == "" || p.Version == "(devel)") {
			p.Version = set.Value
		}
	}
	return p
}
