package steer

import (
	"fmt"
	"io"

	"github.com/weftrpc/weft/cluster/route"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
)

// reported is a report in JSON.
type reported struct {
	Version   int              `json:"version,omitempty"` // in force now; 0: nothing was changed
	Changed   bool             `json:"changed"`
	Instances []instanceChange `json:"instances"`
	Methods   []methodChange   `json:"methods"`
	Calls     []callChange     `json:"calls"`
	Sample    int              `json:"sample_calls"`
	Notes     []string         `json:"notes,omitempty"`
}

type instanceChange struct {
	ID           string  `json:"id"`
	StateBefore  string  `json:"state_before"`
	State        string  `json:"state"`
	WeightBefore int     `json:"weight_before"`
	Weight       int     `json:"weight"`
	ShareBefore  float64 `json:"percent_before"`
	Share        float64 `json:"percent"`
}

type methodChange struct {
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
}

type callChange struct {
	Calls  int      `json:"calls"`
	Method string   `json:"method"` // of an example
	Before []string `json:"before"`
	After  []string `json:"after"`
}

// writeReport writes what rules change. version is that of rules that are in force now, 0 if nothing was changed.
func writeReport(p *shell.Shell, r *route.Report, version int) error {
	if p.ForPeople() {
		_, err := io.WriteString(p.Out, r.String())
		return err
	}
	v := reported{Version: version, Changed: r.Changed(), Sample: r.Sample, Notes: r.Notes, Instances: []instanceChange{}, Methods: []methodChange{}, Calls: []callChange{}}
	var names []string
	for _, c := range r.Instances {
		names = append(names, c.ID)
		v.Instances = append(v.Instances, instanceChange{c.ID, c.Before.State.String(), c.After.State.String(), c.Before.Weight, c.After.Weight, c.ShareBefore, c.ShareAfter})
	}
	for _, c := range r.Methods {
		names = append(names, c.Name)
		v.Methods = append(v.Methods, methodChange{c.Name, fmt.Sprint(c.Before), fmt.Sprint(c.After)})
	}
	for _, c := range r.Calls {
		v.Calls = append(v.Calls, callChange{c.Calls, c.Example.Method, texts(c.Before), texts(c.After)})
	}
	return p.Write(&shell.Listing{Names: names, Value: v})
}

func texts(shares []route.Share) []string {
	all := []string{}
	for _, s := range shares {
		all = append(all, s.String())
	}
	return all
}
