package rpcx_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/registry/rpcx"
)

// TestDecode reads what servers of rpcx write.
func TestDecode(t *testing.T) {
	for _, test := range []struct {
		node, value string
		want        weft.Instance
		wrong       string // in the error; "": there is none
	}{
		{"tcp@10.0.0.7:8972", "", weft.Instance{Address: "rpcx://10.0.0.7:8972"}, ""},
		{"tcp@[::1]:8972", "weight=5", weft.Instance{Address: "rpcx://[::1]:8972", Weight: 5}, ""},
		{"tcp6@h:1", "weight=0&state=active", weft.Instance{Address: "rpcx://h:1", Weight: -1}, ""},
		{"reuseport@h:1", "state=inactive&tps=3&calls=4&connections=5", weft.Instance{Address: "rpcx://h:1", State: weft.Off}, ""},
		{"http@h:1", "group=blue&owner=a+b", weft.Instance{Address: "rpcx+http://h:1", Group: "blue", Tags: map[string]string{"owner": "a b"}}, ""},
		{"unix@/run/app.sock", "group=a&group=b", weft.Instance{Address: "rpcx+unix:///run/app.sock", Group: "a", Tags: map[string]string{"groups": "a,b"}}, ""},
		{"tcp@h:1", "latitude=52.5&longitude=13.4", weft.Instance{Address: "rpcx://h:1", Position: &weft.Position{Latitude: 52.5, Longitude: 13.4}}, ""},
		{"quic@h:1", "", weft.Instance{}, `network "quic"`},
		{"h:1", "", weft.Instance{}, "network@host:port"},
		{"tcp@h", "", weft.Instance{}, "missing port"},
		{"tcp@h:1", "weight=many", weft.Instance{}, `weight is "many"`},
		{"tcp@h:1", "latitude=north", weft.Instance{}, `latitude is "north"`},
		{"tcp@h:1", "latitude=91", weft.Instance{}, "Earth"},
		{"tcp@h:1", "weight=99999999", weft.Instance{}, "weight"},
		{"tcp@h:1", "%zz", weft.Instance{}, "a=b&c=d"},
		{"tcp@h:1", "weft={", weft.Instance{}, "the pair weft"},
		{"tcp@h:1", `weft={"service":"Other","id":"x","address":"tcp://h:1"}`, weft.Instance{}, "says it is"},
		{"tcp@h:1", `weft={"service":"Arith","id":"x","address":"tcp://h:2"}`, weft.Instance{}, "says it is"},
		{"tcp@h:1", strings.Repeat("x", 70_000), weft.Instance{}, "70000 bytes"},
	} {
		got, err := rpcx.Decode("Arith", test.node, []byte(test.value))
		if test.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("%s %.40s: error %v, want one with %q", test.node, test.value, err, test.wrong)
			}
			continue
		}
		test.want.Service, test.want.ID = "Arith", test.node
		if err != nil || !got.Equal(&test.want) {
			t.Errorf("%s %s: %+v, %v, want %+v", test.node, test.value, got, err, test.want)
		}
	}
}

// TestRoundTrip publishes an instance of weft and reads it back whole.
func TestRoundTrip(t *testing.T) {
	i := weft.Instance{Service: "Arith", ID: "one", Address: "tcp://10.0.0.7:8972", Weight: 7, Group: "blue", Zone: "z", Version: "2",
		Tags: map[string]string{"owner": "ada & co"}, Position: &weft.Position{Latitude: 1.5, Longitude: -2}, State: weft.Draining}
	key, err := rpcx.Base("/rpcx_test/").Key(i)
	if err != nil || key != "rpcx_test/Arith/tcp@10.0.0.7:8972" {
		t.Fatalf("%q, %v", key, err)
	}
	value, err := rpcx.Encode(i)
	if err != nil {
		t.Fatal(err)
	}
	for _, has := range []string{"weight=7", "group=blue", "state=inactive", "latitude=1.5", "longitude=-2", "owner=ada+%26+co"} {
		if !strings.Contains(string(value), has) {
			t.Errorf("the value %s lacks %s", value, has)
		}
	}
	moved := i
	moved.Address = "tcp://10.0.0.8:8972"
	older, err := rpcx.Encode(moved)
	if err != nil {
		t.Fatal(err)
	}
	list := rpcx.List([]rpcx.Entry{rpcx.Read("Arith", "tcp@10.0.0.8:8972", older, 1), rpcx.Read("Arith", "tcp@10.0.0.7:8972", value, 2), rpcx.Read("Arith", "none", nil, 3)})
	if len(list.Instances) != 1 || !list.Instances[0].Equal(&i) || len(list.Invalid) != 1 || list.Invalid[0].ID != "none" {
		t.Errorf("%+v", list)
	}
	if _, err := rpcx.Base("x").Key(weft.Instance{Address: "ws://h:1"}); err == nil {
		t.Error("an address that rpcx cannot reach has a key")
	}
	if rpcx.Base("//").Check() == nil || rpcx.Base("a/b").Check() != nil {
		t.Error("Check")
	}
}

// FuzzDecode reads any value.
func FuzzDecode(f *testing.F) {
	f.Add("tcp@10.0.0.7:8972", "weight=5&group=a&group=b&latitude=1")
	f.Add("tcp@h:1", `weft={"service":"Arith","id":"x","address":"tcp://h:1"}`)
	f.Fuzz(func(t *testing.T, node, value string) {
		i, err := rpcx.Decode("Arith", node, []byte(value))
		if err != nil {
			return
		}
		if i.Check() != nil {
			t.Fatalf("%+v was read", i)
		}
		if again, err := rpcx.Encode(i); err == nil {
			node, found := strings.CutPrefix(i.Address, "tcp://")
			if found {
				back, err := rpcx.Decode("Arith", "tcp@"+node, again)
				if err != nil || !reflect.DeepEqual(back.Tags, i.Tags) {
					t.Fatalf("%+v came back as %+v, %v", i, back, err)
				}
			}
		}
	})
}
