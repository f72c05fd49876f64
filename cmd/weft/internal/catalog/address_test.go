package catalog

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
)

func TestAddress(t *testing.T) {
	for _, test := range []struct {
		text string
		want Address
	}{
		{"etcd://127.0.0.1:2379", Address{Kind: "etcd", hosts: []string{"127.0.0.1:2379"}}},
		{"etcds://a:1,b:2,c:3/shop", Address{Kind: "etcd", tls: true, hosts: []string{"a:1", "b:2", "c:3"}, path: "shop"}},
		{"etcd://me:p%40ss%2Fword@a:1/", Address{Kind: "etcd", user: "me", password: "p@ss/word", hosts: []string{"a:1"}}},
		{"zookeeper://me@[::1]:2181/a/b", Address{Kind: "zookeeper", user: "me", hosts: []string{"[::1]:2181"}, path: "a/b"}},
		{"consuls://:token@a:8501", Address{Kind: "consul", tls: true, password: "token", hosts: []string{"a:8501"}}},
		{"nacos://a:8848/shop", Address{Kind: "nacos", hosts: []string{"a:8848"}, path: "shop"}},
		{"redis://a", Address{Kind: "redis", hosts: []string{"a"}}},
		{"rediss://:pw@a/3", Address{Kind: "redis", tls: true, password: "pw", hosts: []string{"a"}, path: "3"}},
		{"nacoss://a:8848", Address{Kind: "nacos", tls: true, hosts: []string{"a:8848"}}},
		{"file:///etc/weft/registry.json", Address{Kind: "file", hosts: []string{""}, path: "etc/weft/registry.json"}},
	} {
		t.Run(test.text, func(t *testing.T) {
			got, err := ParseAddress(test.text)
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("it is read as %+v, %v; want %+v", got, err, test.want)
			}
		})
	}
	for text, want := range map[string]string{
		"etcd://a:1/shop":                     "etcd://a:1/shop",
		"etcds://me:secret@a:1,b:2/shop":      "etcds://me:***@a:1,b:2/shop",
		"consul://:secret@a:1":                "consul://:***@a:1",
		"zookeeper://me@a:1":                  "zookeeper://me@a:1",
		"file:///etc/weft/registry@home.json": "file:///etc/weft/registry@home.json",
	} {
		if got := WithoutPassword(text); got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"etcd://%zz@a:1", "etcd://me:%zzsecret@a:1", "secret", "://secret", "redis:///0", "postgres://a", "files:///a", "nacosss://a", "s://a"} {
		_, err := ParseAddress(text)
		if !errors.Is(err, shell.ErrUsage) {
			t.Errorf("the address %q: %v", text, err)
		}
		// What is private stays private.
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}

// TestKinds opens a registry of every kind. No server is asked by that.
func TestKinds(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(folder+"/registry.json", []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Servers have registered beside a file that is not there.
	if err := os.Mkdir(folder+"/own.json.d", 0o700); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ text, want string }{
		{"etcd://a:1", "etcd a:1"},
		{"zookeeper://a,b:2/shop", "a:2181,b:2"},
		{"consul://a:8500", "a:8500"},
		{"redis://a/3", "a:6379/3"},
		{"nacos://a:8848/shop", "a:8848"},
		{"file://" + folder + "/registry.json", "registry.json"},
		{"file://" + folder + "/own.json", "own.json"},
		{"file://" + folder + "/other.json", "no such file"},
		{"consul://a:1,b:2", shell.ErrUsage.Error()},
		{"redis://a/three", shell.ErrUsage.Error()},
	} {
		t.Run(test.text, func(t *testing.T) {
			a, err := ParseAddress(test.text)
			if err != nil {
				t.Fatal(err)
			}
			reg, err := a.open()
			got := fmt.Sprint(err)
			if err == nil {
				got = reg.Name()
				defer reg.Close()
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("it opens as %q, want %q in it", got, test.want)
			}
		})
	}
}
