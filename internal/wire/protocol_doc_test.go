package wire_test

import (
	"bytes"
	"encoding/hex"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestProtocolExample holds the example in docs/PROTOCOL.md to its vector.
func TestProtocolExample(t *testing.T) {
	doc, err := os.ReadFile("../../docs/PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```hex\n(.*?)```").FindAllSubmatch(doc, -1)
	var vectors []exchange
	load(t, "exchanges", &vectors)
	for _, x := range vectors {
		if x.Name != "unary-ok" {
			continue
		}
		if len(blocks) != len(x.Steps) {
			t.Fatalf("the example has %d steps, the vector %d", len(blocks), len(x.Steps))
		}
		for i, s := range x.Steps {
			if got := exampleBytes(t, string(blocks[i][1])); !bytes.Equal(got, s.Hex) {
				t.Errorf("step %d (%s):\n%x in the document\n%x in the vector", i, s.Says, got, []byte(s.Hex))
			}
		}
		return
	}
	t.Fatal("there is no vector unary-ok")
}

// exampleBytes reads lines of bytes, of which two spaces part the meaning.
func exampleBytes(t *testing.T, block string) (all []byte) {
	t.Helper()
	for _, line := range strings.Split(strings.TrimRight(block, "\n"), "\n") {
		digits, _, _ := strings.Cut(line, "  ")
		b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		all = append(all, b...)
	}
	return all
}

// TestProtocolNames holds the types and flags of this package to those in the document.
func TestProtocolNames(t *testing.T) {
	doc, err := os.ReadFile("../../docs/PROTOCOL.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, typ := range typeNames {
		row := regexp.MustCompile(`(?m)^\| (\d+) \| ` + name + ` \|`).FindSubmatch(doc)
		if row == nil || string(row[1]) != strconv.Itoa(int(typ)) {
			t.Errorf("the document does not say that %s is type %d", name, typ)
		}
	}
	for name, flag := range flagNames {
		if want := "| " + name + " | `" + hex.EncodeToString([]byte{byte(flag)}) + "` |"; !bytes.Contains(doc, []byte(want)) {
			t.Errorf("the document does not have %s", want)
		}
	}
}
