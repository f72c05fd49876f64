package thriftidl

import (
	"math"
	"path/filepath"
	"strings"
	"unicode"
)

// maxDepth is how deep containers may stand in one another, in types and in values.
const maxDepth = 64

// parser reads a file.
type parser struct {
	tokens
	d     *Document
	depth int
}

// Parse reads one document. Its names are not resolved and its includes not read.
func Parse(path string, b []byte) (*Document, error) {
	base := filepath.Base(path)
	p := &parser{tokens: tokens{s: newScanner(path, b)}, d: &Document{Path: path, Name: strings.TrimSuffix(base, filepath.Ext(base))}}
	if err := p.document(); err != nil {
		return nil, err
	}
	return p.d, nil
}

// document reads the whole file.
func (p *parser) document() error {
	if err := p.advance(); err != nil {
		return err
	}
	defined := false
	for p.tok.kind != endOfFile {
		if p.tok.kind != word {
			return p.expected("a definition")
		}
		pos, keyword := p.tok.pos, p.tok.text
		if ok, err := p.header(); err != nil {
			return err
		} else if ok {
			if defined {
				return pos.errorf("%q stands behind a definition: namespaces and includes come first", keyword)
			}
			continue
		}
		defined = true
		if err := p.definition(); err != nil {
			return err
		}
		if err := p.separator(); err != nil {
			return err
		}
	}
	return nil
}

// languages are the namespaces of old documents, with keywords of their own.
func languages() map[string]string {
	return map[string]string{"cpp_namespace": "cpp", "php_namespace": "php", "py_module": "py", "perl_package": "perl", "ruby_namespace": "rb",
		"smalltalk_category": "smalltalk.category", "smalltalk_prefix": "smalltalk.prefix", "java_package": "java", "cocoa_package": "cocoa",
		"cocoa_prefix": "cocoa", "csharp_namespace": "csharp", "delphi_namespace": "delphi", "xsd_namespace": "xsd"}
}

// header reads a namespace or an include; ok: it was one.
func (p *parser) header() (ok bool, err error) {
	pos, keyword := p.tok.pos, p.tok.text
	language, old := languages()[keyword]
	switch {
	case keyword == "include":
		if err := p.advance(); err != nil {
			return true, err
		}
		at := p.tok.pos
		path, err := p.text("the path of a file in quotes behind include")
		if err == nil && path == "" {
			err = at.errorf("the path of the include is empty")
		}
		if err == nil && strings.ContainsFunc(path, unicode.IsControl) {
			err = at.errorf("the path %q of the include has characters that no path has", path)
		}
		p.d.Includes = append(p.d.Includes, &Include{Pos: at, Path: path})
		return true, err
	case keyword == "cpp_include" || keyword == "hs_include":
		if err := p.advance(); err != nil {
			return true, err
		}
		_, err := p.text("the path of a file in quotes behind " + keyword)
		return true, err
	case keyword == "namespace":
		if err := p.advance(); err != nil {
			return true, err
		}
		if all, err := p.take("*"); err != nil {
			return true, err
		} else if all {
			language = "*"
			break
		}
		if language, err = p.reference("a language or * behind namespace"); err != nil {
			return true, err
		}
	case old:
		if err := p.advance(); err != nil {
			return true, err
		}
	default:
		return false, nil
	}
	n := &Namespace{Pos: pos, Language: language}
	if p.tok.kind == literal {
		n.Name, err = p.text("")
	} else {
		n.Name, err = p.dashed()
	}
	if err == nil {
		n.Annotations, err = p.annotations()
	}
	p.d.Namespaces = append(p.d.Namespaces, n)
	return true, err
}

// dashed reads the name of a namespace, which may have dashes.
func (p *parser) dashed() (string, error) {
	name, err := p.reference("the name of a namespace")
	for err == nil && p.is("-") {
		if err = p.advance(); err == nil {
			var more string
			more, err = p.reference("the name of a namespace")
			name += "-" + more
		}
	}
	return name, err
}

// definition reads a definition.
func (p *parser) definition() error {
	doc, keyword := p.tok.doc, p.tok.text
	read := map[string]func(doc string) error{"const": p.constant, "typedef": p.typedef, "enum": p.enum, "service": p.service}[keyword]
	for _, k := range []StructKind{Plain, Union, Exception} {
		if keyword == k.String() {
			read = func(doc string) error { return p.structure(doc, k) }
		}
	}
	switch {
	case keyword == "senum":
		return p.tok.pos.errorf("Thrift has no senum any more: use an enum, or a typedef of string")
	case read == nil:
		return p.expected("a definition: const, typedef, enum, struct, union, exception or service")
	}
	if err := p.advance(); err != nil {
		return err
	}
	return read(doc)
}

func (p *parser) constant(doc string) error {
	c := &Const{Head: Head{Doc: doc}}
	var err error
	if c.Type, err = p.fieldType(); err != nil {
		return err
	}
	if err := p.name(&c.Head, "the name of the constant"); err != nil {
		return err
	}
	if err := p.want("=", "behind the name of the constant"); err != nil {
		return err
	}
	p.d.Consts = append(p.d.Consts, c)
	c.Value, err = p.value()
	return err
}

func (p *parser) typedef(doc string) error {
	t := &Typedef{Head: Head{Doc: doc}}
	var err error
	if t.Type, err = p.fieldType(); err != nil {
		return err
	}
	if err := p.name(&t.Head, "the new name of the type"); err != nil {
		return err
	}
	p.d.Typedefs = append(p.d.Typedefs, t)
	t.Annotations, err = p.annotations()
	return err
}

func (p *parser) enum(doc string) error {
	e := &Enum{Head: Head{Doc: doc}}
	if err := p.name(&e.Head, "the name of the enum"); err != nil {
		return err
	}
	if err := p.want("{", "behind the name of the enum"); err != nil {
		return err
	}
	next := int64(0)
	for !p.is("}") {
		v := &EnumValue{Head: Head{Doc: p.tok.doc}}
		if err := p.name(&v.Head, `the name of a value of the enum, or "}"`); err != nil {
			return err
		}
		at := v.Pos
		if ok, err := p.take("="); err != nil {
			return err
		} else if ok {
			if p.tok.kind != integer {
				return p.expected("the number of the value")
			}
			at, next = p.tok.pos, p.tok.num
			if err := p.advance(); err != nil {
				return err
			}
		}
		if next < math.MinInt32 || next > math.MaxInt32 {
			return at.errorf("the value %s has the number %d: those of enums have 32 bits", v.Name, next)
		}
		v.Number = int32(next)
		next++
		e.Values = append(e.Values, v)
		if err := p.end(&v.Head); err != nil {
			return err
		}
	}
	if err := p.advance(); err != nil {
		return err
	}
	p.d.Enums = append(p.d.Enums, e)
	var err error
	e.Annotations, err = p.annotations()
	return err
}

// end reads what may stand behind a part of a definition: annotations, a separator, and a comment on the line.
func (p *parser) end(h *Head) (err error) {
	if h.Annotations, err = p.annotations(); err != nil {
		return err
	}
	behind := p.tok.behind
	separated := p.is(",") || p.is(";")
	if err := p.separator(); err != nil {
		return err
	}
	if separated {
		behind = p.tok.behind
	}
	if h.Doc == "" {
		h.Doc = behind
	}
	return nil
}

func (p *parser) structure(doc string, k StructKind) error {
	s := &Struct{Head: Head{Doc: doc}, Kind: k}
	if err := p.name(&s.Head, "the name of the "+k.String()); err != nil {
		return err
	}
	if _, err := p.take("xsd_all"); err != nil {
		return err
	}
	if err := p.want("{", "behind the name of the "+k.String()); err != nil {
		return err
	}
	var err error
	if s.Fields, err = p.fields("}"); err != nil {
		return err
	}
	p.d.Structs = append(p.d.Structs, s)
	s.Annotations, err = p.annotations()
	return err
}

func (p *parser) service(doc string) error {
	s := &Service{Head: Head{Doc: doc}}
	if err := p.name(&s.Head, "the name of the service"); err != nil {
		return err
	}
	if ok, err := p.take("extends"); err != nil {
		return err
	} else if ok {
		s.extendsPos = p.tok.pos
		if s.Extends, err = p.reference("the name of another service behind extends"); err != nil {
			return err
		}
	}
	if err := p.want("{", "behind the name of the service"); err != nil {
		return err
	}
	for !p.is("}") {
		f, err := p.function()
		if err != nil {
			return err
		}
		s.Functions = append(s.Functions, f)
	}
	if err := p.advance(); err != nil {
		return err
	}
	p.d.Services = append(p.d.Services, s)
	var err error
	s.Annotations, err = p.annotations()
	return err
}

func (p *parser) function() (*Function, error) {
	f := &Function{Head: Head{Doc: p.tok.doc}}
	if p.tok.kind != word {
		return nil, p.expected(`a function or "}"`)
	}
	var err error
	if f.Oneway = p.is("oneway") || p.is("async"); f.Oneway {
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	if void, err := p.take("void"); err != nil {
		return nil, err
	} else if !void {
		if f.Result, err = p.fieldType(); err != nil {
			return nil, err
		}
	}
	if err := p.name(&f.Head, "the name of the function"); err != nil {
		return nil, err
	}
	if err := p.want("(", "behind the name of the function"); err != nil {
		return nil, err
	}
	if f.Params, err = p.fields(")"); err != nil {
		return nil, err
	}
	if ok, err := p.take("throws"); err != nil {
		return nil, err
	} else if ok {
		if err := p.want("(", "behind throws"); err != nil {
			return nil, err
		}
		if f.Throws, err = p.fields(")"); err != nil {
			return nil, err
		}
	}
	return f, p.end(&f.Head)
}
