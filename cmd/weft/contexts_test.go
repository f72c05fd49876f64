package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestContexts makes contexts, uses them, and removes them again.
func TestContexts(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("WEFT_CONFIG", filepath.Join(folder, "below", "contexts.json"))
	registry := filepath.Join(folder, "registry.json")
	if err := os.WriteFile(registry, []byte(`{"services": {"Arith": [{"address": "tcp://10.0.0.7:8972"}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"context", "list"}, 0, "there is no context"},
		{[]string{"context", "set", "here", "--registry", "bogus://x"}, 2, "bogus"},
		{[]string{"context", "set", "here", "--registry", "file://" + registry}, 0, ""},
		{[]string{"context", "set", "there", "--registry", "etcds://me:secret@127.0.0.1:1", "--cacert", "ca.pem", "--tls", "-H", "tenant:acme"}, 0, ""},
		{[]string{"context", "use", "nowhere"}, 2, `no context "nowhere"`},
		{[]string{"instances", "Arith", "--context", "here"}, 0, "tcp://10.0.0.7:8972"},
		{[]string{"context", "use", "here"}, 0, ""},
		{[]string{"instances", "Arith"}, 0, "tcp://10.0.0.7:8972"},
		{[]string{"instances", "Arith", "--context", "there"}, 2, "ca.pem"},
		{[]string{"context", "list"}, 0, "etcds://me:***@127.0.0.1:1"},
		{[]string{"context", "show", "there"}, 0, "etcds://me:***@127.0.0.1:1"},
		{[]string{"context", "show", "there", "-o", "yaml"}, 0, "- tenant:acme"},
		{[]string{"context", "show"}, 0, registry},
		{[]string{"context", "show", "nowhere"}, 2, `no context "nowhere"`},
		{[]string{"context", "set", "third", "-H", "api-token:secret", "--servername", "x", "--server", "tcp://127.0.0.1:1"}, 0, "'weft context use third'"},
		{[]string{"context", "show", "third"}, 0, "api-token:***"},
		{[]string{"context", "show", "third", "-o", "go-template={{.servername}} {{.server}}"}, 0, "x tcp://127.0.0.1:1\n"},
		{[]string{"context", "set", "third", "-H", "", "--servername", ""}, 0, ""},
		{[]string{"context", "show", "third", "-o", "go-template={{.servername}} {{.headers}}"}, 0, "<no value> <no value>\n"},
		{[]string{"context", "remove", "third"}, 0, ""},
		{[]string{"context", "list", "-o", "name"}, 0, "here\nthere\n"},
		{[]string{"context", "remove", "here"}, 0, ""},
		{[]string{"context", "remove", "here"}, 2, `no context "here"`},
		{[]string{"context", "use"}, 0, ""},
	} {
		code, out, log := run(t, "", step.args...)
		if code != step.code || !strings.Contains(out+log, step.want) || strings.Contains(out+log, "secret") {
			t.Fatalf("%v returns %d, want %d, and %q in:\n%s%s", step.args, code, step.code, step.want, out, log)
		}
	}
	_, out, _ := run(t, "", "context", "list", "-o", "json")
	var all []map[string]any
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 1 {
		t.Fatalf("the list in JSON is %s, error %v", out, err)
	}
	if ca, _ := all[0]["cacert"].(string); !filepath.IsAbs(ca) || all[0]["tls"] != true {
		t.Errorf("the context that is left is %v, want an absolute cacert and tls", all[0])
	}
	if err := os.WriteFile(os.Getenv("WEFT_CONFIG"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, log := run(t, "", "instances", "Arith"); code != 1 || !strings.Contains(log, "mend or remove the file") {
		t.Errorf("with a broken file the exit code is %d and it writes %s", code, log)
	}
}

// TestFormats writes one list in all forms.
func TestFormats(t *testing.T) {
	path := filepath.Join(t.TempDir(), "registry.json")
	content := `{"services": {"Arith": [{"address": "tcp://10.0.0.7:8972", "version": "2.0"}]}}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for form, want := range map[string]string{
		"name":  "tcp://10.0.0.7:8972\n",
		"json":  `"effective": {` + "\n" + `      "state": "on",` + "\n" + `      "weight": 100`,
		"yaml":  "  effective:\n    state: \"on\"\n    weight: 100\n",
		"wide":  "STARTED",
		"table": "1 instance of 1 service in",
		"go-template={{range .}}{{.service}} {{.effective.weight}}{{end}}": "Arith 100\n",
	} {
		code, out, log := run(t, "", "instances", "Arith", "--registry", "file://"+path, "-o", form)
		if code != 0 || !strings.Contains(out, want) || log != "" {
			t.Errorf("-o %s returns %d, want %q in:\n%s%s", form, code, want, out, log)
		}
	}
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
