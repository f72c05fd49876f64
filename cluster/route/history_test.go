package route_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster/route"
)

// stored is a document after n changes, each with its number of seconds as timeout.
func stored(t *testing.T, n int) []byte {
	t.Helper()
	var doc []byte
	for i := range n {
		next, err := route.Next(doc, timeouts(fmt.Sprint(i+1, "s")), "ann", fmt.Sprint("change ", i+1), day(i+1))
		if err != nil {
			t.Fatal(err)
		}
		doc = next
	}
	return doc
}

func day(n int) time.Time { return time.Date(2026, 1, n, 12, 0, 0, 123456789, time.UTC) }

// told is what a revision says of itself.
func told(v route.Revision) string {
	return fmt.Sprintf("%d %s %s %q %v", v.Version, v.Time.Format(time.RFC3339Nano), v.By, v.Note, v.Methods["*"])
}

func TestNext(t *testing.T) {
	doc := stored(t, 14)
	all, err := route.History(doc)
	if err != nil || len(all) != 11 {
		t.Fatalf("%d revisions, %v; want the current one and ten before", len(all), err)
	}
	for i, v := range all {
		n := 14 - i
		want := fmt.Sprintf("%d 2026-01-%02dT12:00:00.123Z ann \"change %d\" timeout %ds", n, n, n, n)
		if told(v) != want {
			t.Errorf("revision %d is %s, want %s", i, told(v), want)
		}
	}
	if got := parse(t, string(doc)).Method("M").Timeout; got != 14*time.Second {
		t.Errorf("in force is %v", got)
	}
}

func TestNextRefuses(t *testing.T) {
	doc := stored(t, 3)
	for _, test := range []struct {
		name              string
		current, proposed string
		by                string
		at                time.Time
		code              weft.Code
		part              string
	}{
		{"made from an older one", string(doc), `{"version":2}`, "ann", day(4), weft.Aborted, "version 2, and version 3 is kept"},
		{"made from one that was removed", "", `{"version":3}`, "ann", day(4), weft.Aborted, "version 0 is kept"},
		{"not right", string(doc), `{"routes":1}`, "ann", day(4), weft.InvalidArgument, "line 1, column 11"},
		{"no author", string(doc), `{}`, "", day(4), weft.InvalidArgument, "by: the author"},
		{"never", string(doc), `{}`, "ann", time.Time{}, weft.InvalidArgument, "time"},
		{"long note", string(doc), `{}`, strings.Repeat("x", 256), day(4), weft.InvalidArgument, "by: this has 256 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			next, err := route.Next([]byte(test.current), []byte(test.proposed), test.by, "", test.at)
			if next != nil || !errors.Is(err, test.code) || !strings.Contains(err.Error(), test.part) {
				t.Errorf("%s, %v; want a %v with ...%s...", next, err, test.code, test.part)
			}
		})
	}
	if _, err := route.Next(doc, []byte(`{"version":3}`), "ann", "", day(4)); err != nil {
		t.Errorf("made from the current one: %v", err)
	}
}

func TestRollback(t *testing.T) {
	doc := stored(t, 3)
	back, err := route.Rollback(doc, 1, "bob", "", day(4))
	if err != nil {
		t.Fatal(err)
	}
	all, err := route.History(back)
	if err != nil || len(all) != 4 {
		t.Fatalf("%d revisions, %v", len(all), err)
	}
	if want := `4 2026-01-04T12:00:00.123Z bob "roll-back to version 1" timeout 1s`; told(all[0]) != want {
		t.Errorf("got %s, want %s", told(all[0]), want)
	}
	again, err := route.Rollback(back, 3, "bob", "no, forward", day(5))
	if err != nil {
		t.Fatal(err)
	}
	if got := parse(t, string(again)).Revision(); told(got) != `5 2026-01-05T12:00:00.123Z bob "no, forward" timeout 3s` {
		t.Errorf("got %s", told(got))
	}
	for _, to := range []int{3, 99, -1} {
		if _, err := route.Rollback(doc, to, "bob", "", day(4)); !errors.Is(err, weft.NotFound) || !strings.Contains(err.Error(), "versions 1 to 2") {
			t.Errorf("back to %d: %v", to, err)
		}
	}
	if _, err := route.Rollback(nil, 1, "bob", "", day(4)); !errors.Is(err, weft.NotFound) {
		t.Errorf("without a document: %v", err)
	}
}

// TestBrokenByHand: a document was written into the registry past all checks.
func TestBrokenByHand(t *testing.T) {
	doc := strings.Replace(string(stored(t, 3)), `"methods": {`, `"routes": [{"name": ""}], "methods": {`, 1)
	if _, err := route.Parse([]byte(doc)); err == nil {
		t.Fatal("the document is right")
	}
	all, err := route.History([]byte(doc))
	if len(all) != 2 || err == nil || !strings.Contains(err.Error(), "version 3: rules: line") {
		t.Errorf("%d revisions, %v", len(all), err)
	}
	for name, repair := range map[string]func() ([]byte, error){
		"roll-back": func() ([]byte, error) { return route.Rollback([]byte(doc), 2, "ann", "", day(4)) },
		"replace":   func() ([]byte, error) { return route.Next([]byte(doc), timeouts("2s"), "ann", "", day(4)) },
	} {
		repaired, err := repair()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if v := parse(t, string(repaired)).Revision(); v.Version != 4 || v.Methods["*"].Timeout != 2*time.Second {
			t.Errorf("%s: %s", name, told(v))
		}
		if _, err := route.Rollback(repaired, 3, "ann", "", day(5)); err == nil || !strings.Contains(err.Error(), "version 3 cannot be brought back") {
			t.Errorf("%s: the broken one came back: %v", name, err)
		}
	}
}

// TestNoHistory: what was written by hand, broken and without a history, can be
// replaced, and rolled back to no rules.
func TestNoHistory(t *testing.T) {
	for name, doc := range map[string]string{"no JSON": `{"routes": [`, "no rules": `{"routes": 1}`, "nothing": ""} {
		t.Run(name, func(t *testing.T) {
			back, err := route.Rollback([]byte(doc), 0, "ann", "", day(4))
			if err != nil {
				t.Fatal(err)
			}
			want := `1 2026-01-04T12:00:00.123Z ann "roll-back to no rules"`
			if v := parse(t, string(back)).Revision(); !strings.HasPrefix(told(v), want) || len(v.Methods)+len(v.Routes)+len(v.Instances) > 0 {
				t.Errorf("got %s, want %s", told(v), want)
			}
			next, err := route.Next([]byte(doc), timeouts("2s"), "ann", "", day(4))
			if err != nil {
				t.Fatal(err)
			}
			if v := parse(t, string(next)).Revision(); v.Version != 1 || v.Methods["*"].Timeout != 2*time.Second {
				t.Errorf("replaced by %s", told(v))
			}
			if _, err := route.Rollback([]byte(doc), 1, "ann", "", day(4)); !errors.Is(err, weft.NotFound) || !strings.Contains(err.Error(), "version 0 is no rules") {
				t.Errorf("back to version 1: %v, want that there is none, and what there is", err)
			}
		})
	}
}

// TestLargeHistory: of large rules fewer old versions are kept, rather than none
// stored at all.
func TestLargeHistory(t *testing.T) {
	var v route.Revision
	on := weft.On
	for i := range 400 {
		v.Instances = append(v.Instances, route.InstanceRule{Match: route.Match{ID: route.Patterns{fmt.Sprintf("%0100d", i)}}, State: &on})
	}
	large, err := v.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var doc []byte
	for i := range 8 {
		if doc, err = route.Next(doc, large, "ann", "", day(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	all, err := route.History(doc)
	if err != nil || len(all) < 2 || len(all) > 7 || len(doc) > route.MaxDocument {
		t.Errorf("%d revisions in %d bytes, %v", len(all), len(doc), err)
	}
	huge, err := json.Marshal(map[string]any{"routes": []any{map[string]any{
		"name": "r", "when": map[string]any{"metadata": []any{manyValues("a"), manyValues("b"), manyValues("c")}},
		"to": []any{map[string]any{"match": map[string]any{"id": "*"}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := route.Next(doc, huge, "ann", "", day(9)); err == nil || !strings.Contains(err.Error(), "at most 262144") {
		t.Errorf("%d bytes became %v", len(huge), err)
	}
}

// manyValues is a condition that is near the limit of a document with two others.
func manyValues(key string) any {
	values := make([]string, 1000)
	for i := range values {
		values[i] = fmt.Sprintf("%080d", i)
	}
	return map[string]any{"key": key, "in": values}
}
