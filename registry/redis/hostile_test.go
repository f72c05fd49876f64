package redis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/registrytest"
)

// TestHostileData writes into Redis what weft would not write.
func TestHostileData(t *testing.T) {
	t.Parallel()
	_, address := redisServer(t)
	for _, test := range []struct {
		name string
		run  func(t *testing.T, address string)
	}{
		{"a large value is an invalid entry beside the others", testLargeValue},
		{"more instances than are allowed end a watch", testManyInstances},
		{"more bytes than are allowed end a watch", testManyBytes},
		{"a strange revision is begun anew", testStrangeRevision},
		{"a key of another kind is named", testWrongType},
		{"a large document is refused", testLargeDocument},
		{"a document without a proper version is refused", testStrangeVersion},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, address) })
	}
}

func testLargeValue(t *testing.T, address string) {
	c, d := raw(t, address), connect(t, Config{Addresses: []string{address}})
	key := d.service("Large").keys[0]
	if err := c.HSet(operation(t), key, "b", strings.Repeat("x", 10<<20), "c", strings.Repeat("x", maxValue), "", "{}").Err(); err != nil {
		t.Fatal(err)
	}
	put(t, d, instance("Large", "a"), time.Minute)
	list := registrytest.NewWatch(t, d, "Large").Count(t, 1)
	var invalid []string
	for _, i := range list.Invalid {
		invalid = append(invalid, i.ID)
		if i.ID == "b" && !strings.Contains(i.Err.Error(), "has 10485760 bytes, at most 65536") {
			t.Errorf("the entry b is invalid because %v, want its length", i.Err)
		}
	}
	slices.Sort(invalid)
	if !slices.Equal(invalid, []string{"", "b", "c"}) {
		t.Errorf("the invalid entries are %q", invalid)
	}
}

// refused fails the test unless a watch ends with an error.
func refused(t *testing.T, d *driver, service, want string) {
	t.Helper()
	err := d.Watch(operation(t), service, func(list registry.List) { t.Errorf("Watch emits a list of %d", len(list.Instances)) })
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Watch returned %.200v, want an error with %q", err, want)
	}
}

func testManyInstances(t *testing.T, address string) {
	c, d := raw(t, address), connect(t, Config{Addresses: []string{address}})
	put(t, d, instance("Many", "a"), time.Minute)
	for n := 0; n < maxInstances; n += 10_000 {
		var fields []string
		for i := range 10_000 {
			fields = append(fields, fmt.Sprint(n+i), "x")
		}
		if err := c.HSet(operation(t), d.service("Many").keys[0], fields).Err(); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, d, "Many", "more than 100000 instances")
}

func testManyBytes(t *testing.T, address string) {
	c, d := raw(t, address), connect(t, Config{Addresses: []string{address}})
	put(t, d, instance("Bytes", "a"), time.Minute)
	value := strings.Repeat("x", maxValue)
	for n := 0; n <= maxBytes/maxValue; n++ {
		if err := c.HSet(operation(t), d.service("Bytes").keys[0], fmt.Sprint(n), value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	refused(t, d, "Bytes", "67108864 bytes")
	if err := c.Del(operation(t), d.service("Bytes").keys[0]).Err(); err != nil {
		t.Fatal(err)
	}
	id := strings.Repeat("x", maxBytes)
	if err := c.HSet(operation(t), d.service("Bytes").keys[0], id, "x").Err(); err != nil {
		t.Fatal(err)
	}
	refused(t, d, "Bytes", "67108864 bytes")
}

func testStrangeRevision(t *testing.T, address string) {
	c, d := raw(t, address), connect(t, Config{Addresses: []string{address}})
	for n, revision := range []string{"x", "", "-1", "1e300", "nan", "inf", "0x10", strings.Repeat("9", 1<<20)} {
		service := fmt.Sprintf("Strange%d", n)
		if err := c.Set(operation(t), d.service(service).keys[2], revision, 0).Err(); err != nil {
			t.Fatal(err)
		}
		put(t, d, instance(service, "a"), time.Minute)
		list := registrytest.NewWatch(t, d, service).Count(t, 1)
		if now := uint64(time.Now().UnixMicro()); list.Revision > now || list.Revision < now-60_000_000 {
			t.Errorf("the revision is %d after it was %.20q, want that of a moment ago", list.Revision, revision)
		}
	}
}

func testWrongType(t *testing.T, address string) {
	c, d := raw(t, address), connect(t, Config{Addresses: []string{address}})
	if err := c.Set(operation(t), d.service("Type").keys[0], "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := c.Set(operation(t), d.document("type").keys[0], "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	err := d.Put(operation(t), instance("Type", "a"), time.Minute)
	if err == nil || !strings.Contains(err.Error(), "use another Prefix") {
		t.Errorf("Put returned %v, want what to do", err)
	}
	if _, err := d.Load(operation(t), "type"); err == nil || !strings.Contains(err.Error(), "use another Prefix") {
		t.Errorf("Load returned %v, want what to do", err)
	}
}

func testLargeDocument(t *testing.T, address string) {
	c, d := raw(t, address), connect(t, Config{Addresses: []string{address}})
	if err := c.HSet(operation(t), d.document("large").keys[0], "value", strings.Repeat("x", registry.MaxDocument+1), "version", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if document, err := d.Load(operation(t), "large"); err == nil || !strings.Contains(err.Error(), "at most 262144") {
		t.Errorf("Load returned %d bytes, %v, want that there are too many", len(document.Value), err)
	}
}

func testStrangeVersion(t *testing.T, address string) {
	c, d := raw(t, address), connect(t, Config{Addresses: []string{address}})
	for _, version := range []string{"x", "-1", "1e300", "", strings.Repeat("9", 1<<20)} {
		if err := c.HSet(operation(t), d.document("strange").keys[0], "value", "x", "version", version).Err(); err != nil {
			t.Fatal(err)
		}
		if document, err := d.Load(operation(t), "strange"); err == nil || len(err.Error()) > 300 {
			t.Errorf("Load with version %.20q returned %v, %.300v, want a short error", version, document, err)
		}
	}
}

// Answers that the script does not give are errors and do no harm.
func TestStrangeAnswers(t *testing.T) {
	for _, answer := range [][]any{
		nil, {"1", []any{}, "x"}, {int64(1), []any{}}, {"1", "x"}, {"x", []any{}}, {"-1", []any{}},
		{"1", []any{"a"}}, {"1", []any{"a", nil}}, {"1", []any{int64(1), "a"}},
	} {
		r := roll{service: "Arith"}
		if _, err := r.read(answer, nil); err == nil || r.revision != "" {
			t.Errorf("the answer %v is taken for the list %+v", answer, r.list)
		}
	}
	r := roll{service: "Arith"}
	good := `{"service":"Arith","id":"a","address":"tcp://10.0.0.7:8972"}`
	changed, err := r.read([]any{"7", []any{"a", good, "b", good, "c", "{", "d", int64(70000)}}, nil)
	if err != nil || !changed {
		t.Fatalf("read returned %v, %v", changed, err)
	}
	var invalid []string
	for _, i := range r.list.Invalid {
		invalid = append(invalid, i.ID)
	}
	if r.list.Revision != 7 || len(r.list.Instances) != 1 || !slices.Equal(invalid, []string{"b", "c", "d"}) {
		t.Errorf("the list is %+v, want revision 7, the instance a, and b, c and d invalid", r.list)
	}
}
