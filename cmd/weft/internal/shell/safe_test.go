package shell

import (
	"strings"
	"testing"
)

func TestSafe(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "",
		"Arith.Mul\tok\n":                       "Arith.Mul\tok\n",
		"größer, 織る, \u200d":                    "größer, 織る, \u200d",
		"\xff\xc3":                              "\xff\xc3",
		"a\x9b2Jb\x80\x9f\xa0, \xe7\xb9":        `a\x9b2Jb\x80\x9f` + "\xa0, \xe7" + "\xb9",
		"\xe7\x94x\xc2\x1b\xc2":                 "\xe7" + `\x94x` + "\xc2" + `\u001b` + "\xc2",
		string(Red) + "a\x1b[2Jb" + plain:       "\x1b[31ma" + `\u001b[2Jb` + "\x1b[0m",
		"a\rb\bc\ad\x00\x7f":                    `a\u000db\u0008c\u0007d\u0000\u007f`,
		"\x1b]0;title\a":                        `\u001b]0;title\u0007`,
		"\u009b2J\u202egnp.exe\u2066":           `\u009b2J\u202egnp.exe\u2066`,
		"\x1b[8mhidden\x1b[0":                   `\u001b[8mhidden\u001b[0`,
		strings.Repeat("x", 5000) + "\x1bc end": strings.Repeat("x", 5000) + `\u001bc end`,
	} {
		var b strings.Builder
		p := &Shell{Out: &b, Log: &b, Terminal: true}
		p.Guard()
		if n, err := p.Out.Write([]byte(text)); n != len(text) || err != nil || b.String() != want {
			t.Errorf("%q is written as %q (%d bytes, %v), want %q", text, b.String(), n, err, want)
		}
		b.Reset()
		if p.Log.Write([]byte(text)); b.String() != text {
			t.Errorf("to what is no terminal %q is written as %q", text, b.String())
		}
	}
}

// A cell of a table is on one line, and in one column.
func TestTableCells(t *testing.T) {
	var b strings.Builder
	p := &Shell{Out: &b}
	p.Settings.Output = "table"
	if err := p.Write(&Listing{Heads: []string{"NAME", "STATE"}, Lines: [][]string{{"a\tb\nfake", "on"}}}); err != nil {
		t.Fatal(err)
	}
	if want := "NAME        STATE\n" + `a\tb\nfake  on` + "\n"; b.String() != want {
		t.Errorf("the table is %q, want %q", b.String(), want)
	}
}
