// Package tables makes the tables of a comparison, and the sentences above them:
// what the report, the documents and a terminal show.
package tables

import (
	"slices"

	"github.com/weftrpc/weft/bench/report/comparison"
	"github.com/weftrpc/weft/bench/report/table"
)

// Section is a workload of its own.
type Section struct {
	ID, Short, Title, Text string
	Tables                 []table.Table
}

// Sections are the workloads of their own that have records.
func Sections(c *comparison.Comparison) []Section {
	all := []Section{
		{"mixed", "Slow and large", "Small calls beside slow and large ones", "Slow: one call in a hundred takes 5 ms in its handler. Mixed and large: one more caller loops over replies of 1 MiB or 8 MiB. The figures are those of the small calls, beside the same peer without the others.", Mixed(c)},
		{"delay", "Sleeping", "Handlers that sleep", "Every handler sleeps 10 ms. The ideal is that all callers sleep side by side.", Delayed(c)},
		{"math", "Tiny calls", "A tiny call, one after another", "MathService.Add over one long connection; with math-new every call opens a connection of its own, and opening and closing it count. The mark for both is tcp, which sends the numbers and their sum and nothing else.", Math(c)},
		{"open", "Open loop", "An open loop", "Calls begin at a fixed rate, 50 % or 80 % of what the same peer reached in the closed loop, and latency counts from the time at which a call was to begin. So a peer with a higher greatest rate is asked for more.", Open(c)},
		{"elsewhere", "Servers and networks", "Two servers, two network namespaces", "One client that balances over two servers; client and server in two network namespaces joined by a veth pair, the nearest to two machines that one machine offers.", Elsewhere(c)},
		{"codecs", "Codecs", "Codecs", "One operation on the message, and a whole call with each codec.", Codecs(c)},
	}
	return slices.DeleteFunc(all, func(s Section) bool { return len(s.Tables) == 0 })
}
