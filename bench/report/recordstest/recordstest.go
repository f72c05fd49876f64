// Package recordstest makes up records for tests: as many peers, workloads and
// oddities as a full comparison has, always the same. None of its figures was
// ever measured.
package recordstest

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"github.com/weftrpc/weft/bench/contract"
	"github.com/weftrpc/weft/bench/internal/runner"
	"github.com/weftrpc/weft/bench/report/records"
)

// peer is what a made-up peer costs.
type peer struct {
	name, language string
	codecs         []string
	cpu            float64 // µs of a call at a thousand callers, with the first codec
	alone          float64 // µs of a call at one caller
	memory         float64 // MiB of both sides
	most           int     // callers, 0 for any number
}

func peers() []peer {
	return []peer{
		{"weft", "Go", []string{"vtproto", "google"}, 14.5, 24, 62, 0},
		{"grpc-go", "Go", []string{"vtproto", "google"}, 86, 123, 88, 0},
		{"net-rpc", "Go", []string{"gob", "json"}, 41, 58, 70, 0},
		{"thrift-go", "Go", []string{"binary", "compact"}, 48, 41, 140, 0},
		{"drpc", "Go", []string{"vtproto", "google"}, 38, 39, 95, 0},
		{"connect", "Go", []string{"vtproto", "google"}, 118, 190, 120, 0},
		{"connect-h1", "Go", []string{"vtproto", "google"}, 96, 150, 260, 0},
		{"floor", "Go", []string{"vtproto", "google", "raw"}, 11.6, 45, 44, 0},
		{"tcp", "Go", []string{"raw"}, 16, 13, 40, 0},
		{"dubbo", "Java", []string{"google"}, 52, 96, 1450, 0},
		{"dubbo-triple", "Java", []string{"google"}, 140, 260, 1700, 300},
		{"motan", "Java", []string{"google"}, 61, 110, 1500, 0},
		{"thrift-java", "Java", []string{"compact", "binary"}, 29, 40, 1600, 0},
		{"grpc-java", "Java", []string{"google"}, 66, 140, 1400, 0},
		{"thrift-cpp-simple", "C++", []string{"binary"}, 19, 21, 9, 1},
		{"thrift-cpp-pool", "C++", []string{"binary", "compact"}, 24, 23, 60, 0},
		{"thrift-cpp-nonblocking", "C++", []string{"binary", "compact"}, 17, 36, 14, 0},
		{"pigeon <0.1> & co", "Go", []string{"own"}, 75, 60, 50, 0},
	}
}

// extra is how much more a call costs with a codec than with the best.
func extra(codec string) float64 {
	switch codec {
	case "google":
		return 5.5
	case "json":
		return 24
	case "raw":
		return -8
	case "compact":
		return 2
	}
	return 0
}

// point is what every peer is measured at.
type point struct {
	runner.Record
	slower float64
}

func points() []point {
	var all []point
	add := func(slower float64, change func(*runner.Record)) {
		p := point{runner.Record{Workload: contract.Echo, Callers: 100, Servers: 1, Clients: 1, Network: runner.Loopback}, slower}
		change(&p.Record)
		all = append(all, p)
	}
	for _, callers := range []int{1, 100, 500, 1000, 2000, 5000} {
		add(1, func(r *runner.Record) { r.Callers = callers })
	}
	for _, callers := range []int{100, 1000} {
		add(1.1, func(r *runner.Record) { r.Callers, r.Servers = callers, 2 })
		add(1.15, func(r *runner.Record) { r.Callers, r.Network = callers, runner.Namespaces })
	}
	add(1, func(r *runner.Record) { r.Share = 0.5 })
	add(1, func(r *runner.Record) { r.Share = 0.8 })
	add(1.2, func(r *runner.Record) { r.Workload = contract.Slow })
	add(1.5, func(r *runner.Record) { r.Workload = contract.Delay })
	add(3, func(r *runner.Record) { r.Workload = contract.Mixed })
	for _, calls := range []int64{10_000, 50_000} {
		add(0.6, func(r *runner.Record) { r.Workload, r.Callers, r.Calls = contract.Math, 1, calls })
		add(6, func(r *runner.Record) { r.Workload, r.Callers, r.Calls = contract.MathNew, 1, calls })
	}
	add(0.6, func(r *runner.Record) { r.Workload, r.Callers, r.Clients, r.Calls = contract.Math, 1, 4, 400_000 })
	return all
}

// File is a made-up comparison.
func File() *records.File {
	noise := rand.New(rand.NewPCG(1, 2))
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var file records.File
	for round := range 3 {
		for _, p := range points() {
			for _, one := range peers() {
				for _, codec := range one.codecs {
					at = at.Add(5 * time.Second)
					if r, made := run(one, codec, p, round+1, at, noise); made {
						file.Runs = append(file.Runs, r)
					}
				}
			}
		}
	}
	for _, codec := range []string{"gob", "json", "messagepack", "protobuf", "vtprotobuf", "cbor", "gencode"} {
		for i, operation := range []string{"encode", "decode", "call"} {
			ns := float64(900+400*i) * (1 + noise.Float64()*4)
			line := records.Codec{Workload: records.CodecWorkload, Codec: codec, Operation: operation, NsPerOp: ns, BytesPerOp: math.Round(ns / 2), AllocsPerOp: float64(1 + 3*i), Size: 581}
			if operation == "call" {
				line.Peer, line.NsPerOp = "weft", ns*8
			}
			file.Codecs = append(file.Codecs, line)
		}
	}
	return &file
}

// run is one made-up record; false for one that is left out.
func run(one peer, codec string, p point, round int, at time.Time, noise *rand.Rand) (runner.Record, bool) {
	r := p.Record
	small := r.Workload == contract.Math || r.Workload == contract.MathNew
	if small && one.language == "Java" || one.name == "tcp" && r.Workload != contract.Echo && !small || r.Share > 0 && one.name == "motan" {
		return r, false
	}
	r.Peer, r.Codec, r.Round, r.Time, r.Language = one.name, codec, round, at, one.language
	r.Version, r.Settings = one.name+" v1.2.3, made up", "as its documents advise, for tests"
	r.Environment = runner.Environment{Go: "go1.26.8", Kernel: "6.18.44", CPU: "Made-up Processor", CPUs: 2, Commit: "0123456789ab"}
	if one.most > 0 && r.Callers > one.most {
		r.Skipped = fmt.Sprintf("at most %d callers: a server thread serves one connection", one.most)
		return r, round == 1
	}
	if one.name == "grpc-java" && r.Callers == 5000 && round == 2 {
		r.Failures, r.FirstError = 1, "grpc-java load: no answer within 60 s: <killed> & gone"
		return r, true
	}
	r.Disturbed = noise.Float64() < 0.15
	speed := 1 + 0.16*(noise.Float64()-0.3)
	if r.Disturbed {
		r.Steal, speed = 12, speed*1.5
	}
	latencies(&r, one, codec, p.slower*speed)
	costs(&r, one, codec, p.slower*speed)
	return r, true
}

// latencies makes up the rate and the latencies of a run.
func latencies(r *runner.Record, one peer, codec string, slower float64) {
	callers := float64(r.Callers * r.Clients)
	busy := (one.cpu + extra(codec)) * slower * (1 + 0.05*math.Abs(math.Log10(callers/700)))
	r.CallsPerSec = min(callers/((one.alone+extra(codec))*slower)*1e6, 1.62e6/busy)
	if r.Share > 0 {
		r.Rate = r.CallsPerSec * r.Share
		r.CallsPerSec, callers = r.Rate*0.999, 8
	}
	r.Mean = callers / r.CallsPerSec * 1e6
	if r.Workload == contract.Delay {
		r.Mean += 10_000
		r.CallsPerSec, r.Ideal = callers/r.Mean*1e6, callers*100
	}
	tail := 1.1 + 0.35*math.Log10(1+callers)
	if one.language == "Java" {
		tail *= 1.3
	}
	// A log-normal body with a heavier tail beyond p99.
	for _, percent := range runner.CurvePoints() {
		steps := -math.Log10(1 - min(percent, 99.9995)/100)
		r.Curve = append(r.Curve, math.Round(r.Mean*(0.55+0.42*tail*math.Pow(steps, 1.35))*10)/10)
	}
	at := func(percent float64) float64 {
		for i, p := range runner.CurvePoints() {
			if p == percent {
				return r.Curve[i]
			}
		}
		return 0
	}
	r.Min, r.P50, r.P90, r.P99, r.P999, r.Max = r.Curve[0], at(50), at(90), at(99), at(99.9), at(99.999)*1.1
	r.Seconds = 3
	if r.Calls > 0 {
		r.Seconds = float64(r.Calls) / r.CallsPerSec
	} else {
		r.Calls = int64(r.CallsPerSec * r.Seconds)
	}
	if r.Workload == contract.Slow || r.Workload == contract.Mixed {
		r.SideCalls, r.SideP50, r.SideP99, r.SidePerSec = r.Calls/100, 5900, 9100, r.CallsPerSec/100
	}
}

// costs makes up what a call took.
func costs(r *runner.Record, one peer, codec string, slower float64) {
	busy := (one.cpu + extra(codec)) * slower * (1 + 0.05*math.Abs(math.Log10(float64(r.Callers)/700)))
	if r.Callers == 1 {
		busy = (one.alone + extra(codec)) * slower * 1.8
	}
	r.ClientCPU, r.ServerCPU, r.SoftIRQ = busy*0.53, busy*0.47, 1.9
	r.ClientRSS, r.ServerRSS = one.memory*0.6, one.memory*0.4+float64(r.Callers)/60
	r.BytesPerCall, r.PacketsPerCall, r.WritesPerCall, r.ReadsPerCall = 1236+one.cpu, 0.4+one.cpu/50, 0.2+one.cpu/80, 0.3+one.cpu/60
	r.Conns = 1 + r.Callers/300
	if one.language == "Go" {
		client, server := one.cpu/2, one.cpu/2+1
		r.ClientAllocs, r.ServerAllocs = &client, &server
	}
}

// Write writes a made-up comparison as a result file.
func Write(w io.Writer) error {
	file := File()
	encoder := json.NewEncoder(w)
	for _, r := range file.Runs {
		if err := encoder.Encode(r); err != nil {
			return err
		}
	}
	for _, c := range file.Codecs {
		if err := encoder.Encode(c); err != nil {
			return err
		}
	}
	return nil
}
