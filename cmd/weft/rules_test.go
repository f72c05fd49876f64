package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cluster"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/registry"
	"github.com/weftrpc/weft/registry/etcd"
)

const (
	someRules  = `{"instances": [{"name": "canary", "match": {"version": "2.0"}, "weight": 5}]}`
	wrongRules = `{"instances": [{"name": "canary", "match": {"version": "2.0"}, "weigth": 5}]}`
	routed     = `{"routes": [{"name": "staff", "when": {"metadata": [{"key": "user", "in": ["ann"]}]}, "to": [{"match": {"zone": "there"}}], "else": "fail"}]}`
)

// governed runs a registry with one server of Arith in it, and returns its address and a
// function that runs commands on the rules.
func governed(t *testing.T) (listen string, rules func(in string, args ...string) (code int, out, log string)) {
	t.Helper()
	listen = localPort(t)
	upAt(t, listen, t.TempDir())
	t.Setenv("WEFT_REGISTRY", "etcd://"+listen)
	serve(t, listen)
	listed(t, "etcd://"+listen, "Arith")
	return listen, func(in string, args ...string) (int, string, string) {
		t.Helper()
		return run(t, in, append([]string{"rules"}, args...)...)
	}
}

// wants checks what a command has returned and written.
func wants(t *testing.T, what string, code int, text string, wantCode int, want ...string) {
	t.Helper()
	for _, w := range want {
		if code != wantCode || !strings.Contains(text, w) {
			t.Errorf("%s returns %d, want %d, and %q in:\n%s", what, code, wantCode, w, text)
		}
	}
}

func TestRules(t *testing.T) {
	_, rules := governed(t)
	code, out, log := rules("", "show", "Arith")
	if code != 0 || strings.TrimSpace(out) != "{}" || !strings.Contains(log, "has no rules") {
		t.Errorf("of no rules show returns %d and writes %q, %q", code, out, log)
	}
	code, out, _ = rules("", "history", "Arith")
	wants(t, "history of no rules", code, out, 0, "has no rules")
	for _, verb := range []string{"check", "apply"} {
		code, _, log = rules(wrongRules, verb, "Arith")
		wants(t, verb+" of wrong rules", code, log, 1, "weigth")
	}
	code, out, _ = rules(routed, "check", "Arith")
	wants(t, "check of a route", code, out, 0, `like Arith.* {user="ann"}`, "before: 100 % to all (1 instance)", `fail by route "staff"`)
	code, out, log = rules(routed, "check", "-call", "Mul user=bob", "Arith")
	wants(t, "check with a call that the route does not ask for", code, out, 0, "nothing changes")
	wants(t, "the log of it", code, log, 0, "the rules differ from those in force, but change nothing")
	code, out, _ = rules("", "show", "Arith")
	wants(t, "show after a check", code, out, 0, "{}")

	file := filepath.Join(t.TempDir(), "rules.json")
	if err := os.WriteFile(file, []byte(someRules), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ = rules("", "apply", "-by", "anna", "-note", "first", "Arith", file)
	wants(t, "apply", code, out, 0, "version 1 of the rules of Arith is in force")
	code, first, _ := rules("", "show", "Arith")
	wants(t, "show", code, first, 0, `"canary"`, `"anna"`, `"first"`)
	code, out, log = rules(first, "check", "Arith")
	wants(t, "check of the same rules", code, out, 0, "nothing changes")
	if strings.Contains(log, "differ") {
		t.Errorf("of the same rules check writes %q", log)
	}

	// A service that no server has registered needs -force.
	code, out, log = rules(someRules, "apply", "Aritj")
	wants(t, "apply for an unknown service", code, out+log, 1, "no server of Aritj is registered in etcd", "only servers of Arith;", "-force")
	code, out, log = rules(someRules, "check", "Aritj")
	wants(t, "check for an unknown service", code, out+log, 0, "no server of Aritj", "only servers of Arith")
	code, out, _ = rules("", "show", "Aritj")
	wants(t, "show after a refusal", code, out, 0, "{}")
	code, out, _ = rules(someRules, "apply", "-force", "Aritj")
	wants(t, "apply with -force", code, out, 0, "version 1 of the rules of Aritj is in force")

	// What was shown can be edited and applied, but only once.
	edited := strings.Replace(first, `"weight": 5`, `"weight": 6`, 1)
	code, out, _ = rules(edited, "apply", "-by", "bob", "Arith", "-")
	wants(t, "apply of edited rules", code, out, 0, "version 2")
	code, _, log = rules(edited, "apply", "Arith")
	wants(t, "apply of rules made from an old version", code, log, 1, "version 2")

	// Rules without a version replace all; what is lost by that is named.
	for _, verb := range []string{"check", "apply"} {
		code, _, log = rules(`{"methods": {"Mul": {"timeout": "3s"}}}`, verb, "Arith")
		wants(t, verb+" of rules without a version", code, log, 0, "in force now, and not in the new rules: canary")
	}
	code, _, log = rules(`{"instances": [{"match": {"id": "calculator"}, "weight": 5}]}`, "apply", "Arith")
	wants(t, "apply of a rule without a name", code, log, 0, "not in the new rules: Mul")
	code, _, log = rules("", "delete", "Arith", "canary")
	wants(t, "delete where no rule has a name", code, log, 1, `no rule "canary", and none with another name; --all deletes all`)
	code, _, log = rules(strings.Repeat(" ", registry.MaxDocument+1), "apply", "Arith")
	wants(t, "apply of more than a document", code, log, 1, "bytes")
}

func TestRulesHistory(t *testing.T) {
	listen, rules := governed(t)
	for n, note := range []string{"first", "second", "third"} {
		code, out, log := rules(strings.Replace(someRules, "5", fmt.Sprint(n+1), 1), "apply", "-by", "anna", "-note", note, "Arith")
		wants(t, "apply", code, out+log, 0, fmt.Sprintf("version %d", n+1))
	}
	code, out, _ := rules("", "history", "Arith")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != 0 || len(lines) != 4 || !strings.HasPrefix(lines[1], "3 ") || !strings.HasSuffix(lines[3], "first") || !strings.Contains(lines[2], "anna") {
		t.Errorf("history returns %d and writes:\n%s", code, out)
	}
	code, old, _ := rules("", "show", "-version", "1", "Arith")
	wants(t, "show of an old version", code, old, 0, `"weight": 1`)
	if strings.Contains(old, "history") || strings.Contains(old, `"by"`) {
		t.Errorf("an old version cannot be applied as it is shown:\n%s", old)
	}
	code, _, log := rules("", "show", "-version", "7", "Arith")
	wants(t, "show of a version that is not there", code, log, 1, "no version 7")
	code, _, log = rules("", "rollback", "Arith", "7")
	wants(t, "rollback to a version that is not there", code, log, 1, "7")

	code, out, _ = rules("", "rollback", "-note", "too heavy", "Arith", "1")
	wants(t, "rollback", code, out, 0, "version 4 of the rules of Arith is in force")
	code, out, _ = rules("", "show", "Arith")
	wants(t, "show after rollback", code, out, 0, `"weight": 1`, "too heavy")

	// A document that was stored by hand can be seen and rolled back.
	reg, err := etcd.New(etcd.Config{Endpoints: []string{listen}, Registry: registry.Config{NoCache: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	doc, err := reg.Load(ctx, cluster.RulesDocument("Arith"))
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.Replace(string(doc.Value), `"weight": 1`, `"weight": "heavy"`, 1)
	if err := reg.Store(ctx, cluster.RulesDocument("Arith"), []byte(broken), doc.Version); err != nil {
		t.Fatal(err)
	}
	code, out, log = rules("", "show", "Arith")
	wants(t, "show of broken rules", code, out+log, 0, "clients cannot use", `"heavy"`)
	code, out, _ = rules("", "rollback", "Arith", "2")
	wants(t, "rollback from broken rules", code, out, 0, "is in force")

	// Also without a history, and when it is no JSON.
	for _, broken := range []string{`{"instances": [{"weigth": 1}]}`, `{"instances": [`} {
		if doc, err = reg.Load(ctx, cluster.RulesDocument("Arith")); err != nil {
			t.Fatal(err)
		}
		if err := reg.Store(ctx, cluster.RulesDocument("Arith"), []byte(broken), doc.Version); err != nil {
			t.Fatal(err)
		}
		code, _, log = rules("", "rollback", "Arith", "2")
		wants(t, "rollback without a history", code, log, 1, "version 0 is no rules")
		code, out, log = rules("", "rollback", "Arith", "0")
		wants(t, "rollback to no rules", code, out+log, 0, "clients cannot use", "version 1 of the rules of Arith is in force")
		code, out, log = rules(someRules, "apply", "Arith")
		wants(t, "apply after that", code, out+log, 0, "version 2 of the rules of Arith is in force")
	}
}

// TestStateByRule takes an instance out of service, and brings it back: the table shows
// it, and a client that runs follows.
func TestStateByRule(t *testing.T) {
	listen, rules := governed(t)
	reg, err := etcd.New(etcd.Config{Endpoints: []string{listen}, Registry: registry.Config{NoCache: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer reg.Close()
	c, err := cluster.New(&cluster.Config{Registry: reg})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	call := func() error {
		_, err := weft.Invoke[int](t.Context(), c, "Arith.Mul", &Args{6, 7}, weft.WithTimeout(5*time.Second))
		return err
	}
	for _, test := range []struct {
		name   string
		state  string
		change string // what apply says
		fails  string // the error of a call; "": there is none
	}{
		{"disabled", "off", "on -> off", "it is off"},
		{"drained", "draining", "off -> draining", ""}, // it answers, for there is no other
		{"enabled", "on", "draining -> on", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, out, log := rules(`{"instances": [{"name": "repair", "match": {"id": "calculator"}, "state": "`+test.state+`"}]}`, "apply", "Arith")
			wants(t, "apply", code, out+log, 0, "instance calculator: "+test.change)
			listed(t, "etcd://"+listen, "Arith", "calculator", " "+test.state+" ", test.state+` by rule "repair"`)
			polltest.Until(t, patience, "a call goes as the rule says", func() error {
				switch err := call(); {
				case err == nil && test.fails != "":
					return fmt.Errorf("the call went well, want an error with %q", test.fails)
				case err != nil && (test.fails == "" || !strings.Contains(err.Error(), test.fails)):
					return err
				}
				return nil
			})
		})
	}
}
