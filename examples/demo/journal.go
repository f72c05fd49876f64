package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// account compares the results of the calls that must not run twice with the journals
// of the servers.
type account struct {
	calls   int
	twice   int // ran more than once
	lost    int // were answered, and did not run
	denied  int // ran, and the error said that they did not
	unknown int // failed with an unknown outcome
}

// compare checks every call. times is how often each number is in the journals.
func compare(books []booking, times map[int64]int) account {
	a := account{calls: len(books)}
	for _, n := range times {
		if n > 1 {
			a.twice++
		}
	}
	for _, b := range books {
		switch n := times[b.number]; {
		case b.told == ran && n == 0:
			a.lost++
		case b.told == didNotRun && n > 0:
			a.denied++
		case b.told == unknown:
			a.unknown++
		}
	}
	return a
}

// readJournals counts the numbers in the journals of a folder.
func readJournals(folder string) (times map[int64]int, err error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	times = make(map[int64]int)
	for _, f := range files {
		if err := readJournal(filepath.Join(folder, f.Name()), times); err != nil {
			return nil, err
		}
	}
	return times, nil
}

func readJournal(path string, times map[int64]int) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it is only read
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		number, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			return fmt.Errorf("journal %s: %w", filepath.Base(path), err)
		}
		times[number]++
	}
	return lines.Err()
}
