package instance

import "time"

// Load is what a server reports of its work, for the whole server, not one
// service. Servers report seldom, and only what has changed by more than a quarter; see
// LoadReportInterval in weft.ServerConfig.
type Load struct {
	InFlight int           `json:"in_flight"`  // calls that run now
	Rate     float64       `json:"rate"`       // calls a second since the last report
	Latency  time.Duration `json:"latency_ns"` // the mean time of these calls in the server
}
