package debug

import (
	"fmt"
	"net/http"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"strconv"
	"time"
)

// longest is how long a profile may take, in seconds.
const longest = 60

// profiles are the names below /pprof/.
func profiles() []string {
	names := []string{"profile", "trace"}
	for _, p := range pprof.Profiles() {
		names = append(names, p.Name())
	}
	slices.Sort(names)
	return names
}

// profile writes one profile. net/http/pprof is not used, since importing it mounts it.
func profile(w http.ResponseWriter, r *http.Request, name string) {
	switch name {
	case "profile":
		during(w, r, 10, func() error { return pprof.StartCPUProfile(w) }, pprof.StopCPUProfile)
		return
	case "trace":
		during(w, r, 1, func() error { return trace.Start(w) }, trace.Stop)
		return
	}
	p := pprof.Lookup(name)
	if p == nil {
		http.Error(w, fmt.Sprintf("there is no profile %q; there are %v", name, profiles()), http.StatusNotFound)
		return
	}
	verbosity, _ := strconv.Atoi(r.FormValue("debug")) // 0: the format of the tool pprof
	if verbosity > 0 {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	} else {
		binary(w, name)
	}
	_ = p.WriteTo(w, verbosity) // the reader has gone
}

func binary(w http.ResponseWriter, name string) {
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

// during writes a profile of the next seconds.
func during(w http.ResponseWriter, r *http.Request, normal int, start func() error, stop func()) {
	seconds := normal
	if s := r.FormValue("seconds"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > longest {
			http.Error(w, fmt.Sprintf("seconds is %q, want 1 to %d", s, longest), http.StatusBadRequest)
			return
		}
		seconds = n
	}
	binary(w, "profile")
	// The write deadline of the HTTP server may be shorter than the profile.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Duration(seconds)*time.Second + 10*time.Second))
	if err := start(); err != nil {
		w.Header().Del("Content-Disposition")
		http.Error(w, "another profile of this kind is being taken: "+err.Error(), http.StatusConflict)
		return
	}
	defer stop()
	timer := time.NewTimer(time.Duration(seconds) * time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}
