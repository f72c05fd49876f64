// Soak runs a mixed load for as long as wanted, and prints what the process holds: memory, file descriptors
// and goroutines. At the end it fails when one of them has grown.
//
//	go run ./soak -for 30m -every 1m
//	go run ./soak -for 60m -every 1m -rate 200   # few calls a second, for a machine with other work
//
// Servers and clients are in this one process and meet over TCP on the loopback. The load is unary calls
// of all sizes with two codecs, with and without compression and checksums; calls that are
// cancelled, that fail, that are nested in both directions; one-way calls; streams that are read to
// their end or not. Meanwhile the server is restarted with a drain, connections are reset, and clients come and go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"time"
)

func main() {
	length := flag.Duration("for", time.Minute, "how long the load runs")
	every := flag.Duration("every", 5*time.Second, "how often a line is printed")
	callers := flag.Int("callers", 2, "callers of each kind, on each client")
	rate := flag.Float64("rate", 0, "calls a second of all callers together; 0: each waits a millisecond between two calls")
	document := flag.String("document", "", "a document into which the figures are written, between its marks")
	flag.Parse()
	// What clients say of connections that are reset on purpose is of no interest.
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if err := run(*length, *every, *callers, *rate, *document); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(length, every time.Duration, callers int, rate float64, document string) error {
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	l, err := newLoad()
	if err != nil {
		return err
	}
	l.start(ctx, callers, rate)
	var samples []sample
	fmt.Println(heading)
	began := time.Now()
	for ctx.Err() == nil {
		select {
		case <-time.After(every):
		case <-ctx.Done():
		}
		s := take(time.Since(began), l)
		samples = append(samples, s)
		fmt.Println(s)
	}
	err = l.end()
	left := settled()
	fmt.Printf("after the end: %v\n", left)
	err = errors.Join(err, growth(samples), left.check())
	if document != "" && err == nil {
		err = publish(document, samples, rate)
	}
	return err
}
