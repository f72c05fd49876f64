package protocol

import (
	"bytes"
	"strings"
	"testing"
)

// sample is a message of the JSON protocol as stock libraries write it.
const sample = `[1,"Shop:echo",1,-7,{"1":{"rec":{"1":{"tf":1},"2":{"i8":-128},"3":{"i16":-32768},"4":{"i32":2147483647},"5":{"i64":-9223372036854775808},` +
	`"6":{"dbl":-0.25},"7":{"str":"a\"\\\u0001é"},"8":{"lst":["i32",2,1,2]},"9":{"set":["str",1,"x"]},"10":{"map":["i32","lst",2,{"-1":["tf",2,1,0],"2":["tf",0]}]},` +
	`"11":{"uid":"01234567-89ab-cdef-0123-456789abcdef"},"12":{"dbl":"NaN"},"13":{"dbl":"-Infinity"},"14":{"map":["dbl","rec",1,{"0.5":{}}]},"32767":{"tf":0}}}}]`

func TestJSON(t *testing.T) {
	h, n, err := ReadHead([]byte(sample), JSON)
	if err != nil || string(h.Name) != "Shop:echo" || h.Kind != Call || h.Seq != -7 {
		t.Fatalf("%+v, %v", h, err)
	}
	b, err := FromJSON([]byte(sample[n:]), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var s Scanner
	s.Reset(false, 1<<20)
	if end, done, err := s.Scan(b); end != len(b) || !done || err != nil {
		t.Errorf("the struct ends at %d of %d bytes, %v", end, len(b), err)
	}
	out, err := AppendJSON(AppendHead(nil, JSON, string(h.Name), h.Kind, h.Seq), b)
	if got := string(append(out, ']')); err != nil || got != sample {
		t.Errorf("%v\n got %s\nwant %s", err, got, sample)
	}
	blanks := strings.NewReplacer(",", " ,\n", ":{", " : { ", "]", "\t]").Replace(sample[n:]) + "\r\n"
	if again, err := FromJSON([]byte(blanks), 1<<20); err != nil || !bytes.Equal(again, b) {
		t.Errorf("with blanks: %v", err)
	}
}

// TestJSONCut cuts a message at every byte: neither its head nor its end nor its struct is found before they have come.
func TestJSONCut(t *testing.T) {
	_, head, _ := ReadHead([]byte(sample), JSON)
	for n := range sample {
		_, got, err := ReadHead([]byte(sample[:n]), JSON)
		if err != nil || n >= head && got != head || n < head-1 && got != 0 {
			t.Errorf("the head of %d bytes: %d, %v", n, got, err)
		}
		if n > head {
			if _, err := FromJSON([]byte(sample[head:n]), 1<<20); err == nil {
				t.Errorf("%d bytes are a struct", n)
			}
		}
		var s TextScanner
		s.Reset(1 << 20)
		if _, done, err := s.Scan([]byte(sample[:n])); done || err != nil {
			t.Errorf("%d bytes end a message, %v", n, err)
		}
		if end, done, err := s.Scan([]byte(sample + "[")); !done || end != len(sample) || err != nil {
			t.Errorf("cut at %d: the end is %d, %v", n, end, err)
		}
	}
}

func TestJSONErrors(t *testing.T) {
	for text, want := range map[string]string{
		`[`:                                      `'[' stands where '{'`,
		`{1:{"tf":1}}]`:                          "the number of a field stands without quotes",
		`{"1":{"nix":1}}]`:                       `no type "nix"`,
		`{"1":{"i8":128}}]`:                      "no integer of 8 bits",
		`{"1":{"i32":1.5}}]`:                     "no integer of 32 bits",
		`{"1":{"tf":2}}]`:                        "2 is no bool",
		`{"1":{"dbl":"x"}}]`:                     "no double",
		`{"1":{"uid":"x"}}]`:                     "no uuid",
		`{"1":{"str":1}}]`:                       `'1' stands where '"'`,
		`{"1":{"str":"\x"}}]`:                    "invalid character",
		`{"1":{"lst":["i32",3,1,2]}}]`:           `']' stands where ','`,
		`{"1":{"lst":["i32",1,1,2]}}]`:           `',' stands where ']'`,
		`{"1":{"lst":["i32",-1]}}]`:              "a container of -1 elements",
		`{"1":{"lst":["i32",2147483647,1]}}]`:    "a container of 2147483647 elements",
		`{"1":{"map":["i32","i32",1,{1:1}]}}] x`: "1 bytes stand behind the message",
		`{"70000":{"i32":1}}]`:                   "no integer of 16 bits",
		strings.Repeat(`{"1":{"rec":`, 65):       "more than 64",
		`{"1":{"lst":["lst",1` + strings.Repeat(`,["lst",1`, 64):          "more than 64",
		`{"1":{"str":"` + strings.Repeat("x", 2000) + `"},"2":{"tf":1}}]`: "more than 1000 bytes",
	} {
		if _, err := FromJSON([]byte(text), 1000); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.100s\n%v, want %s", text, err, want)
		}
	}
	for _, text := range []string{`[2,"x",1,0,{}]`, `[1,x,1,0,{}]`, `[1,"x",9,0,{}]`, `[1,"x",1,0 {}]`, `[1,"` + strings.Repeat("x", MaxName+1) + `",1,0,{}]`, `[1,"` + strings.Repeat("x", 1<<16)} {
		if _, _, err := ReadHead([]byte(text), JSON); err == nil {
			t.Errorf("%.40s is the beginning of a message", text)
		}
	}
	var s TextScanner
	s.Reset(10)
	if _, _, err := s.Scan([]byte(sample)); err == nil {
		t.Error("a message that is too long was scanned")
	}
}

// TestArmored: bytes are base64, with and without padding, and texts are not.
func TestArmored(t *testing.T) {
	w := Writer{Armored: true}
	w.Bytes([]byte{0, 255})
	w.Text("AP8=")
	r := Reader{}
	r.Reset(append(w.Buf, 0, 0, 0, 3, 'A', 'P', '8', 0, 0, 0, 1, '!'), false)
	r.Armored = true
	if b := r.Bytes(); string(b) != "\x00\xff" {
		t.Errorf("%x", b)
	}
	if text := r.Text(); text != "AP8=" {
		t.Errorf("%q", text)
	}
	if b := r.Bytes(); string(b) != "\x00\xff" {
		t.Errorf("without padding %x", b)
	}
	if r.Bytes(); r.Err() == nil {
		t.Error("no base64 was decoded")
	}
}

// FuzzJSON translates any text: what it becomes is a struct, which translated back and again is the same.
func FuzzJSON(f *testing.F) {
	_, n, _ := ReadHead([]byte(sample), JSON)
	f.Add([]byte(sample[n:]))
	f.Add([]byte(`{"1":{"lst":["map",1,["i64","str",1,{"5":"\ud83d\ude00"}]]}}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := FromJSON(text, 1<<20)
		if err != nil {
			return
		}
		out, err := AppendJSON(nil, b)
		if err != nil {
			t.Fatalf("%v: %x", err, b)
		}
		again, err := FromJSON(append(out, ']'), 1<<21)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%v\n %s\n %s\n %x\n %x", err, text, out, b, again)
		}
	})
}
