package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// role names the variable that makes a process a server or a generator.
const role = "WEFT_OVERLOAD_ROLE"

func main() {
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, "overload:", err)
		os.Exit(1)
	}
}

func command() error {
	switch os.Getenv(role) {
	case "server":
		var o serverOptions
		if err := json.Unmarshal([]byte(os.Args[1]), &o); err != nil {
			return err
		}
		return serve(o)
	case "generator":
		var p Plan
		if err := json.NewDecoder(os.Stdin).Decode(&p); err != nil {
			return err
		}
		return generate(p)
	}
	seconds := flag.Float64("seconds", 3, "seconds for each load")
	only := flag.String("only", "", "the scenarios to run, separated by commas; empty: all with weft, and those to be compared on the other wires")
	wires := flag.String("wire", "weft,grpc,off", "weft, off (without protection), grpc: any of them, separated by commas")
	document := flag.String("document", "", "a document into which the figures are written, between its marks")
	times := flag.String("times", "1.5,2,4,10", "the loads, as multiples of the capacity")
	pin := flag.Bool("pin", false, "keep servers to one processor of the machine and generators to another, by the command taskset")
	asJSON := flag.Bool("json", false, "print the results as JSON")
	flag.Parse()
	loads, err := parseLoads(*times)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	each := time.Duration(*seconds * float64(time.Second))
	var all runs
	for _, wire := range strings.Split(*wires, ",") {
		for _, s := range scenarios() {
			if !chosen(s, wire, *only) {
				continue
			}
			results, err := s.run(launcher{self, *pin}, wire, loads, each)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			all = append(all, run{wire, s, results})
			if *asJSON {
				if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"wire": wire, "scenario": s.name, "results": results}); err != nil {
					return err
				}
				continue
			}
			report(os.Stdout, wire, s, results)
		}
	}
	if *asJSON {
		return nil
	}
	lines := demands(all)
	printLines(os.Stdout, lines)
	if *document != "" {
		return publish(*document, lines, each)
	}
	return nil
}

// chosen reports whether a scenario is run on a wire.
func chosen(s scenario, wire, only string) bool {
	if only != "" {
		return slices.Contains(strings.Split(only, ","), s.name) && (wire == "weft" || !s.weft)
	}
	return wire == "weft" || s.beside
}

func parseLoads(text string) (loads []float64, err error) {
	for _, part := range strings.Split(text, ",") {
		var x float64
		if _, err := fmt.Sscanf(part, "%g", &x); err != nil || x <= 0 || x > 100 {
			return nil, fmt.Errorf("-times has %q, want numbers from 0 to 100 separated by commas", part)
		}
		loads = append(loads, x)
	}
	return loads, nil
}
