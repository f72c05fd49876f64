package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/internal/polltest"
)

// formatCase is a command line whose result is written in all forms. {n} in it is a number that no other run has.
type formatCase struct {
	command string // of the golden file
	line    string
	code    int
	again   bool // it reports what happens within a short time, in which nothing may happen on a busy machine
}

// TestEveryFormat runs every command that has a result in every form of the output, and compares the names of the fields of
// JSON, which are a promise, with a file. "go test -run TestEveryFormat -update" writes it.
func TestEveryFormat(t *testing.T) {
	golden, err := filepath.Abs("testdata/fields.txt")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	expect(t, 0, "", "", "", "schema", "./orders", "-o", "json", "--out", "schema.json")
	writeFile(t, "changed.json", strings.Replace(read(t, "schema.json"), `"article"`, `"number"`, 1))
	a := w.address
	cases := []formatCase{
		{command: "call", line: "call " + a + ` Shop.Count {"n":2}`},
		{command: "call", line: "call " + a + ` Arith.Mul {"A":6,"B":7}`},
		{command: "call", line: "call " + a + " Shop.Fail", code: 3},
		{command: "list", line: "list"},
		{command: "list", line: "list " + a + " Arith"},
		{command: "describe", line: "describe " + a + " Arith.Mul"},
		{command: "health", line: "health Arith"},
		{command: "bench", line: "bench " + a + " Arith.Mul --duration 300ms --warm-up 0s", again: true},
		{command: "replay", line: "replay calls.weftrec " + a + " --callers 2"},
		{command: "instances", line: "instances"},
		{command: "instances weight", line: "instances weight Arith " + a + " 50"},
		{command: "instances drain", line: "instances drain Arith " + a},
		{command: "instances disable", line: "instances disable Arith " + a},
		{command: "instances enable", line: "instances enable Arith " + a},
		{command: "top", line: "top " + a + " --count 1 --interval 200ms --all"},
		{command: "tap", line: "tap " + a + " --count 1 --method Arith.Mul"},
		{command: "record", line: "record " + a + " --count 1 --out {n}.weftrec"},
		{command: "explain", line: "explain Arith.Mul"},
		{command: "doctor", line: "doctor Greeter"},
		{command: "rules apply", line: "rules apply Greeter rules.json"},
		{command: "rules show", line: "rules show Greeter"},
		{command: "rules history", line: "rules history Greeter"},
		{command: "rules check", line: "rules check Greeter other.json"},
		{command: "rules diff", line: "rules diff Greeter other.json", code: 1},
		{command: "rules delete", line: "rules delete Greeter canary"},
		{command: "rules rollback", line: "rules rollback Greeter 0"},
		{command: "registry status", line: "registry status"},
		{command: "registry ls", line: "registry ls Greeter"},
		{command: "registry watch", line: "registry watch Arith --count 1"},
		{command: "registry copy", line: "registry copy --to file://" + w.folder + "/other.json Greeter --force"},
		{command: "context list", line: "context list"},
		{command: "context show", line: "context show"},
		{command: "schema diff", line: "schema diff schema.json changed.json", code: 1},
		{command: "schema check", line: "schema check --against schema.json changed.json", code: 1},
		{command: "version", line: "version"},
	}
	without := []string{"up", "generate", "schema", "help", "context use", "context set", "context remove"} // they have no result, or forms of their own
	for _, cmd := range every(root(&shell.Shell{})) {
		name := strings.TrimPrefix(cmd.CommandPath(), "weft ")
		has := slices.ContainsFunc(cases, func(c formatCase) bool { return c.command == name })
		if cmd.Runnable() && cmd.HasParent() && !has && !slices.Contains(without, name) && (!cmd.HasSubCommands() || name == "instances") {
			t.Errorf("weft %s is not run in all forms", name)
		}
	}
	writeFile(t, "other.json", `{}`)
	fields := make(map[string]bool)
	runs := 0
	for _, form := range []string{"table", "wide", "json", "yaml", "name", "go-template={{printf \"%v\" .}}"} {
		for _, c := range cases {
			try := func() error {
				runs++
				return c.check(t, form, strings.ReplaceAll(c.line, "{n}", fmt.Sprint(runs)), fields)
			}
			if c.again {
				polltest.Until(t, patience, c.line, try)
			} else if err := try(); err != nil {
				t.Error(err)
			}
		}
	}
	compareFields(t, golden, slices.Sorted(maps.Keys(fields)))
}

// check runs the line with a form of the output.
func (c *formatCase) check(t *testing.T, form, line string, fields map[string]bool) error {
	t.Helper()
	code, out, log := run(t, "", append(strings.Fields(line), "-o", form, "--timeout", "40s")...)
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("weft %s -o %s: %s; it returns %d and writes\n%s%s", line, form, fmt.Sprintf(format, args...), code, out, log)
	}
	if code != c.code {
		return wrong("want the exit code %d", c.code)
	}
	failed := c.code == shell.ExitCallFailed
	switch {
	case form == "json":
		d := json.NewDecoder(strings.NewReader(out))
		for n := 0; ; n++ {
			var value any
			if err := d.Decode(&value); errors.Is(err, io.EOF) && n > 0 {
				return nil
			} else if err != nil {
				return wrong("%v", err)
			}
			note(fields, c.command, value)
		}
	case failed && out != "": // the error is on the standard error
		return wrong("want no result")
	case failed, form == "name":
		if strings.Contains(out, "  ") && c.command != "call" {
			return wrong("want a name on each line")
		}
	case form == "yaml":
		for document := range strings.SplitSeq(strings.TrimPrefix(out, "---\n"), "\n---\n") {
			var value any
			if err := yaml.Unmarshal([]byte(document), &value); err != nil || value == nil {
				return wrong("%v", err)
			}
			seen := make(map[string]bool)
			note(seen, c.command, value)
			for path := range seen { // the same names as in JSON
				if !fields[path] && !slices.Contains(sometimes(), path) {
					return wrong("JSON has no %s", path)
				}
			}
		}
	case strings.TrimSpace(out) == "":
		return wrong("want a result")
	}
	return nil
}

// note notes the names of all fields in a value, behind the path to it.
func note(fields map[string]bool, path string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for name, value := range v {
			below := path + "." + name
			if strings.HasSuffix(path, ".codes") || strings.HasSuffix(path, ".tags") {
				below = path + ".*" // the names are those of codes and tags
			}
			fields[below] = true
			note(fields, below, value)
		}
	case []any:
		for _, value := range v {
			note(fields, path+"[]", value)
		}
	}
}

// sometimes returns the fields that a result has or not, as it happens: on a machine that stands still for ten seconds
// weft doctor has advice, for example.
func sometimes() []string {
	return []string{"replay.late_seconds", "version.revision", "version.modified", "record.dropped", "record.streams_left_out", "tap.call.dropped", "doctor[].do"}
}

// compareFields compares the names of the fields with a file.
func compareFields(t *testing.T, golden string, seen []string) {
	t.Helper()
	seen = slices.DeleteFunc(seen, func(s string) bool { return slices.Contains(sometimes(), s) })
	text := strings.Join(seen, "\n") + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(want)) {
		if line = strings.TrimSpace(line); !slices.Contains(seen, line) {
			t.Errorf("JSON has lost the field %s", line)
		}
	}
	for _, line := range seen {
		if !strings.Contains("\n"+string(want), "\n"+line+"\n") {
			t.Errorf("JSON has the new field %s: if it is to stay, run go test -run TestEveryFormat -update in cmd/weft", line)
		}
	}
}
