package prometheus_test

import (
	"regexp"
	"strings"
)

var metricName = regexp.MustCompile(`\b(?:rpc_(?:client|server)_[a-z_]+|weft_[a-z_]+)\b`)

// metricNames are the metrics that a text names.
func metricNames(text string) map[string]bool {
	names := make(map[string]bool)
	for _, name := range metricName.FindAllString(text, -1) {
		if name == "weft_name" {
			continue // a label
		}
		for _, suffix := range []string{"_bucket", "_count", "_sum"} {
			if strings.HasPrefix(name, "rpc_") {
				name = strings.TrimSuffix(name, suffix)
			}
		}
		names[name] = true
	}
	return names
}
