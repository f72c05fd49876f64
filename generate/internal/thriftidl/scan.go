package thriftidl

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// tokenKind tells tokens.
type tokenKind int

const (
	endOfFile tokenKind = iota
	word                // a name or a keyword, with its dots
	integer
	double
	literal // text in quotes
	symbol
)

// token is one token.
type token struct {
	kind tokenKind
	pos  Pos
	text string // of a literal: what it stands for
	num  int64
	dbl  float64

	doc    string // the comment right before it
	behind string // the comment behind the token before it, on the line of that
}

// describe names a token in an error.
func (t *token) describe() string {
	switch t.kind {
	case endOfFile:
		return "the end of the file"
	case literal:
		if len(t.text) > 32 {
			return fmt.Sprintf("%.32q...", t.text)
		}
		return strconv.Quote(t.text)
	case integer:
		return strconv.FormatInt(t.num, 10)
	case double:
		return strconv.FormatFloat(t.dbl, 'g', -1, 64)
	}
	return strconv.Quote(t.text)
}

// scanner splits a file into tokens.
type scanner struct {
	file string
	b    []byte
	i    int
	line int
	from int // where the line begins
	last int // the line on which the token before ended; 0: there was none
}

func newScanner(file string, b []byte) *scanner {
	return &scanner{file: file, b: bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), line: 1}
}

func (s *scanner) pos() Pos { return Pos{s.file, s.line, s.i - s.from + 1} }

// at is the byte k bytes ahead; 0 behind the end.
func (s *scanner) at(k int) byte {
	if s.i+k < len(s.b) {
		return s.b[s.i+k]
	}
	return 0
}

// step goes on by a byte.
func (s *scanner) step() {
	if s.b[s.i] == '\n' {
		s.line++
		s.from = s.i + 1
	}
	s.i++
}

// next returns the next token.
func (s *scanner) next() (token, error) {
	var t token
	if err := s.comments(&t); err != nil {
		return t, err
	}
	t.pos = s.pos()
	var err error
	switch c := s.at(0); {
	case s.i >= len(s.b):
		return t, nil
	case letter(c):
		from := s.i
		for letter(s.at(0)) || digit(s.at(0)) || s.at(0) == '.' && (letter(s.at(1)) || digit(s.at(1))) {
			s.i++
		}
		t.kind, t.text = word, string(s.b[from:s.i])
	case digit(c), c == '.' && digit(s.at(1)), (c == '+' || c == '-') && (digit(s.at(1)) || s.at(1) == '.' && digit(s.at(2))):
		err = s.number(&t)
	case c == '"' || c == '\'':
		err = s.literal(&t)
	case strings.IndexByte("{}()[]<>,;:=*&-", c) >= 0:
		t.kind, t.text = symbol, string(c)
		s.i++
	default:
		return t, t.pos.errorf("no token begins with %q", c)
	}
	s.last = s.line
	return t, err
}

func letter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func digit(c byte) bool { return c >= '0' && c <= '9' }

// comments skips blanks and comments before a token, and keeps the comments.
func (s *scanner) comments(t *token) error {
	var lines, behind []string
	ended := 0      // the line on which the last comment ended
	trail := s.last // the line of the token before, while nothing but comments has come on it
	for s.i < len(s.b) {
		c := s.at(0)
		if c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f' {
			s.step()
			continue
		}
		line := s.line
		text, ok, err := s.comment()
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if line == trail {
			behind = append(behind, text)
			continue
		}
		if line > ended+1 { // a blank line parts comments
			lines = nil
		}
		lines = append(lines, text)
		ended = s.line
	}
	t.behind = strings.TrimLeft(strings.Join(behind, "\n"), "\n")
	if s.line == trail { // the comment stands between two tokens of a line
		t.doc, t.behind = t.behind, ""
	}
	if len(lines) > 0 && s.line <= ended+1 {
		t.doc = strings.Join(lines, "\n")
	}
	t.doc, t.behind = clean(t.doc), clean(t.behind)
	return nil
}

// clean is the text of comments as that of a program has it.
func clean(text string) string {
	return strings.Trim(strings.ToValidUTF8(text, "\uFFFD"), "\n")
}

// comment reads a comment, if there is one.
func (s *scanner) comment() (text string, ok bool, err error) {
	switch {
	case s.at(0) == '#':
		return s.lineComment("#"), true, nil
	case s.at(0) == '/' && s.at(1) == '/':
		return s.lineComment("/"), true, nil
	case s.at(0) != '/' || s.at(1) != '*':
		return "", false, nil
	}
	pos, from := s.pos(), s.i+2
	n := bytes.Index(s.b[from:], []byte("*/"))
	if n < 0 {
		return "", false, pos.errorf("the comment has no end: expected */")
	}
	for s.i < from+n+2 {
		s.step()
	}
	return blockText(string(s.b[from : from+n])), true, nil
}

// lineComment reads a comment to the end of its line.
func (s *scanner) lineComment(mark string) string {
	from := s.i
	for s.i < len(s.b) && s.b[s.i] != '\n' {
		s.i++
	}
	text := strings.TrimLeft(string(s.b[from:s.i]), mark)
	return strings.TrimPrefix(strings.TrimRight(text, " \t\r"), " ")
}

// blockText is the text of a comment with stars at the beginnings of its lines, without those.
func blockText(text string) string {
	var lines []string
	for l := range strings.SplitSeq(strings.TrimLeft(text, "*"), "\n") {
		l = strings.TrimSpace(l)
		if rest := strings.TrimLeft(l, "*"); rest != l {
			l = strings.TrimPrefix(rest, " ")
		}
		lines = append(lines, l)
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

// number reads an integer or a double, with its sign.
func (s *scanner) number(t *token) error {
	from := s.i
	if c := s.at(0); c == '+' || c == '-' {
		s.i++
	}
	if s.at(0) == '0' && (s.at(1) == 'x' || s.at(1) == 'X') {
		s.i += 2
		for c := s.at(0); digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'; c = s.at(0) {
			s.i++
		}
		return s.integer(t, string(s.b[from:s.i]), 16)
	}
	digits := func() {
		for digit(s.at(0)) {
			s.i++
		}
	}
	digits()
	whole := s.i
	if s.at(0) == '.' && digit(s.at(1)) {
		s.i++
		digits()
	}
	if c := s.at(0); c == 'e' || c == 'E' {
		if sign := s.at(1); digit(sign) || (sign == '+' || sign == '-') && digit(s.at(2)) {
			s.i += 2
			digits()
		}
	}
	text := string(s.b[from:s.i])
	if s.i == whole {
		return s.integer(t, text, 10)
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return t.pos.errorf("the number %s is too large for a double", text)
	}
	t.kind, t.dbl = double, v
	return s.separate(t)
}

func (s *scanner) integer(t *token, text string, base int) error {
	digits := strings.TrimLeft(text, "+-")
	if base == 16 {
		digits = digits[2:]
	}
	if text[0] == '-' {
		digits = "-" + digits
	}
	v, err := strconv.ParseInt(digits, base, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return t.pos.errorf("the number %s is beyond 64 bits", text)
	case err != nil:
		return t.pos.errorf("%s is no number: expected hexadecimal digits behind 0x", text)
	}
	t.kind, t.num = integer, v
	return s.separate(t)
}

// separate refuses a letter right behind a number.
func (s *scanner) separate(t *token) error {
	if c := s.at(0); letter(c) {
		return t.pos.errorf("the letter %q stands behind a number", c)
	}
	return nil
}

// literal reads text in quotes.
func (s *scanner) literal(t *token) error {
	quote := s.at(0)
	s.i++
	var b strings.Builder
	for {
		if s.i >= len(s.b) {
			return t.pos.errorf("the text has no end: expected %c", quote)
		}
		c := s.at(0)
		switch {
		case c == quote:
			s.i++
			t.kind, t.text = literal, b.String()
			return nil
		case c == '\\':
			escaped, ok := map[byte]byte{'n': '\n', 'r': '\r', 't': '\t', '"': '"', '\'': '\'', '\\': '\\'}[s.at(1)]
			if !ok {
				return s.pos().errorf(`there is no escape of %q: expected one of \n \r \t \" \' \\`, s.at(1))
			}
			b.WriteByte(escaped)
			s.i += 2
		default:
			b.WriteByte(c)
			s.step()
		}
	}
}
