package schemas

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/schema"
	"github.com/weftrpc/weft/schema/compare"
)

const diffHelp = `Lists what has changed from one schema to another, and what breaks by it: each change with its rule, the wires that it
breaks, and what to do. JSON and MessagePack match fields by name, Protocol Buffers by number. Either schema is what
'weft schema' takes as a source. The exit code is 1 when a change breaks something, 2 when a
file or package cannot be read.`

const diffExamples = `  weft schema diff schema.json tcp://127.0.0.1:8972
  weft schema diff schema.json ./orders -o json
  weft schema diff old/shop.proto new/shop.proto --wire protobuf`

const checkHelp = `Lists the changes from one schema to another that break something, for continuous integration: those of category wire,
after which programs of both versions do not understand each other, and of category source, after which code that is
generated from the schema is another. The exit code is 1 when there is one, 2 when a file or package cannot be
read.

The rules:

`

const checkExamples = `  weft schema check --against schema.json tcp://127.0.0.1:8972
  weft schema check --against schema.json ./orders --category wire
  weft schema check --against schema.json ./orders --ignore MESSAGE_RENAMED --ignore 'FIELD_REMOVED:shop.Order.*'`

// filter says which changes count.
type filter struct {
	wires, categories, ignored []string
	protoPath                  []string
	breaking                   bool // these alone
}

func (f *filter) flags(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&f.wires, "wire", nil, "the `wires` that matter: json, messagepack, protobuf (default all)")
	cmd.Flags().StringSliceVar(&f.categories, "category", []string{compare.CategoryWire, compare.CategorySource}, "the `categories` of what breaks: wire, source")
	cmd.Flags().StringArrayVar(&f.ignored, "ignore", nil, "a `rule` to leave out, or RULE:PLACE for some places, as FIELD_REMOVED:shop.Order.*; may be repeated")
	cmd.Flags().StringArrayVarP(&f.protoPath, "proto-path", "I", nil, "a `folder` with the imports of .proto files; may be repeated")
	words := func(flag string, all ...string) {
		// The flag is there, so this cannot fail.
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp))
	}
	words("wire", compare.WireJSON, compare.WireMessagePack, compare.WireProtobuf)
	words("category", compare.CategoryWire, compare.CategorySource)
	words("ignore", slices.Sorted(maps.Keys(compare.Rules()))...)
}

// check finds mistakes in the flags.
func (f *filter) check() error {
	for _, wire := range f.wires {
		if wire != compare.WireJSON && wire != compare.WireMessagePack && wire != compare.WireProtobuf {
			return fmt.Errorf("--wire is %q, want json, messagepack or protobuf; %w", wire, shell.ErrUsage)
		}
	}
	for _, category := range f.categories {
		if category != compare.CategoryWire && category != compare.CategorySource {
			return fmt.Errorf("--category is %q, want wire or source; %w", category, shell.ErrUsage)
		}
	}
	for _, one := range f.ignored {
		rule, place, _ := strings.Cut(one, ":")
		if compare.Rules()[rule] == "" {
			return fmt.Errorf("--ignore: there is no rule %q; 'weft schema check --help' lists them; %w", rule, shell.ErrUsage)
		}
		if _, err := path.Match(place, ""); err != nil {
			return fmt.Errorf("--ignore: %q is no pattern: %w; %w", place, err, shell.ErrUsage)
		}
	}
	return nil
}

// apply returns the changes that count, as they count.
func (f *filter) apply(all []compare.Change) []compare.Change {
	out := []compare.Change{}
	for _, c := range all {
		if f.ignores(&c) {
			continue
		}
		if c.Category == compare.CategoryWire && len(f.wires) > 0 {
			c.Wires = slices.DeleteFunc(slices.Clone(c.Wires), func(wire string) bool { return !slices.Contains(f.wires, wire) })
			if len(c.Wires) == 0 {
				c.Category = compare.CategoryCompatible
			}
		}
		if c.Breaking() && !slices.Contains(f.categories, c.Category) {
			c.Category, c.Wires = compare.CategoryCompatible, nil
		}
		if c.Breaking() || !f.breaking {
			out = append(out, c)
		}
	}
	return out
}

// ignores reports whether a change is left out by a flag.
func (f *filter) ignores(c *compare.Change) bool {
	return slices.ContainsFunc(f.ignored, func(one string) bool {
		rule, place, some := strings.Cut(one, ":")
		if rule != c.Rule {
			return false
		}
		matched, err := path.Match(place, c.At)
		return !some || err == nil && matched
	})
}

// diffCommand lists what has changed.
func diffCommand(p *shell.Shell) *cobra.Command {
	f := &filter{}
	cmd := &cobra.Command{
		Use: "diff old new", Short: "List what has changed between two schemas", Long: diffHelp, Example: diffExamples, Args: shell.Arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return f.compare(cmd.Context(), p, args[0], args[1]) },
	}
	f.flags(cmd)
	return cmd
}

// checkCommand lists what breaks.
func checkCommand(p *shell.Shell) *cobra.Command {
	f := &filter{breaking: true}
	against := ""
	var rules strings.Builder
	for _, rule := range slices.Sorted(maps.Keys(compare.Rules())) {
		fmt.Fprintf(&rules, "  %-27s %s\n", rule, compare.Rules()[rule])
	}
	cmd := &cobra.Command{
		Use: "check --against old new", Short: "Fail when a schema breaks what an older one promised", Long: checkHelp + strings.TrimRight(rules.String(), "\n"), Example: checkExamples, Args: shell.Arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if against == "" {
				return fmt.Errorf("schema check: --against is missing, the schema that was promised; %w", shell.ErrUsage)
			}
			return f.compare(cmd.Context(), p, against, args[0])
		},
	}
	cmd.Flags().StringVar(&against, "against", "", "the older `schema`: a source as of 'weft schema'")
	f.flags(cmd)
	return cmd
}

// compare compares two schemas, and writes what has changed.
func (f *filter) compare(ctx context.Context, p *shell.Shell, old, now string) error {
	if err := f.check(); err != nil {
		return err
	}
	var models []*schema.Model
	for _, arg := range []string{old, now} {
		s, _, err := sourceOf(p, []string{arg}, f.protoPath)
		if err != nil {
			return err
		}
		m, err := s.read(ctx, p, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		if s.service != "" {
			if m, err = m.Select(s.service); err != nil {
				return err
			}
		}
		if part, err := m.Select(); err == nil {
			m = part // else it has services of weft itself alone
		}
		models = append(models, m)
	}
	changes := f.apply(compare.Models(models[0], models[1]))
	broken := 0
	for _, c := range changes {
		if c.Breaking() {
			broken++
		}
	}
	if err := f.write(p, changes, broken); err != nil {
		return err
	}
	if broken > 0 {
		return shell.Written(shell.Exit(errors.New("a change breaks something"), shell.ExitFailed))
	}
	return nil
}

// write writes the changes.
func (f *filter) write(p *shell.Shell, changes []compare.Change, broken int) error {
	if !p.ForPeople() {
		var names []string
		for _, c := range changes {
			names = append(names, c.Rule+":"+c.At)
		}
		return p.Write(&shell.Listing{Names: names, Value: map[string]any{"breaking": broken, "changes": changes}})
	}
	var b strings.Builder
	for _, c := range changes {
		fmt.Fprintf(&b, "%s %s", p.Paint(colourOf(&c), c.Rule), c.At)
		if c.Via != "" {
			fmt.Fprintf(&b, " (%s)", c.Via)
		}
		fmt.Fprintf(&b, "\n    %s\n", c.Text)
		switch {
		case c.Category == compare.CategoryWire:
			fmt.Fprintf(&b, "    breaks %s\n", strings.Join(c.Wires, ", "))
		case c.Category == compare.CategorySource:
			b.WriteString("    breaks source\n")
		}
		if c.Advice != "" {
			fmt.Fprintf(&b, "    %s\n", c.Advice)
		}
	}
	switch {
	case len(changes) == 0 && f.breaking:
		b.WriteString("nothing breaks\n")
	case len(changes) == 0:
		b.WriteString("nothing has changed\n")
	case !f.breaking || broken > 0:
		fmt.Fprintf(&b, "%s, %d breaking\n", shell.Plural(len(changes), "change"), broken)
	}
	_, err := p.Out.Write([]byte(b.String()))
	return err
}

// colourOf is how a change is shown.
func colourOf(c *compare.Change) shell.Colour {
	switch c.Category {
	case compare.CategoryWire:
		return shell.Red
	case compare.CategorySource:
		return shell.Yellow
	}
	return shell.Green
}
