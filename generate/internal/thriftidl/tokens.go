package thriftidl

import "strings"

// tokens are those of a file, one after the other.
type tokens struct {
	s   *scanner
	tok token
}

// advance goes to the next token.
func (p *tokens) advance() (err error) {
	p.tok, err = p.s.next()
	return err
}

// expected is the error of a token that does not fit.
func (p *tokens) expected(what string) error {
	return p.tok.pos.errorf("expected %s, found %s", what, p.tok.describe())
}

// is reports whether the token is a symbol or a keyword.
func (p *tokens) is(text string) bool {
	return (p.tok.kind == symbol || p.tok.kind == word) && p.tok.text == text
}

// take goes on behind a symbol or a keyword, if it is there.
func (p *tokens) take(text string) (bool, error) {
	if !p.is(text) {
		return false, nil
	}
	return true, p.advance()
}

// want goes on behind a symbol. where says behind what it is expected.
func (p *tokens) want(text, where string) error {
	if !p.is(text) {
		return p.expected(`"` + text + `" ` + where)
	}
	return p.advance()
}

// separator goes on behind a comma or semicolon, if there is one.
func (p *tokens) separator() error {
	if p.is(",") || p.is(";") {
		return p.advance()
	}
	return nil
}

// text reads a text in quotes.
func (p *tokens) text(what string) (string, error) {
	if p.tok.kind != literal {
		return "", p.expected(what)
	}
	text := p.tok.text
	return text, p.advance()
}

// name reads the name of what is defined.
func (p *tokens) name(h *Head, what string) error {
	switch {
	case p.tok.kind != word:
		return p.expected(what)
	case strings.Contains(p.tok.text, "."):
		return p.tok.pos.errorf("expected %s, found %q: a name that is defined has no dots", what, p.tok.text)
	}
	h.Pos, h.Name = p.tok.pos, p.tok.text
	return p.advance()
}

// reference reads the name of what is defined elsewhere.
func (p *tokens) reference(what string) (string, error) {
	if p.tok.kind != word {
		return "", p.expected(what)
	}
	name := p.tok.text
	return name, p.advance()
}
