package nacos

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

// TestConformance has one Nacos, which takes its time to start, for the conformance kit,
// which breaks it, and before that for what is Nacos' own.
func TestConformance(t *testing.T) {
	t.Parallel()
	s := startNacos(t)
	t.Run("what others see", func(t *testing.T) { seenByOthers(t, s) })
	t.Run("offline", func(t *testing.T) { offline(t, s) })
	t.Run("foreign", func(t *testing.T) { foreign(t, s) })
	t.Run("moved", func(t *testing.T) { moved(t, s) })
	t.Run("too long", func(t *testing.T) { tooLong(t, s) })
	t.Run("long name", func(t *testing.T) { longName(t, s) })
	registrytest.Run(t, registrytest.Config{
		New:    func(t *testing.T) registry.Driver { return s.impatient(t) },
		Server: s,
		Probe:  s.Probe,
		// Nacos looks for silent instances every five seconds.
		Expires: 2*time.Second + 5*time.Second + pollTimeout,
	})
}

func arith(service, id string) weft.Instance {
	return weft.Instance{Service: service, ID: id, Address: "tcp://10.0.0.7:8972", Weight: 250, Zone: "eu-1a"}
}

func listed(t *testing.T, d *driver, service string) (registry.List, error) {
	t.Helper()
	entries, err := d.entries(testContext(t), service)
	return list(service, entries), err
}

func put(t *testing.T, d *driver, i weft.Instance) {
	t.Helper()
	if err := d.Put(testContext(t), i, time.Minute); err != nil {
		t.Fatal(err)
	}
}

func inGroup(service string) url.Values {
	return url.Values{"groupName": {DefaultGroup}, "serviceName": {service}}
}

// seenByOthers looks at an instance the way Nacos' own clients do.
func seenByOthers(t *testing.T, s server) {
	put(t, s.driver(t), arith("Seen", "one"))
	type entry struct {
		IP       string
		Port     int
		Weight   float64
		Metadata map[string]string
	}
	var got entry
	polltest.Until(t, patience, "Nacos lists one instance", func() error {
		body := s.must(t, http.MethodGet, instancePath+"/list", "", inGroup("Seen"))
		var reply struct{ Data []entry }
		if err := json.Unmarshal([]byte(body), &reply); err != nil || len(reply.Data) != 1 {
			return fmt.Errorf("it lists %s, %v", body, err)
		}
		got = reply.Data[0]
		return nil
	})
	if got.IP != "10.0.0.7" || got.Port != 8972 || got.Weight != 2.5 || got.Metadata["weft"] == "" {
		t.Errorf("Nacos has %+v; want 10.0.0.7, 8972, weight 2.5, and the instance in the metadata", got)
	}
}

// offline takes an instance out of service, as an operator does in the console.
func offline(t *testing.T, s server) {
	d := s.driver(t)
	i := arith("Offline", "one")
	put(t, d, i)
	set := func(enabled string) {
		t.Helper()
		metadata, err := metadataOf(i, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		form := inGroup("Offline")
		for key, value := range map[string]string{
			"ip": "10.0.0.7", "port": "8972", "ephemeral": "true", "weight": "2.5", "enabled": enabled, "metadata": metadata,
		} {
			form.Set(key, value)
		}
		s.must(t, http.MethodPut, "/v3/admin/ns/instance", "", form)
	}
	until := func(what string, want int) {
		t.Helper()
		polltest.Until(t, patience, what, func() error {
			if got, err := listed(t, d, "Offline"); err != nil || len(got.Instances) != want {
				return fmt.Errorf("the list has %v, %v, want %d", got.Instances, err, want)
			}
			return nil
		})
	}
	until("an instance is listed", 1)
	set("false")
	until("an instance that is offline is not listed", 0)
	if err := d.Refresh(testContext(t), i, time.Minute); err != nil {
		t.Errorf("Refresh of an instance that is offline: %v", err)
	}
	until("Refresh brings nothing back", 0)
	set("true")
	until("an instance is online again", 1)
}

// foreign registers something that is none of weft's.
func foreign(t *testing.T, s server) {
	d := s.driver(t)
	form := inGroup("Foreign")
	form.Set("ip", "10.0.0.9")
	form.Set("port", "80")
	s.must(t, http.MethodPost, instancePath, "", form)
	put(t, d, arith("Foreign", "one"))
	polltest.Until(t, patience, "one instance is listed, and 10.0.0.9#80 as invalid", func() error {
		got, err := listed(t, d, "Foreign")
		if err != nil || len(got.Instances) != 1 || len(got.Invalid) != 1 || got.Invalid[0].ID != "10.0.0.9#80" {
			return fmt.Errorf("the list has %v and invalid %v, %v", got.Instances, got.Invalid, err)
		}
		return nil
	})
}

// moved gives an instance another address: in the process that has put it, and in
// another one that has its ID.
func moved(t *testing.T, s server) {
	i := arith("Moved", "one")
	first, second := s.driver(t), s.driver(t)
	where := func() (at []place, err error) {
		entries, err := second.entries(testContext(t), "Moved")
		for _, e := range entries {
			at = append(at, e.place())
		}
		return at, err
	}
	listsOnly := func(what string, want ...place) {
		t.Helper()
		polltest.Until(t, patience, what, func() error {
			if at, err := where(); err != nil || !slices.Equal(at, want) {
				return fmt.Errorf("listed are %v, %v", at, err)
			}
			return nil
		})
	}
	for _, step := range []struct {
		d    *driver
		host string
		port int
	}{{first, "10.0.0.1", 1}, {first, "10.0.0.1", 2}, {second, "10.0.0.1", 3}, {second, "2001:db8::1", 3}} {
		i.Address = "tcp://" + net.JoinHostPort(step.host, strconv.Itoa(step.port))
		put(t, step.d, i)
		listsOnly(i.Address+" alone is listed", place{step.host, step.port})
	}
	// A change of the address that has not come to Nacos is no reason to stay there.
	i.Address = "tcp://10.0.0.1:5"
	if err := second.Delete(testContext(t), i); err != nil {
		t.Error(err)
	}
	listsOnly("nothing is listed after Delete")
}

// tooLong is an instance that Nacos cannot hold, which is an error that says so.
func tooLong(t *testing.T, s server) {
	i := arith("Long", "one")
	i.Tags = map[string]string{"team": strings.Repeat("x", 200), "owner": strings.Repeat("x", 200), "note": strings.Repeat("x", 200)}
	put(t, s.driver(t), i)
	i.Load = &weft.Load{InFlight: 12345, Rate: 123456.7, Latency: 123456789} // which it may go without
	put(t, s.driver(t), i)
	i.Idempotent = []string{strings.Repeat("M", 500)} // and without these
	put(t, s.driver(t), i)
	i.Tags["more"] = strings.Repeat("x", 255)
	err := s.driver(t).Put(testContext(t), i, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "1024") || !strings.Contains(err.Error(), "fewer tags") {
		t.Errorf("Put of an instance with 855 bytes of tags: %v, want an error that says 1024, and to give fewer", err)
	}
}

// longName has names that are longer in Nacos than Nacos takes.
func longName(t *testing.T, s server) {
	d := s.driver(t)
	for _, service := range []string{strings.Repeat("服", 80), strings.Repeat("服", 79) + "x"} {
		put(t, d, arith(service, service))
		polltest.Until(t, patience, "an instance with a long name is listed", func() error {
			if got, err := listed(t, d, service); err != nil || len(got.Instances) != 1 || got.Instances[0].Service != service {
				return fmt.Errorf("%q has %v, %v", service, got, err)
			}
			return nil
		})
	}
}

func TestPlace(t *testing.T) {
	d := openDriver(t, Config{Addresses: []string{"127.0.0.1:1"}})
	for _, test := range []struct {
		name, address, host string
		port                int // 0: an error
	}{
		{"IPv4", "tcp://10.0.0.7:8972", "10.0.0.7", 8972},
		{"a name", "tls://server.example:443", "server.example", 443},
		{"IPv6", "tcp://[2001:db8::1]:1", "2001:db8::1", 1},
		{"no port", "tcp://server.example", "", 0},
		{"no host", "tcp://:8972", "", 0},
		{"a socket", "unix:///run/arith.sock", "", 0},
		{"no address", "%zz", "", 0},
		{"a large port", "tcp://10.0.0.7:70000", "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			i := weft.Instance{Service: "Arith", ID: "one", Address: test.address}
			at, err := placeOf(i)
			if at.host != test.host || at.port != test.port || (err == nil) != (test.port > 0) {
				t.Errorf("it is %v, %v; want %q, %d", at, err, test.host, test.port)
			}
			if err == nil {
				return
			}
			ctx := testContext(t)
			for _, err := range []error{d.Put(ctx, i, time.Minute), d.Refresh(ctx, i, time.Minute), d.Delete(ctx, i)} {
				if err == nil || errors.Is(err, registry.ErrLost) || !strings.Contains(err.Error(), "no port") {
					t.Errorf("an operation returned %v, want an error that says what is missing", err)
				}
			}
		})
	}
}

func TestWeight(t *testing.T) {
	for _, test := range []struct {
		name     string
		instance weft.Instance
		want     string
	}{
		{"default", weft.Instance{}, "1"},
		{"given", weft.Instance{Weight: 7}, "0.07"},
		{"a last resort", weft.Instance{Weight: -1}, "0"},
		{"above Nacos' greatest", weft.Instance{Weight: 1 << 20}, "10000"},
		{"draining", weft.Instance{Weight: 7, State: weft.Draining}, "0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := weight(test.instance); got != test.want {
				t.Errorf("it is %s, want %s", got, test.want)
			}
		})
	}
}

func TestNacosName(t *testing.T) {
	from := make(map[string]string)
	for _, name := range []string{
		"Arith", "arith", "pkg.Arith", "pkg:2eArith", "pkg/Arith", "/", "//", "..", "größe", "服务", "a b", "%2F", ":", "::", ":3a",
		strings.Repeat("x", 200), strings.Repeat("x", 201), strings.Repeat("x", 200) + "y", strings.Repeat("/", 67), strings.Repeat("/", 68),
	} {
		made := nacosName(name)
		if other, ok := from[made]; ok {
			t.Errorf("%q and %q are both %q", name, other, made)
		}
		from[made] = name
		if len(made) > maxName || strings.Trim(strings.ToLower(made), "abcdefghijklmnopqrstuvwxyz0123456789-_.:") != "" {
			t.Errorf("%q is %q, which Nacos does not take", name, made)
		}
	}
	if got, want := nacosName("pkg/Arith"), "pkg:2fArith"; got != want {
		t.Errorf("pkg/Arith is %q, want %q", got, want)
	}
}

func TestContent(t *testing.T) {
	for _, test := range []struct {
		name, value string
		plain       bool // people can read it in Nacos
	}{
		{"text", "{\"größe\": 1}\r\n\t", true},
		{"nothing", "", false},
		{"spaces", " \n", false},
		{"bytes", "\xff\x00", false},
		{"a control character", "a\x01b", false},
		{"like an encoded one", encoded + "eA==", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			content := encode([]byte(test.value))
			if (content == test.value) != test.plain {
				t.Errorf("the content is %q", content)
			}
			got, err := decode(content)
			if err != nil || string(got) != test.value {
				t.Errorf("it comes back as %q, %v", got, err)
			}
		})
	}
	if _, err := decode(encoded + "?"); err == nil {
		t.Error("what only looks encoded is decoded")
	}
}

func TestNew(t *testing.T) {
	for _, test := range []struct {
		name  string
		cfg   Config
		want  string // the name of the registry
		error string
	}{
		{name: "zero", want: "nacos 127.0.0.1:8848"},
		{name: "URL", cfg: Config{Addresses: []string{"https://nacos.example/context/"}}, want: "nacos nacos.example"},
		{
			name: "all that tells lists apart",
			cfg:  Config{Addresses: []string{"10.0.0.1:8848", "10.0.0.2:8848"}, Namespace: "blue", Group: "x"},
			want: "nacos 10.0.0.1:8848 10.0.0.2:8848 blue x",
		},
		{name: "group", cfg: Config{Group: "a/b"}, error: "Config.Group"},
		{name: "long group", cfg: Config{Group: strings.Repeat("x", 65)}, error: "Config.Group"},
		{name: "scheme", cfg: Config{Addresses: []string{"ftp://nacos.example"}}, error: "ftp"},
		{name: "no address", cfg: Config{Addresses: []string{""}}, error: "host:port"},
		{name: "a password alone", cfg: Config{Password: "secret"}, error: "Username"},
		{name: "TTL", cfg: Config{Registry: registry.Config{TTL: time.Millisecond}}, error: "TTL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, err := New(test.cfg)
			if err != nil {
				if test.error == "" || !strings.Contains(err.Error(), test.error) {
					t.Errorf("New: %v, want an error with %q", err, test.error)
				}
				return
			}
			if got := r.Name(); test.error != "" || got != test.want {
				t.Errorf("New made %q, want %q, error %q", got, test.want, test.error)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
