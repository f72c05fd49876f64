package consul

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/consul/api"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry"
)

// script is a Consul that answers as it is told. A real one cannot be made to count
// backwards on demand.
type script struct {
	answers []http.Header // those after the last are like the last
	indexes []string      // what the questions had
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := s.answers[min(len(s.indexes), len(s.answers)-1)]
	s.indexes = append(s.indexes, r.URL.Query().Get("index"))
	for key, values := range header {
		w.Header()[key] = values
	}
	w.Header().Set("X-Consul-LastContact", "0")
	fmt.Fprint(w, "[]")
}

func index(n string) http.Header { return http.Header{"X-Consul-Index": {n}} }

func TestIndex(t *testing.T) {
	for _, test := range []struct {
		name    string
		answers []http.Header
		want    []string // the indexes of the questions
		error   string   // of the watch
	}{
		{"it grows", []http.Header{index("7"), index("7"), index("9")}, []string{"", "7", "7", "9"}, ""},
		{"it goes back", []http.Header{index("100"), index("50"), index("60")}, []string{"", "100", "", "60"}, ""},
		{"it is never 0", []http.Header{index("0")}, []string{"", "1"}, ""},
		{
			"the token may not read all",
			[]http.Header{index("7"), {"X-Consul-Index": {"8"}, "X-Consul-Results-Filtered-By-Acls": {"true"}}},
			[]string{"", "7"}, "service:read",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &script{answers: test.answers}
			server := httptest.NewServer(s)
			defer server.Close()
			d := openDriver(t, Config{Address: server.URL})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			emitted := 0
			err := d.Watch(ctx, "Arith", func(registry.List) {
				if emitted++; emitted == len(test.want) {
					cancel()
				}
			})
			if err == nil || !strings.Contains(err.Error(), test.error) {
				t.Errorf("Watch returned %v, want an error with %q", err, test.error)
			}
			d.Close()
			server.Close() // waits for the handler
			if !slices.Equal(s.indexes, test.want) {
				t.Errorf("the questions had the indexes %q, want %q", s.indexes, test.want)
			}
		})
	}
}

// listEntry is an instance as Consul lists it.
func listEntry(t *testing.T, d *driver, i weft.Instance, index uint64) *api.ServiceEntry {
	t.Helper()
	value, err := registry.Encode(i)
	if err != nil {
		t.Fatal(err)
	}
	meta, err := split(value)
	if err != nil {
		t.Fatal(err)
	}
	return &api.ServiceEntry{Service: &api.AgentService{
		ID: d.serviceID(i.Service, i.ID), Service: d.serviceName(i.Service), Meta: meta, ModifyIndex: index,
	}}
}

func TestList(t *testing.T) {
	d := &driver{prefix: DefaultPrefix}
	entry := func(i weft.Instance, index uint64) *api.ServiceEntry { return listEntry(t, d, i, index) }
	with := func(e *api.ServiceEntry, change func(*api.AgentService)) *api.ServiceEntry {
		change(e.Service)
		return e
	}
	moved, broken, small := arith, arith, arith
	moved.Address = "tcp://10.0.0.8:1"
	broken.Address = "nowhere"
	small.Service = "arith"
	id := d.serviceID(arith.Service, arith.ID)

	for _, test := range []struct {
		name      string
		entries   []*api.ServiceEntry
		addresses []string
		invalid   []string
	}{
		{"one", []*api.ServiceEntry{entry(arith, 5)}, []string{arith.Address}, nil},
		{"one at two agents", []*api.ServiceEntry{entry(arith, 5), entry(moved, 6)}, []string{moved.Address}, nil},
		{"one at two agents, the other way round", []*api.ServiceEntry{entry(moved, 6), entry(arith, 5)}, []string{moved.Address}, nil},
		{"a service in small letters", []*api.ServiceEntry{entry(small, 1), entry(arith, 5)}, []string{arith.Address}, nil},
		{"an address that is none", []*api.ServiceEntry{entry(broken, 5)}, nil, []string{arith.ID}},
		{
			"one that another program has registered",
			[]*api.ServiceEntry{{Service: &api.AgentService{ID: "web", Service: "weft-Arith"}}, entry(arith, 5)},
			[]string{arith.Address}, []string{"web"},
		},
		{
			"the meta of another",
			[]*api.ServiceEntry{with(entry(arith, 5), func(s *api.AgentService) { s.ID = "copy" })},
			nil, []string{"copy"},
		},
		{
			"a part of the meta is missing",
			[]*api.ServiceEntry{with(entry(arith, 5), func(s *api.AgentService) { s.Meta["weft-01"] = s.Meta["weft-01"][:20] })},
			nil, []string{id},
		},
		{"nothing", []*api.ServiceEntry{nil, {}}, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			list := d.list("Arith", test.entries)
			var addresses, invalid []string
			for _, i := range list.Instances {
				addresses = append(addresses, i.Address)
			}
			for _, i := range list.Invalid {
				invalid = append(invalid, i.ID)
			}
			if !slices.Equal(addresses, test.addresses) || !slices.Equal(invalid, test.invalid) {
				t.Errorf("the list has %q and invalid %q, want %q and %q", addresses, invalid, test.addresses, test.invalid)
			}
		})
	}
}
