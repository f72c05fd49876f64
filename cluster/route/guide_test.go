package route_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/weftrpc/weft/cluster/route"
)

func guide(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/guide/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestGuideExamples: what the guide shows as rules can be stored.
func TestGuideExamples(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(guide(t), -1)
	if len(blocks) < 4 {
		t.Fatalf("the guide has %d examples", len(blocks))
	}
	for _, b := range blocks {
		doc := b[1]
		if strings.HasPrefix(doc, `{"name"`) { // a route alone
			doc = `{"routes":[` + doc + `]}`
		}
		if notes := parse(t, doc).Plan(nil).Notes; notes != nil {
			t.Errorf("%s\nhas notes: %q", doc, notes)
		}
	}
}

// TestGuideFields: the guide names every field. The parser tells which there are.
func TestGuideFields(t *testing.T) {
	text := guide(t)
	for _, doc := range []string{
		`{"?":1}`,
		`{"instances":[{"?":1}]}`,
		`{"instances":[{"match":{"?":1}}]}`,
		`{"routes":[{"?":1}]}`,
		`{"routes":[{"when":{"?":1}}]}`,
		`{"routes":[{"when":{"metadata":[{"?":1}]}}]}`,
		`{"routes":[{"to":[{"?":1}]}]}`,
		`{"methods":{"*":{"?":1}}}`,
	} {
		_, err := route.Parse([]byte(doc))
		_, fields, ok := strings.Cut(err.Error(), "the fields are ")
		if !ok {
			t.Fatalf("%s: %v", doc, err)
		}
		for field := range strings.SplitSeq(fields, ", ") {
			if !regexp.MustCompile("[`.\"]" + field + "[`\"]").MatchString(text) {
				t.Errorf("the guide says nothing of %q in %s", field, doc)
			}
		}
	}
}
