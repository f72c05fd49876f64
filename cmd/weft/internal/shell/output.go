package shell

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"text/template"

	"sigs.k8s.io/yaml"
)

// Listing is a result in all forms of the output.
type Listing struct {
	Heads []string   // of the columns; one that begins with a star is for "wide" alone
	Lines [][]string // with a cell for each column; "" is an empty one
	Names []string   // for "name"
	Value any        // for JSON, YAML and templates
	None  string     // what a table without lines says
	Note  string     // below the table
}

const TemplatePrefix = "go-template="

// checkOutput checks the form of the output.
func checkOutput(form string) error {
	if text, ok := strings.CutPrefix(form, TemplatePrefix); ok {
		if _, err := template.New("output").Parse(text); err != nil {
			return fmt.Errorf("--output: %w; %w", err, ErrUsage)
		}
		return nil
	}
	forms := []string{"table", "wide", "json", "yaml", "name"}
	if !slices.Contains(forms, form) {
		return fmt.Errorf("--output is %q, want %s or %sTEXT; %w", form, strings.Join(forms, ", "), TemplatePrefix, ErrUsage)
	}
	return nil
}

// ForPeople reports whether the output is a table, and not for programs.
func (p *Shell) ForPeople() bool {
	return p.Settings.Output == "table" || p.Settings.Output == "wide"
}

// Write writes a result in the form that was asked for.
func (p *Shell) Write(l *Listing) error {
	switch p.Settings.Output {
	case "table", "wide":
		return p.writeTable(l)
	case "name":
		for _, name := range l.Names {
			if _, err := fmt.Fprintln(p.Out, name); err != nil {
				return err
			}
		}
		return nil
	}
	return p.WriteValue(l.Value, true)
}

// WriteValue writes a value as JSON or YAML, or by the template.
func (p *Shell) WriteValue(value any, indent bool) error {
	text, err := Encode(value, indent)
	if err != nil {
		return err
	}
	if form, ok := strings.CutPrefix(p.Settings.Output, TemplatePrefix); ok {
		return p.writeTemplate(form, text)
	}
	if p.Settings.Output == "yaml" {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return err
		}
		if !indent { // one of several
			text = append([]byte("---\n"), text...)
		}
	}
	_, err = p.Out.Write(text)
	return err
}

// WriteItem writes one of several results that come one after the other, in a form for programs.
func (p *Shell) WriteItem(name string, value any) error {
	if p.Settings.Output == "name" {
		_, err := fmt.Fprintln(p.Out, name)
		return err
	}
	return p.WriteValue(value, false)
}

// Encode makes JSON with a newline behind it. Characters such as '<' are not escaped.
func Encode(value any, indent bool) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if indent {
		e.SetIndent("", "  ")
	}
	err := e.Encode(value)
	return b.Bytes(), err
}

// writeTemplate writes what a template makes of JSON.
func (p *Shell) writeTemplate(form string, text []byte) error {
	t, err := template.New("output").Option("missingkey=zero").Parse(form)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // 42 is not to become 42.0
	var value any
	if err := d.Decode(&value); err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, value); err != nil {
		return fmt.Errorf("--output: %w; '-o json' shows what there is", err)
	}
	if b.Len() > 0 && !bytes.HasSuffix(b.Bytes(), []byte("\n")) {
		b.WriteByte('\n')
	}
	_, err = p.Out.Write(b.Bytes())
	return err
}

// writeTable writes a table without its empty columns, unless it is to be wide.
func (p *Shell) writeTable(l *Listing) error {
	if len(l.Lines) == 0 {
		if l.None == "" {
			return nil
		}
		_, err := fmt.Fprintln(p.Out, l.None)
		return err
	}
	wide := p.Settings.Output == "wide"
	var used []int
	for c, head := range l.Heads {
		if wide || !strings.HasPrefix(head, "*") && slices.ContainsFunc(l.Lines, func(line []string) bool { return line[c] != "" }) {
			used = append(used, c)
		}
	}
	w := tabwriter.NewWriter(p.Out, 0, 0, 2, ' ', 0)
	heads := make([]string, len(l.Heads))
	for c, head := range l.Heads {
		heads[c] = strings.TrimPrefix(head, "*")
	}
	for _, line := range append([][]string{heads}, l.Lines...) {
		cells := make([]string, len(used))
		for n, c := range used {
			cells[n] = OneLine(Dash(line[c]))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	var err error
	if l.Note != "" {
		_, err = fmt.Fprintf(w, "\n%s\n", l.Note)
	}
	return errors.Join(err, w.Flush())
}

func Dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
