package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/internal/polltest"
)

// TestBench measures a method in both loops.
func TestBench(t *testing.T) {
	s := begin(t)
	for _, loop := range [][]string{{"--callers", "2"}, {"--rate", "100"}} {
		polltest.Until(t, patience, "a measurement", func() error { // a busy machine may make no call in its time
			code, out, log := run(t, "", append([]string{"bench", s.address, "Arith.Mul", `{"A":6,"B":7}`, "--duration", "300ms", "--warm-up", "50ms", "-o", "json"}, loop...)...)
			var got struct {
				Calls uint64
				Codes map[string]uint64
				Rate  float64 `json:"calls_per_second"`
				P99   float64 `json:"p99_seconds"`
			}
			if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || got.Calls == 0 || got.Codes["OK"] != got.Calls || got.Rate <= 0 || got.P99 <= 0 {
				return fmt.Errorf("bench %v returns %d, error %v:\n%s%s", loop, code, err, out, log)
			}
			return nil
		})
	}
	eventually(t, 0, "99 %", "", "bench", "http://"+s.at, "Arith.Mul", "--duration", "200ms", "--warm-up", "0s")
	expect(t, 3, "", "the shop is closed", "", "bench", s.address, "Shop.Fail", "--duration", "200ms")
	for _, share := range []string{"1", "0.5"} {
		want := 0
		if share != "1" {
			want = 3
		}
		polltest.Until(t, patience, "a measurement of calls that fail", func() error {
			code, out, log := run(t, "", "bench", s.address, "Shop.Fail", "--duration", "200ms", "--warm-up", "0s", "--max-errors", share)
			if code != want || !strings.Contains(out, "FailedPrecondition ") || !strings.Contains(out, "99 %") {
				return fmt.Errorf("bench --max-errors %s returns %d, want %d and the codes in:\n%s%s", share, code, want, out, log)
			}
			return nil
		})
	}
	expect(t, 3, "", "'weft list' names the methods", "", "bench", s.address, "Shop.Nothing", "--max-errors", "1")
	expect(t, 2, "", "--rate", "", "bench", s.address, "Arith.Mul", "--rate", "-1")
	expect(t, 2, "", "is no JSON", "", "bench", s.address, "Arith.Mul", "{")
	expect(t, 2, "", "carries no JSON", "", "bench", "netrpc://"+s.at, "Arith.Mul")
	expect(t, 2, "", `unknown field "C"`, "", "bench", s.address, "Arith.Mul", `{"A":6,"C":7}`)
	eventually(t, 0, "99 %", "", "bench", s.address, "Arith.Mul", `{"A":6,"C":7}`, "--allow-unknown", "--duration", "100ms", "--warm-up", "0s")
}

// TestBenchCompare compares a run with itself, and writes the page.
func TestBenchCompare(t *testing.T) {
	s := begin(t)
	flags := []string{"--duration", "600ms", "--warm-up", "0s", "--callers", "2"}
	before := ""
	polltest.Until(t, patience, "a measurement to compare with", func() error { // a busy machine may make no call in its time
		code, out, log := run(t, "", append([]string{"bench", s.address, "Arith.Mul", "-o", "json"}, flags...)...)
		if code != 0 || !strings.Contains(out, `"percentiles"`) || !strings.Contains(out, `"intervals"`) {
			return fmt.Errorf("bench returns %d:\n%s%s", code, out, log)
		}
		before = out
		return nil
	})
	old, page := write(t, "before.json", before), filepath.Join(t.TempDir(), "report.html")
	eventually(t, 0, "RATIO", "the page is in "+page, append([]string{"bench", s.address, "Arith.Mul", "--compare", old, "--html", page}, flags...)...)
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "<svg") || !strings.Contains(string(text), "Compared with "+old) {
		t.Errorf("the page is %.100q, error %v", text, err)
	}
	polltest.Until(t, patience, "a comparison in JSON", func() error {
		code, out, log := run(t, "", append([]string{"bench", s.address, "Arith.Mul", "--compare", old, "-o", "json"}, flags...)...)
		var got struct {
			Comparison struct {
				File    string
				Metrics []struct {
					Name  string
					Ratio float64
				}
			}
		}
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 || got.Comparison.File != old || len(got.Comparison.Metrics) != 6 || got.Comparison.Metrics[2].Ratio <= 0 {
			return fmt.Errorf("bench --compare in JSON returns %d, error %v:\n%s%s", code, err, out, log)
		}
		return nil
	})

	// Against a run whose calls took no time all times have grown.
	fast := regexp.MustCompile(`"(p\d+|mean)_seconds": [^,\n]+`).ReplaceAllString(before, `"${1}_seconds": 0.0000001`)
	fast = strings.Replace(fast, `"method": "Arith.Mul"`, `"method": "Arith.Add"`, 1)
	args := append([]string{"bench", s.address, "Arith.Mul", "--compare", write(t, "fast.json", fast), "--max-ratio", "1.5"}, flags...)
	// On a busy machine so few calls may be made that nothing can be told from them.
	polltest.Until(t, time.Minute, "a run that is worse", func() error {
		if code, out, log := run(t, "", args...); code != 1 || !strings.Contains(out, "worse") || !strings.Contains(out, "the methods differ") || !strings.Contains(log, "--max-ratio is 1.5") {
			return fmt.Errorf("bench --max-ratio returns %d:\n%s%s", code, out, log)
		}
		return nil
	})
	expect(t, 2, "", "--max-ratio", "", "bench", s.address, "Arith.Mul", "--max-ratio", "2")
	expect(t, 2, "", "--compare: open /nowhere", "", "bench", s.address, "Arith.Mul", "--compare", "/nowhere")
	expect(t, 2, "", "no figures", "", "bench", s.address, "Arith.Mul", "--compare", write(t, "none.json", "{}"))
	expect(t, 2, "", "carries no JSON", "", "bench", "thrift://"+s.at, "Arith.Mul")
}

// TestBenchInterrupted interrupts a measurement of a method that has begun to hang.
func TestBenchInterrupted(t *testing.T) {
	s := begin(t)
	hangs := make(chan struct{})
	var calls atomic.Int64
	err := weft.Handle(s.srv, "Shop.Hang", func(ctx context.Context, n *Sum) (*Sum, error) {
		switch calls.Add(1) {
		case 1, 2, 3, 4, 5:
			return n, nil
		case 6:
			close(hangs)
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, "bench", s.address, "Shop.Hang", "--callers", "1", "--warm-up", "0s", "--duration", "1h", "--timeout", "1h")
	<-hangs
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.exited:
	case <-time.After(patience):
		t.Fatal("it goes on")
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 || !strings.Contains(p.text(), "Shop.Hang: 4 calls in ") {
		t.Errorf("it returns %d and writes %q", code, p.text())
	}
}

// TestBenchTerminal shows the figures so far on a terminal.
func TestBenchTerminal(t *testing.T) {
	s := begin(t)
	figures := regexp.MustCompile(`\rArith\.Mul: .*a second, \d+ % in`)
	polltest.Until(t, patience, "the figures so far on a terminal", func() error { // a busy machine may show them too late
		text, code := onTerminal(t, "bench "+s.address+" Arith.Mul --duration 1s --warm-up 0s")
		if code != 0 || !figures.MatchString(text) || !strings.Contains(text, "\r\x1b[K") {
			return fmt.Errorf("bench on a terminal returns %d and writes %q", code, text)
		}
		return nil
	})
}
