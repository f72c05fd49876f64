package page

import (
	"strings"

	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/plot"
)

// The hue of a framework is the same in all plots of all reports.
const (
	hueWeft = iota
	hueGRPC
	hueThrift
	hueDRPC
	hueConnect
	hueNetRPC
	hueDubbo
	hueMotan
	hueOthers
	hueOthers2
	hueMark
)

// hue of a framework by the beginning of a peer's name; false for one that is
// not of the repository.
func hue(peer string) (int, bool) {
	for _, f := range []struct {
		prefix string
		hue    int
	}{
		{"weft", hueWeft}, {"grpc-", hueGRPC}, {"thrift-", hueThrift}, {"drpc", hueDRPC}, {"connect", hueConnect},
		{"net-rpc", hueNetRPC}, {"dubbo", hueDubbo}, {"motan", hueMotan}, {"floor", hueMark}, {"tcp", hueMark},
	} {
		if strings.HasPrefix(peer, f.prefix) {
			return f.hue, true
		}
	}
	return 0, false
}

// looks makes all peers of a comparison look different: the hue is the framework, the dash
// the language, and neighbours have different markers.
func looks(c *comparison.Comparison) map[string]plot.Look {
	languages := make(map[string]string)
	for _, r := range c.Runs {
		languages[r.Peer] = r.Language
	}
	all := make(map[string]plot.Look)
	strangers, marker := 0, 0
	for _, peer := range c.Peers() {
		h, known := hue(peer)
		if !known {
			h = hueOthers + strangers%2
			strangers++
		}
		look := plot.Look{Hue: h, Class: peerClass(peer)}
		switch languages[peer] {
		case "Java":
			look.Dash = 1
		case "C++":
			look.Dash = 2
		}
		if peer == comparison.Weft {
			look.Strong = true
		} else {
			look.Marker = 1 + marker%(plot.Markers-1)
			marker++
		}
		look.Faint = h == hueMark
		all[peer] = look
	}
	return all
}

// peerClass is the class of everything that belongs to a peer, so that it can be
// hidden. It has letters, digits and dashes only.
func peerClass(peer string) string {
	clean := func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}
	return "p-" + strings.Map(clean, peer)
}
