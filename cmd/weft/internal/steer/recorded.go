package steer

import (
	"fmt"
	"strings"

	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/plugin/record"
)

// mostRecorded is how many calls of a recording rules are tried with.
const mostRecorded = 100_000

// sample are the calls that rules are tried with: those of --call, those of a recording, or neither.
type sample struct {
	named     calls
	recording string
	hashKey   string
}

// recorded are the calls of the recording to a service, at most mostRecorded. note says what is to be known of them.
func (s *sample) recorded(service string) (all []route.Call, note string, err error) {
	recording, err := record.Open(s.recording)
	if err != nil {
		return nil, "", shell.Unreadable("--calls", err)
	}
	others, metadata := 0, false
	for c, err := range recording.Calls() {
		if err != nil {
			note = fmt.Sprintf("the recording is damaged: %v", err)
			continue
		}
		if !strings.HasPrefix(c.Method, service+".") {
			others++
			continue
		}
		if len(all) == mostRecorded {
			note = fmt.Sprintf("the first %d calls of the recording are tried", mostRecorded)
			break
		}
		call := route.Call{Method: c.Method}
		for _, pair := range c.Metadata {
			call.Metadata = call.Metadata.With(pair[0], pair[1])
			metadata = true
		}
		if s.hashKey != "" {
			call.Key = call.Metadata.Get(s.hashKey)
		}
		all = append(all, call)
	}
	switch {
	case len(all) == 0:
		return nil, "", fmt.Errorf("%s has no calls of %s, only %s of other services", s.recording, service, shell.Plural(others, "call"))
	case note == "" && !metadata:
		note = "the recorded calls have no metadata, so routes by metadata do not hold for them; 'weft record --metadata' records it"
	}
	return all, note, nil
}
