package runner

import (
	"fmt"
	"strings"
)

// Title names the run in a few words.
func (r Record) Title() string {
	title := fmt.Sprintf("%s %s %s, %d callers", r.Workload, r.Peer, r.Codec, r.Callers)
	if where := where(r); where != "" {
		title += ", " + where
	}
	return title
}

// where is what is not usual about a run, or "".
func where(r Record) string {
	var parts []string
	if r.Servers > 1 {
		parts = append(parts, fmt.Sprintf("%d servers", r.Servers))
	}
	if r.Clients > 1 {
		parts = append(parts, fmt.Sprintf("%d clients", r.Clients))
	}
	if r.Network == Namespaces {
		parts = append(parts, "veth")
	}
	if r.Quota > 0 {
		parts = append(parts, fmt.Sprintf("%d calls", r.Quota))
	}
	if r.Share > 0 {
		parts = append(parts, fmt.Sprintf("open, %.0f %%", 100*r.Share))
	}
	return strings.Join(parts, ", ")
}
