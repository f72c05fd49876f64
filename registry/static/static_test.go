package static

import (
	"strings"
	"sync"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/leak"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

func TestMain(m *testing.M) { leak.Main(m) }

func TestConformance(t *testing.T) {
	var mu sync.Mutex
	all := []weft.Instance{{Service: "Other", Address: "tcp://10.0.0.1:1"}}
	registrytest.Run(t, registrytest.Config{
		New: func(t *testing.T) registry.Driver {
			mu.Lock()
			defer mu.Unlock()
			d, err := newDriver(all)
			if err != nil {
				t.Fatal(err)
			}
			return d
		},
		Publish: func(_ *testing.T, _ string, instances []weft.Instance) {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, instances...)
		},
		Fixed: true,
	})
}

func TestList(t *testing.T) {
	d, err := newDriver([]weft.Instance{
		{Address: "tcp://10.0.0.1:1"},
		{Address: "tcp://10.0.0.2:1", ID: "two", Zone: "b"},
		{Service: "Arith", Address: "tcp://10.0.0.3:1", ID: "two"},
		{Service: "Arith", Address: "tcp://10.0.0.4:1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for service, want := range map[string]string{
		"Arith":   "two=tcp://10.0.0.3:1 tcp://10.0.0.4:1=tcp://10.0.0.4:1 tcp://10.0.0.1:1=tcp://10.0.0.1:1",
		"Greeter": "tcp://10.0.0.1:1=tcp://10.0.0.1:1 two=tcp://10.0.0.2:1",
	} {
		var got []string
		for _, i := range d.list(service).Instances {
			if err := i.Check(); err != nil || i.Service != service {
				t.Errorf("%s: instance %+v, %v", service, i, err)
			}
			got = append(got, i.ID+"="+i.Address)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s has %v, want %s", service, got, want)
		}
	}
}

// Addresses are as Dial takes them.
func TestAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"tcp://10.0.0.7:8972": "tcp://10.0.0.7:8972", "10.0.0.7:8972": "tcp://10.0.0.7:8972", "localhost:8972": "tcp://localhost:8972",
		"[2001:db8::1]:1": "tcp://[2001:db8::1]:1", ":8972": "tcp://:8972", "unix:///run/app.sock": "unix:///run/app.sock",
		"mem://server": "mem://server", "tls+tcp://host:1": "tls+tcp://host:1",
	} {
		d, err := newDriver([]weft.Instance{{Address: address}})
		if err != nil {
			t.Errorf("%q: %v", address, err)
			continue
		}
		if got := d.list("Arith").Instances; len(got) != 1 || got[0].Address != want || got[0].ID != want {
			t.Errorf("%q is listed as %+v, want %s", address, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct {
		name      string
		instances []weft.Instance
		want      string
	}{
		{"none", nil, "no addresses"},
		{"no port", []weft.Instance{{Address: "tcp://10.0.0.1:1"}, {Address: "10.0.0.7"}}, `instance 2 of the list: address "10.0.0.7" is neither "host:port"`},
		{"a port too high", []weft.Instance{{Address: "10.0.0.7:70000"}}, `address "tcp://10.0.0.7:70000" has the port 70000, and the highest is 65535`},
		{"a port that is none", []weft.Instance{{Address: "tcp://10.0.0.7:port"}}, `is not like "tcp://10.0.0.7:8972"`},
		{"the form of rpcx", []weft.Instance{{Address: "tcp@10.0.0.7:8972"}}, "neither"},
		{"a path", []weft.Instance{{Address: "/run/app.sock"}}, "neither"},
		{"nothing", []weft.Instance{{}}, "neither"},
		{"twice, with and without a scheme", []weft.Instance{{Address: "tcp://10.0.0.1:1"}, {Address: "10.0.0.1:1"}}, "another one with the ID"},
		{"twice", []weft.Instance{{Address: "tcp://10.0.0.1:1"}, {Address: "tcp://10.0.0.1:1"}}, `another one with the ID "tcp://10.0.0.1:1"`},
		{"bad service", []weft.Instance{{Service: "a b", Address: "tcp://10.0.0.1:1"}}, "service"},
	} {
		t.Run(test.name, func(t *testing.T) {
			reg, err := Of(test.instances...)
			if err == nil || !strings.Contains(err.Error(), test.want) || reg != nil {
				t.Errorf("Of returned %v, want an error with %q", err, test.want)
			}
		})
	}
}
