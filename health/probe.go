package health

import (
	"encoding/json"
	"net/http"
	"strings"
)

// ServeHTTP answers the probes of Kubernetes with 200 or 503, and what is the matter as JSON:
//
//	/livez     the process works: no check with Live fails
//	/readyz    the whole server is ready; with ?service=Orders that service
//	/startupz  the server has been ready once
//
// Only the last element of the path counts.
func (h *Health) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET is allowed", http.StatusMethodNotAllowed)
		return
	}
	service := r.URL.Query().Get("service")
	report, err := h.Report(service)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	var well bool
	switch r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] {
	case "livez":
		well = h.live()
	case "readyz":
		well = report.Status == Serving.String()
	case "startupz":
		h.mu.Lock()
		well = h.started
		h.mu.Unlock()
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !well {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(report) // the prober has gone
}

// live tells whether no check fails that only a restart heals.
func (h *Health) live() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.checks {
		if c.Live && c.failing {
			return false
		}
	}
	return true
}
