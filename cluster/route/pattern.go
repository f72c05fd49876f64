package route

import "strings"

// patterns are compiled Patterns.
type patterns struct {
	exact []string            // at most fewExact, or
	set   map[string]struct{} // all of them when they are more
	globs []glob
	empty bool   // "" is one of them
	text  string // as it is written
}

// fewExact is how many strings are compared faster one by one than with a map.
const fewExact = 8

func newPatterns(list Patterns) *patterns {
	p := &patterns{text: shorten(strings.Join(list, "|"))}
	for _, s := range list {
		switch {
		case s == "":
			p.empty = true
		case strings.Contains(s, "*"):
			p.globs = append(p.globs, newGlob(s))
		default:
			p.exact = append(p.exact, s)
		}
	}
	if len(p.exact) > fewExact {
		p.set = make(map[string]struct{}, len(p.exact))
		for _, s := range p.exact {
			p.set[s] = struct{}{}
		}
		p.exact = nil
	}
	if p.text == "" {
		p.text = `""`
	}
	return p
}

func (p *patterns) match(s string) bool {
	if s == "" {
		return p.empty
	}
	for _, e := range p.exact {
		if e == s {
			return true
		}
	}
	if p.set != nil {
		if _, ok := p.set[s]; ok {
			return true
		}
	}
	for i := range p.globs {
		if p.globs[i].match(s) {
			return true
		}
	}
	return false
}

// glob is a pattern with at least one *, cut at them. Finding the pieces from left
// to right, each as early as it can be, is right because every * is as good as any
// other; so the time does not explode as it can with backtracking.
type glob struct {
	prefix, suffix string
	middle         []string // none of them empty
}

func newGlob(pattern string) glob {
	pieces := strings.Split(pattern, "*")
	g := glob{prefix: pieces[0], suffix: pieces[len(pieces)-1]}
	for _, piece := range pieces[1 : len(pieces)-1] {
		if piece != "" {
			g.middle = append(g.middle, piece)
		}
	}
	return g
}

func (g *glob) match(s string) bool {
	if len(s) < len(g.prefix)+len(g.suffix) || !strings.HasPrefix(s, g.prefix) || !strings.HasSuffix(s, g.suffix) {
		return false
	}
	s = s[len(g.prefix) : len(s)-len(g.suffix)]
	for _, piece := range g.middle {
		i := strings.Index(s, piece)
		if i < 0 {
			return false
		}
		s = s[i+len(piece):]
	}
	return true
}

// shorten cuts what is shown of a long text.
func shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
