package instance

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// full returns an instance of which every field is set.
func full() Instance {
	return Instance{
		Service: "Arith", ID: "a", Address: "tcp://10.0.0.7:8972", Weight: 3, Group: "g", Version: "1", Zone: "z",
		Position: &Position{1, 2}, Tags: map[string]string{"k": "v"}, Idempotent: []string{"Add"}, State: Draining,
		Started: time.Date(2026, 11, 22, 5, 0, 0, 123e6, time.UTC), Load: &Load{1, 2, 3},
	}
}

// TestFieldsAreKnown: Equal, Clone and JSON know every field, also one added later.
func TestFieldsAreKnown(t *testing.T) {
	i := full()
	typ := reflect.TypeFor[Instance]()
	for k := range typ.NumField() {
		name := typ.Field(k).Name
		if reflect.ValueOf(i).Field(k).IsZero() {
			t.Errorf("the test does not set %s", name)
		}
		changed := i.Clone()
		if !changed.Equal(&i) {
			t.Fatalf("the clone %+v differs", changed)
		}
		reflect.ValueOf(&changed).Elem().Field(k).SetZero()
		if changed.Equal(&i) {
			t.Errorf("Equal does not see a change of %s", name)
		}
	}
	text, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	var back Instance
	if err := json.Unmarshal(text, &back); err != nil || !back.Equal(&i) {
		t.Errorf("from %s comes %+v, %v", text, back, err)
	}
	if text, _ := json.Marshal(Instance{}); string(text) != `{"service":"","id":"","address":""}` {
		t.Errorf("an empty instance is %s", text)
	}
}

func TestCloneIsApart(t *testing.T) {
	for name, change := range map[string]func(*Instance){
		"position": func(i *Instance) { i.Position.Latitude = 9 },
		"tags":     func(i *Instance) { i.Tags["k"] = "w" },
		"load":     func(i *Instance) { i.Load.InFlight = 9 },
		"method":   func(i *Instance) { i.Idempotent[0] = "Mul" },
	} {
		i := full()
		c := i.Clone()
		change(&c)
		if want := full(); !i.Equal(&want) || i.Equal(&c) {
			t.Errorf("a change of the %s of a clone changes the original, or is not seen", name)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name string
		edit func(*Instance)
		want string // in the error; "": none
	}{
		{"all", func(*Instance) {}, ""},
		{"no service", func(i *Instance) { i.Service = "" }, "needs a name"},
		{"a long service", func(i *Instance) { i.Service = strings.Repeat("s", 254) }, "needs a name"},
		{"the longest service", func(i *Instance) { i.Service = strings.Repeat("s", 253) }, ""},
		{"a space in the service", func(i *Instance) { i.Service = "a b" }, "needs a name"},
		{"a dot in the service", func(i *Instance) { i.Service = "grpc.health.v1.Health" }, ""},
		{"a service that is no UTF-8", func(i *Instance) { i.Service = "\xff" }, "needs a name"},
		{"no address", func(i *Instance) { i.Address = "" }, "address"},
		{"no scheme", func(i *Instance) { i.Address = "127.0.0.1:1" }, "address"},
		{"a port too high", func(i *Instance) { i.Address = "tcp://[::1]:65536" }, "the port 65536, and the highest is 65535"},
		{"the highest port", func(i *Instance) { i.Address = "tcp://[::1]:65535" }, ""},
		{"a name in the network mem", func(i *Instance) { i.Address = "mem://server" }, ""},
		{"no ID", func(i *Instance) { i.ID = "" }, "no ID"},
		{"a long zone", func(i *Instance) { i.Zone = strings.Repeat("z", 256) }, "the zone has 256 bytes"},
		{"a line break", func(i *Instance) { i.Version = "1\n2" }, "version"},
		{"too many tags", func(i *Instance) {
			for k := range 65 {
				i.Tags[strings.Repeat("t", k+1)] = ""
			}
		}, "tags, at most 64"},
		{"a great weight", func(i *Instance) { i.Weight = 1 << 30 }, "weight"},
		{"a weight below zero", func(i *Instance) { i.Weight = -1 }, ""},
		{"no such state", func(i *Instance) { i.State = 7 }, "no state 7"},
		{"an idempotent method with its service", func(i *Instance) { i.Idempotent = []string{"Arith.Mul"} }, "without the service"},
		{"an idempotent method without a name", func(i *Instance) { i.Idempotent = []string{""} }, "wrong name"},
		{"all methods idempotent", func(i *Instance) { i.Idempotent = []string{All} }, ""},
		{"many idempotent methods", func(i *Instance) { i.Idempotent = slices.Repeat([]string{"M"}, 65) }, "at most 64"},
		{"long idempotent methods", func(i *Instance) { i.Idempotent = slices.Repeat([]string{strings.Repeat("M", 100)}, 21) }, "2048 bytes"},
		{"off the Earth", func(i *Instance) { i.Position.Latitude = 91 }, "Earth"},
		{"nowhere", func(i *Instance) { i.Position.Longitude = math.NaN() }, "Earth"},
		{"started in no year", func(i *Instance) { i.Started = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) }, "year 10000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			i := full()
			test.edit(&i)
			err := i.Check()
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestStateText(t *testing.T) {
	for s := On; s <= Off; s++ {
		text, err := s.MarshalText()
		var back State
		if err != nil || back.UnmarshalText(text) != nil || back != s {
			t.Errorf("%v becomes %q and then %v (%v)", s, text, back, err)
		}
	}
	if _, err := State(9).MarshalText(); err == nil || !strings.Contains(err.Error(), "no state 9") {
		t.Errorf("state 9 gives %v", err)
	}
	var s State
	if err := s.UnmarshalText([]byte("dead")); err == nil || !strings.Contains(err.Error(), "want on, draining or off") {
		t.Errorf("a state of that name gives %v", err)
	}
	if State(9).String() != "State(9)" {
		t.Errorf("state 9 is %s", State(9))
	}
}

func TestDistance(t *testing.T) {
	berlin, beijing := Position{52.52, 13.405}, Position{39.9042, 116.4074}
	if d := berlin.Distance(beijing); math.Abs(d-7360) > 40 {
		t.Errorf("Berlin to Beijing is %.0f km, want about 7360", d)
	}
	if d := (Position{0, 179.9}).Distance(Position{0, -179.9}); math.Abs(d-22.2) > 1 {
		t.Errorf("over the date line %.1f km, want 22", d)
	}
	if d := (Position{90, 0}).Distance(Position{-90, 77}); math.Abs(d-math.Pi*earthRadius) > 1 {
		t.Errorf("from pole to pole %.0f km", d)
	}
}
