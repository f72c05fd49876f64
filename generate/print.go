package generate

import (
	"cmp"
	"fmt"
	"go/format"
	"strings"

	"github.com/weftrpc/weft/generate/internal/origin"
)

// printer collects the text of a file.
type printer struct {
	strings.Builder
	f *file
}

func (p *printer) line(format string, args ...any) {
	fmt.Fprintf(p, format, args...)
	p.WriteByte('\n')
}

// doc writes a comment.
func (p *printer) doc(text string) {
	for l := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		p.WriteString(strings.TrimRight("// "+l, " ") + "\n")
	}
}

// print returns the text of the file; nil when there is nothing in it.
func (f *file) print() ([]byte, error) {
	if len(f.services)+len(f.enums)+len(f.structs)+len(f.coded) == 0 && f.thrift == nil {
		return nil, nil
	}
	if err := f.collisions(); err != nil {
		return nil, err
	}
	p := &printer{f: f}
	if f.thrift != nil {
		(&thriftPrinter{p, f.thrift}).file()
	}
	for _, e := range f.enums {
		p.enum(e)
	}
	for _, r := range f.structs {
		p.record(r)
	}
	for _, s := range f.services {
		p.service(s)
	}
	for _, r := range f.coded {
		p.code(r)
	}
	body := p.String()
	if body == "" {
		return nil, nil
	}
	text, err := f.imports.File(cmp.Or(f.header, origin.Header(f.source))+"\n"+f.build+"\npackage "+f.pkg+"\n\n", body)
	var out []byte
	if err == nil {
		out, err = format.Source([]byte(text))
	}
	if err != nil {
		return nil, fmt.Errorf("generate for %s: the output is no Go, which is a mistake of the generator: %w", f.source, err)
	}
	return out, nil
}
