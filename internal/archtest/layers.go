package archtest

import (
	"path"
	"strconv"
	"strings"
)

// leaf is below every layer: a package that imports the standard library alone
// and that every other may import.
const leaf = -1

// row gives the packages that match its pattern their layer.
//
// A package may import the packages of lower layers, and its peers in its own
// layer.
type row struct {
	pattern string // a folder; with "/..." behind it, the folders below it
	layer   int
	peers   []string // patterns
}

// table is the architecture. The first row that matches counts.
func table() []row {
	return append(leaves(), []row{
		{"instance", leaf, nil},
		{"internal/wire", 0, nil},
		{"codec", 0, nil},
		{"codec/internal/memory", leaf, nil},
		{"codec/internal/bytype", leaf, []string{"codec/internal/memory"}},
		{"codec/internal/pack", leaf, nil},
		{"codec/internal/cycle", leaf, nil},
		{"codec/internal/room", leaf, nil},
		{"codec/internal/typecheck", leaf, []string{"codec/internal/self"}},
		{"codec/internal/self", leaf, nil},
		{"codec/internal/tags", leaf, nil},
		{"codec/internal/plain", leaf, []string{"codec/internal/memory", "codec/internal/self", "codec/internal/tags"}},
		{"codec/internal/wellknown", leaf, []string{"internal/trail"}},
		{"codec/internal/coded", leaf, []string{"codec/generated"}},
		{"codec/internal/numbered", leaf, []string{"codec/generated", "codec/internal/coded", "codec/internal/memory", "codec/internal/plain", "codec/internal/room", "codec/internal/self", "codec/internal/tags", "codec/internal/texts", "codec/internal/wellknown", "internal/trail"}},
		{"codec/generated", leaf, []string{"codec/internal/memory", "codec/internal/texts", "codec/internal/wellknown"}},
		{"codec/internal/texts", leaf, []string{"codec/internal/memory"}},
		{"codec/...", 0, []string{"codec"}},
		{"compress", 0, nil},
		{"compress/...", 0, []string{"compress"}},
		{"schema", 0, []string{"codec/protobuf/descriptors", "schema/internal/naming"}},
		{"schema/internal/naming", leaf, nil},
		{"schema/...", 0, []string{"schema", "schema/internal/naming", "codec/protobuf/descriptors"}},
		{"transport", 1, nil},
		{"transport/...", 1, []string{"transport"}},
		{"internal/fit", 1, nil},
		{"internal/slots", 1, nil},
		{"internal/calls", 1, []string{"internal/slots"}},
		{"internal/bulk", 1, nil},
		{"internal/greeting", 1, nil},
		{"internal/outbuf", 1, []string{"internal/bulk"}},
		{"internal/keepalive", 1, []string{"internal/outbuf"}},
		{"internal/streams", 1, nil},
		{"internal/restore", 1, nil},
		{"internal/budget", 1, []string{"internal/streams"}},
		{"internal/doorcontext", 1, []string{"internal/session"}},
		{"internal/session", 1, []string{"internal/budget", "internal/restore", "internal/slots", "internal/calls", "internal/streams", "internal/bulk", "internal/outbuf", "internal/keepalive", "internal/greeting"}},

		{".", 2, nil},

		{"stub", 3, nil},
		{"internal/httpstatus", 3, nil},

		{"registry", 3, nil},
		{"registry/rpcx", 3, []string{"registry"}},
		{"registry/registrytest", 3, []string{"registry", "registry/registrytest/internal/processtest"}},
		{"registry/...", 3, []string{"registry", "registry/rpcx"}},
		{"cluster/balance", 3, nil},
		{"cluster/balance/...", 3, []string{"cluster/balance"}},
		{"cluster/route", 3, nil},
		{"cluster/route/...", 3, []string{"cluster/route"}},
		{"cluster/retry", 3, nil},
		{"cluster/retry/...", 3, []string{"cluster/retry"}},
		{"cluster/breaker", 3, nil},
		{"cluster/breaker/...", 3, []string{"cluster/breaker"}},
		{"cluster/health", 3, nil},
		{"cluster/health/...", 3, []string{"cluster/health"}},
		{"cluster/throttle", 3, nil},
		{"cluster/internal/aside", 3, nil},
		{"cluster/internal/carried", 3, nil},
		{"cluster/internal/deadline", 3, nil},
		{"cluster/internal/idle", 3, nil},
		{"cluster/internal/journal", 3, nil},
		{"cluster/internal/limits", 3, nil},
		{"cluster/internal/published", 3, nil},
		{"cluster/internal/twin", 3, nil},
		{"cluster/internal/verdict", 3, []string{"cluster/balance", "cluster/breaker", "cluster/health", "cluster/retry"}},

		{"cluster", 4, nil},
		{"door/wiretest", 4, []string{"cluster"}},
		{"door/...", 4, []string{"door/..."}},
		{"health", 3, nil},
		{"plugin/internal/cost", 4, []string{"plugin/..."}},
		{"plugin/internal/keyed", 4, []string{"plugin/internal/match"}},
		{"plugin/internal/together/...", 4, []string{"plugin/..."}},
		{"plugin/internal/...", 4, []string{"cluster", "health", "door/netrpc"}},
		{"plugin/...", 4, []string{"plugin/...", "cluster", "health"}},
		{"admin", 4, []string{"cluster"}},
		{"console", 4, []string{"cluster"}},
		{"console/...", 4, []string{"console", "cluster"}},

		{"generate", 4, []string{"generate/internal/declared", "generate/internal/directive", "generate/internal/names", "generate/internal/origin", "generate/internal/protofile", "generate/internal/thriftidl", "generate/internal/source", "generate/internal/wirename", "generate/internal/wiretag"}},
		{"generate/internal/declared", 4, []string{"generate/internal/origin"}},
		{"generate/internal/protofile", 4, []string{"generate/internal/names"}},
		{"generate/internal/source", 4, []string{"generate", "generate/internal/origin"}},
		{"generate/...", 4, []string{"generate"}},

		{"cmd/...", 5, []string{"cmd/..."}},
		{"examples", 5, nil},
		{"examples/...", 5, []string{"examples/..."}},
		{"bench", 5, []string{"bench/..."}},
		{"bench/...", 5, []string{"bench", "bench/..."}},
		{"test/...", 5, []string{"test/..."}},
	}...)
}

// leaves are the packages below internal that know little of others.
func leaves() []row {
	return []row{
		{"internal/leak", leaf, nil},
		{"internal/archtest", leaf, nil},
		{"internal/doctest", leaf, nil},
		{"internal/stats", leaf, nil},
		{"internal/turns", leaf, nil},
		{"internal/due", leaf, nil},
		{"internal/slab", leaf, nil},
		{"internal/spare", leaf, nil},
		{"internal/serial", leaf, nil},
		{"internal/overload", leaf, nil},
		{"internal/pace", leaf, nil},
		{"internal/yield", leaf, nil},
		{"internal/held", leaf, nil},
		{"internal/buffer", leaf, nil},
		{"internal/inbuf", leaf, nil},
		{"internal/workers", leaf, nil},
		{"internal/backlog", leaf, []string{"internal/held"}},
		{"internal/wheel", leaf, nil},
		{"internal/drain", leaf, nil},
		{"internal/bindings", leaf, nil},
		{"internal/stall", leaf, nil},
		{"internal/logger", leaf, nil},
		{"internal/cputime", leaf, nil},
		{"internal/section", leaf, nil},
		{"internal/poison", leaf, nil},
		{"internal/polltest", leaf, nil},
		{"internal/growthtest", leaf, nil},
		{"internal/fence", leaf, []string{"internal/logger"}},
		{"internal/flights", leaf, nil},
		{"internal/delivered", leaf, nil},
		{"internal/guess", leaf, nil},
		{"internal/pending", leaf, nil},
		{"internal/reachable", leaf, nil},
		{"internal/replay", leaf, nil},
		{"internal/socket", leaf, nil},
		{"internal/stock", leaf, nil},
		{"internal/trail", leaf, nil},
		{"internal/address", leaf, nil},
		{"internal/names", leaf, nil},
		{"internal/redial", leaf, []string{"internal/flights"}},
		{"internal/sniff", leaf, []string{"internal/guess"}},
		{"internal/taps", leaf, nil},
		{"internal/accept", leaf, nil},
		{"internal/tlsconf", leaf, nil},
		{"internal/announce", 1, nil},
		{"internal/reuse", 1, nil},
		{"internal/shape", 1, []string{"internal/fit"}},
	}
}

func (r row) matches(dir string) bool { return match(r.pattern, dir) }

func match(pattern, dir string) bool {
	if parent, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(dir, parent+"/")
	}
	return pattern == dir
}

// rowOf returns the row of a folder.
func rowOf(dir string) (row, bool) {
	for _, r := range table() {
		if r.matches(dir) {
			return r, true
		}
	}
	return row{}, false
}

// mayImport tells whether a package of row r may import the package at dir,
// whose row is target.
func (r row) mayImport(target row, dir string) bool {
	if target.layer < r.layer {
		return true
	}
	if target.layer > r.layer {
		return false
	}
	for _, peer := range r.peers {
		if match(peer, dir) {
			return true
		}
	}
	return false
}

func layerName(n int) string {
	if n == leaf {
		return "a leaf"
	}
	return "layer " + strconv.Itoa(n)
}

// layers checks the imports of every package against the table. A test may import
// any package below layer 5: examples and comparisons often need the layers above.
func layers(t *Tree) []Finding {
	var found []Finding
	for _, p := range t.packages {
		from, ok := rowOf(p.dir)
		if !ok {
			found = append(found, t.at(p.files[0].Package,
				"package %s has no row in the table of layers: decide its layer and add it to internal/archtest/layers.go", p.dir))
			continue
		}
		for _, f := range p.files {
			found = append(found, t.layersOf(f, from)...)
		}
	}
	return found
}

func (t *Tree) layersOf(f *file, from row) []Finding {
	var found []Finding
	for _, spec := range f.Imports {
		dir, ok := weftFolder(pathOf(spec))
		if !ok {
			continue
		}
		target, ok := rowOf(dir)
		if !ok || f.test && target.layer < 5 || from.mayImport(target, dir) {
			continue // a target without a row is reported where it lies
		}
		found = append(found, t.at(spec.Pos(),
			"%s (%s) may not import %s (%s): move what both need to a lower layer, or pass it in as a value",
			path.Dir(f.path), layerName(from.layer), dir, layerName(target.layer)))
	}
	return found
}

// weftFolder returns the folder of a package of weft.
func weftFolder(importPath string) (string, bool) {
	if importPath == modulePath {
		return ".", true
	}
	return strings.CutPrefix(importPath, modulePath+"/")
}
