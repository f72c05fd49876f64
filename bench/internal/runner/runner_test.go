package runner

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weftrpc/weft/bench/harness"
	"github.com/weftrpc/weft/bench/internal/peer/tcppeer"
	"github.com/weftrpc/weft/internal/leak"
)

// The test binary is the programs under test, when it is started as a child: a
// good one, or one with the bad habit that the second argument names.
const asGood, asBad = "good", "bad"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case asGood:
			os.Args = os.Args[1:]
			harness.Main(tcppeer.Peer{})
		case asBad:
			misbehave(os.Args[2])
			os.Exit(0)
		}
	}
	// A child under the race detector sleeps a second before it ends, without this.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	leak.Main(m)
}

// program is the command line of a child.
func program(t *testing.T, args ...string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{self}, args...)
}

// misbehave is a program that does not keep the contract.
func misbehave(habit string) {
	ready := `{"event":"ready","addr":"127.0.0.1:1"}`
	result := `{"event":"result","late":%d,"calls":%d,"seconds":%d,"main":{"count":1,"sum_ns":5,"min_ns":5,"max_ns":5,"histogram_ns":[[5,%d]]},"side":{}}`
	switch habit {
	case "silent":
		time.Sleep(time.Hour)
	case "dying":
		os.Exit(3)
	case "garbage":
		fmt.Println("Listening on port 1 ...")
	case "failing":
		fmt.Println(`{"event":"failed","error":"no such codec"}`)
	case "early":
		fmt.Println(`{"event":"warm"}`)
	case "homeless":
		fmt.Println(`{"event":"ready"}`)
	case "endless":
		line := bytes.Repeat([]byte("x"), 1<<20)
		for range 6 {
			_, _ = os.Stdout.Write(line)
		}
		fmt.Println()
	case "empty":
		fmt.Println(`{"event":"result"}`)
	case "miscounting":
		fmt.Printf(result+"\n", 0, 7, 1, 1)
	case "contradicting":
		fmt.Printf(result+"\n", 0, 1, 1, 2)
	case "tardy":
		fmt.Printf(result+"\n", 2, 1, 1, 1)
	case "timeless":
		fmt.Printf(result+"\n", 0, 1, 0, 1)
	case "stubborn": // does not end with its input, nor when asked to
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		fmt.Println(ready)
		time.Sleep(time.Hour)
	case "parental": // the same, through a child that holds its output
		cmd := exec.Command(os.Args[0], asBad, "stubborn")
		cmd.Stdout = os.Stdout
		_ = cmd.Run()
	case "talkative": // prints more than it was asked for, and ends with its input
		for range 1000 {
			fmt.Println(ready)
		}
	}
}

// output gathers what programs say; several may at once.
type output struct {
	mu   sync.Mutex
	text strings.Builder
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
