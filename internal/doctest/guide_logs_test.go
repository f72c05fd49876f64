package doctest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weftrpc/weft/cluster/health"
)

// TestLogsInTheGuide: the lines that docs/guide/observability.md tells of are logged, with the level that it says.
func TestLogsInTheGuide(t *testing.T) {
	const guide = "docs/guide/observability.md"
	d := readDocument(t, guide)
	var sources []string
	for _, name := range goFiles(t) {
		if program(name) || strings.HasPrefix(name, "cmd/") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(root, name))
		must(t, err)
		sources = append(sources, strings.Split(string(b), "\n")...)
	}
	var states []string
	for s := health.Healthy; s <= health.Down; s++ {
		states = append(states, "server "+s.String())
	}
	computed := []string{"connect failed", "server lost"} // lines whose level depends on what has happened
	found := 0
	for _, row := range rows(d.section(t, "Logs")) {
		if len(row) != 5 {
			t.Errorf("a row has %d cells: %q", len(row), row)
			continue
		}
		levels, messages := row[1]+" "+row[0], quoted(row[2])
		if len(messages) == 0 {
			t.Errorf("a row has no message: %q", row)
		}
		for _, message := range messages {
			found++
			if slices.Contains(states, message) {
				continue
			}
			message = strings.TrimPrefix(message, "admin: ")
			logged, found := levelsOf(sources, message)
			switch {
			case !logged:
				t.Errorf("%s tells of the line %q, which is not logged", guide, message)
			case len(found) == 0 && !slices.Contains(computed, message):
				t.Errorf("the level of the line %q, of which %s tells, is not found where it is logged", message, guide)
			}
			for _, level := range found {
				if !strings.Contains(levels, level) {
					t.Errorf("%s says that %q has the level %s: it has %s", guide, message, row[1], level)
				}
			}
		}
	}
	if found < 30 {
		t.Errorf("%s tells of %d lines only", guide, found)
	}
}

// levelExpr finds the level in a line that logs.
var levelExpr = regexp.MustCompile(`\b(?:[Ll]ogger|log)\.(Debug|Info|Warn|Error)\(|\bslog\.Level(Debug|Info|Warn|Error)\b`)

// levelsOf tells whether a message is in a line of the sources, and which levels these lines name: directly, by a function that logs with
// one level, or, where the message is the constant what, in the line below it.
func levelsOf(sources []string, message string) (logged bool, levels []string) {
	helpers := map[string]string{"keptOut(": "Info", ".tellBack(": "Info", ".tellLost(": "Warn", ".tellUncached(": "Warn", "s.changed(ctx, ": "Warn"}
	for i, line := range sources {
		if !strings.Contains(line, `"`+message+`"`) {
			continue
		}
		logged = true
		if strings.Contains(line, "const what = ") {
			line = sources[i+1]
		}
		for _, match := range levelExpr.FindAllStringSubmatch(line, -1) {
			levels = append(levels, match[1]+match[2])
		}
		for helper, level := range helpers {
			if strings.Contains(line, helper) {
				levels = append(levels, level)
			}
		}
	}
	return logged, levels
}

// TestLevels: the level of a line is found however it is logged.
func TestLevels(t *testing.T) {
	for source, want := range map[string]string{
		`c.cfg.Logger.Warn("it is so", "a", b)`:            "[Warn]",
		`j.log.Info("it is so")`:                           "[Info]",
		`told.Server(slog.LevelError, "it is so")`:         "[Error]",
		`r.tellLost("it is so", "a", b)`:                   "[Warn]",
		"const what = \"it is so\"\nlogger.Debug(what, a)": "[Debug]",
		`told.Server(level, "it is so")`:                   "[]",
		`catalog.Warn("it is so")`:                         "[]",
	} {
		if logged, levels := levelsOf(strings.Split(source, "\n"), "it is so"); !logged || fmt.Sprint(levels) != want {
			t.Errorf("%s: %t, %v, want %s", source, logged, levels, want)
		}
	}
}
