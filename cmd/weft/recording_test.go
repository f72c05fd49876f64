package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
	"github.com/weftrpc/weft/plugin/record"
)

// recorded writes a recording with calls of Arith.Mul and Shop.Tenant, the second half of them of the tenant blue.
func recorded(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "calls.weftrec")
	w, err := record.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	asJSON := func(text string) record.Message { return record.Message{Codec: "json", Body: []byte(text)} }
	began := time.Now().Add(-time.Hour)
	for n := range 10 {
		tenant := []string{"acme", "blue"}[n/5]
		err := w.Write(&record.Call{Time: began.Add(time.Duration(n) * 20 * time.Millisecond), Took: time.Millisecond, Side: record.Answered, Wire: "weft", Method: "Arith.Mul",
			Metadata: [][2]string{{"tenant", tenant}}, Request: asJSON(fmt.Sprintf(`{"A":%d,"B":7}`, n)), Reply: asJSON(fmt.Sprint(7 * n))})
		if err == nil {
			err = w.Write(&record.Call{Time: began.Add(time.Duration(n) * 20 * time.Millisecond), Side: record.Answered, Method: "Shop.Tenant",
				Metadata: [][2]string{{"tenant", tenant}}, Request: asJSON(`{}`), Reply: asJSON(fmt.Sprintf(`{"text":%q}`, tenant))})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	err = w.Write(&record.Call{Time: began, Side: record.Answered, Method: "Shop.Fail", Code: weft.FailedPrecondition, Request: asJSON(`{}`)})
	if err == nil {
		err = w.Write(&record.Call{Time: began, Side: record.Answered, Method: "Arith.Mul", Oneway: true, Request: asJSON(`{}`)})
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// off changes what Arith.Mul answers by one.
func off(cfg *weft.ServerConfig) {
	cfg.Interceptors = append(cfg.Interceptors, func(ctx context.Context, info *weft.CallInfo, req any, next weft.UnaryFunc) (any, error) {
		reply, err := next(ctx, info, req)
		if n, ok := reply.(*int); ok {
			*n++
		}
		return reply, err
	})
}

// TestRecord records the calls of a server that is called, and makes them again.
func TestRecord(t *testing.T) {
	s := begin(t)
	busy(t, s.address)
	folder := t.TempDir()
	path := filepath.Join(folder, "calls.weftrec")
	expect(t, 0, "20 calls in "+path, "calls of "+s.address+" are recorded", "", "record", s.address, "--out", path, "--count", "20")
	expect(t, 2, "", "is there already", "", "record", s.address, "--out", path)
	code, out, log := run(t, "", "replay", path, s.address, "--callers", "4")
	if code != 0 || !strings.Contains(out, "Arith.Mul") || strings.Contains(out, "Shop.Fail") || !strings.Contains(out, "0 different") || !strings.Contains(out, "not idempotent: --all") {
		t.Errorf("replay returns %d:\n%s%s", code, out, log)
	}
	expect(t, 0, "Shop.Fail", "", "", "replay", path, s.address, "--callers", "4", "--all")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v, error %v", info.Mode(), err)
	}

	registry := write(t, "registry.json", fmt.Sprintf(`{"services": {"Arith": [{"address": %q}]}}`, s.address))
	other := filepath.Join(folder, "other.weftrec")
	polltest.Until(t, patience, "calls are recorded without their messages", func() error {
		code, out, log := run(t, "", "record", "Arith", "--registry", "file://"+registry, "--out", other, "--duration", "500ms", "--no-bodies", "-o", "json")
		var made struct {
			Calls int
			Bytes int64
		}
		if err := json.Unmarshal([]byte(out), &made); err != nil || code != 0 || made.Calls == 0 || made.Bytes == 0 {
			_ = os.Remove(other) // it is there if it has no calls
			return fmt.Errorf("record --no-bodies returns %d, error %v:\n%s%s", code, err, out, log)
		}
		return nil
	})
	expect(t, 1, "", "record without --no-bodies", "", "replay", other, s.address, "--callers", "1", "--timeout", "20s", "-o", "name")
	expect(t, 0, path, "", "", "record", s.address, "--out", path+"2", "--count", "1", "--method", "Shop.Fail", "-o", "name")
	expect(t, 2, "", "--out is missing", "", "record", s.address)
	expect(t, 2, "", "--max-body", "", "record", s.address, "--out", other+"2", "--max-body", "100000")
	expect(t, 2, "", "not a directory", "", "record", s.address, "--out", filepath.Join(path, "below"))
	expect(t, 4, "", "'weft doctor", "", "record", "tcp://"+localPort(t), "--out", other+"2")

	// Messages are recorded only where the program permits it, and nothing is left of a recording without calls.
	closed := begin(t, func(cfg *weft.ServerConfig) {
		cfg.Authenticate = func(context.Context, weft.Credential, *weft.CallInfo) (any, error) { return "ann", nil }
	})
	token := write(t, "admin", "adm\n")
	expect(t, 5, "", "--no-bodies", "", "record", closed.address, "--out", other+"2", "--admin-token-file", token)
	if _, err := os.Stat(other + "2"); err == nil {
		t.Error("a recording without calls is left")
	}
}

// TestReplay makes the calls of a recording again, in all forms, and finds what differs.
func TestReplay(t *testing.T) {
	s, changed, path := begin(t), begin(t, off), recorded(t)
	for _, address := range []string{s.address, "grpc://" + s.at} {
		expect(t, 0, "10 calls in", "", "", "replay", path, address, "--callers", "2")
	}
	expect(t, 0, "10 equal, 0 different", "", "", "replay", path, "http://"+s.at, "--callers", "2", "--all", "--method", "Arith.*")
	expect(t, 5, "", "--all makes the calls of all", "", "replay", path, "http://"+s.at)
	expect(t, 0, "10 equal, 0 different", "", "", "replay", path, s.address, "--speed", "2")
	expect(t, 0, "21 equal, 0 different", "", "", "replay", path, s.address, "--all", "--callers", "3")
	expect(t, 1, "42 was recorded, now 43", "", "", "replay", path, changed.address, "--callers", "1")
	expect(t, 1, "8 more answers differ", "", "", "replay", path, changed.address, "--callers", "1", "--show", "2")
	expect(t, 1, "Arith.Mul\n", "", "", "replay", path, changed.address, "--callers", "1", "-o", "name")
	expect(t, 1, "different: 10", "", "", "replay", path, changed.address, "--callers", "1", "-o", "yaml")
	expect(t, 1, "10 of 20", "", "", "replay", path, changed.address, "--callers", "1", "--all", "--method", "Arith.*,Shop.Tenant", "-o", "go-template={{.different}} of {{.calls}}")
	code, out, log := run(t, "", "replay", path, changed.address, "--callers", "1", "-o", "json")
	var got struct {
		Calls, Different int
		Changing         int `json:"left_out_not_idempotent"`
		Methods          []struct{ Method string }
		Mismatches       []struct {
			Differences []struct{ Recorded, Now string }
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 1 || got.Calls != 10 || got.Different != 10 || got.Changing != 11 || len(got.Methods) != 1 ||
		len(got.Mismatches) != 10 || got.Mismatches[6].Differences[0].Recorded != "42" || got.Mismatches[6].Differences[0].Now != "43" {
		t.Errorf("replay in JSON returns %d, error %v:\n%s%s", code, err, out, log)
	}

	registry := write(t, "registry.json", fmt.Sprintf(`{"services": {"Arith": [{"address": %q}], "Shop": [{"address": %q}]}}`, s.address, s.address))
	t.Setenv("WEFT_REGISTRY", "file://"+registry)
	expect(t, 0, "10 equal, 0 different", "", "", "replay", path, "--callers", "2")

	expect(t, 2, "", "no such file", "", "replay", filepath.Join(t.TempDir(), "none"), s.address)
	expect(t, 2, "", "no file of calls", "", "replay", write(t, "other", strings.Repeat("x", 100)), s.address)
	expect(t, 2, "", "want one of them", "", "replay", path, s.address, "--callers", "1", "--speed", "2")
	expect(t, 2, "", "--speed is 0", "", "replay", path, s.address, "--speed", "0")
	expect(t, 2, "", "is no address", "", "replay", path, "Arith")
	expect(t, 2, "", "encoded already", "", "replay", path, "thrift://"+s.at, "--all")
	expect(t, 1, "", "--method leaves all out", "", "replay", path, s.address, "--all", "--method", "Shop.None", "-o", "name")
	expect(t, 4, "", "'weft doctor", "", "replay", path, "tcp://"+localPort(t), "--all")

	// A recording that is cut off says so.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, 1, "damaged: ", "", "", "replay", write(t, "cut.weftrec", string(text[:len(text)-20])), s.address, "--callers", "1")
}

// TestDryRun tries rules with the calls of a recording, and deletes rules.
func TestDryRun(t *testing.T) {
	path := recorded(t)
	registry := write(t, "registry.json", `{"services": {"Arith": [{"id": "a", "address": "tcp://10.0.0.7:1", "version": "1.0"}, {"id": "b", "address": "tcp://10.0.0.8:1", "version": "2.0"}]}}`)
	t.Setenv("WEFT_REGISTRY", "file://"+registry)
	rules := write(t, "rules.json", `{"instances": [{"name": "old", "match": {"version": "1.0"}, "weight": 50}],
		"routes": [{"name": "blue", "when": {"metadata": [{"key": "tenant", "in": ["blue"]}]}, "to": [{"match": {"version": "2.0"}, "percent": 100}]}]}`)
	for _, verb := range []string{"check", "dry-run"} {
		expect(t, 0, "5 of 11 calls would go elsewhere", "", "", "rules", verb, "Arith", rules, "--calls", path)
	}
	expect(t, 0, "of the calls", "", "", "rules", "check", "Arith", rules, "--calls", path)
	expect(t, 1, "5 of 11 calls", "", "", "rules", "diff", "Arith", rules, "--calls", path)
	code, out, log := run(t, "", "rules", "check", "Arith", rules, "--calls", path, "-o", "json")
	var report struct {
		Changed   bool
		Sample    int `json:"sample_calls"`
		Instances []struct {
			ID      string
			Percent float64
		}
	}
	if err := json.Unmarshal([]byte(out), &report); err != nil || code != 0 || !report.Changed || report.Sample != 11 || len(report.Instances) != 2 || report.Instances[0].Percent >= 50 {
		t.Errorf("the check in JSON returns %d, error %v:\n%s%s", code, err, out, log)
	}
	expect(t, 2, "", "no such file", "", "rules", "check", "Arith", rules, "--calls", filepath.Join(t.TempDir(), "none"))
	expect(t, 2, "", "want one of them", "", "rules", "check", "Arith", rules, "--calls", path, "--call", "Mul")

	expect(t, 1, "", "has no rules", "", "rules", "delete", "Arith", "--all")
	expect(t, 0, `"version": 1`, "", "", "rules", "apply", "Arith", rules, "-o", "json")
	expect(t, 0, "blue\nold\n", "", "", "rules", "show", "Arith", "-o", "name")
	expect(t, 1, "", `no rule "green", only blue, old`, "", "rules", "delete", "Arith", "green")
	expect(t, 2, "", "want the names of rules, or --all", "", "rules", "delete", "Arith")
	expect(t, 2, "", "want the names of rules, or --all", "", "rules", "delete", "Arith", "blue", "--all")
	expect(t, 0, "version 2 of the rules of Arith is in force", "", "", "rules", "delete", "Arith", "blue", "--note", "the trial is over")
	expect(t, 0, "old\n", "", "", "rules", "show", "Arith", "-o", "name")
	expect(t, 0, "instance a: weight 50 -> 100", "", "", "rules", "delete", "Arith", "--all")
	expect(t, 0, "all rules deleted", "", "", "rules", "history", "Arith")
	expect(t, 0, "the trial is over", "", "", "rules", "history", "Arith")
	expect(t, 0, "in force", "", "", "rules", "rollback", "Arith", "1")
	expect(t, 0, "blue\nold\n", "", "", "rules", "show", "Arith", "-o", "name")
}
