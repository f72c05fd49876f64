// Command weft runs a registry, shows and changes what is in one, and generates code.
//
//	weft up                    run a registry on this machine
//	weft instances [service]   list the servers that are registered
//	weft rules show service    show the rules by which clients route calls
//	weft generate [input ...]  write clients and register functions for services
//
// "weft help" lists all commands, "weft help up" explains one. The exit code is 1 when
// something failed, and 2 when the arguments are wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the program at once.
	context.AfterFunc(ctx, stop)
	p := &program{out: os.Stdout, log: os.Stderr, in: os.Stdin}
	os.Exit(p.main(ctx, os.Args[1:]))
}

// program is what the commands read and write.
type program struct {
	in       io.Reader
	out, log io.Writer
}

const usage = `weft runs a registry, shows and changes what is in one, and generates code.

	weft up                                run a registry on this machine
	weft instances [service]               list the servers that are registered
	weft rules show service                show the rules of a service
	weft rules history service             list the versions of the rules
	weft rules check service [file]        tell what new rules would change
	weft rules apply service [file]        put new rules into force
	weft rules rollback service version    put rules of an older version into force
	weft generate [input ...]              write clients and register functions for services

"weft help up", "weft help rules apply" and so on explain one of them. instances and rules ask the registry at -registry or
$WEFT_REGISTRY, which is etcd://127.0.0.1:2379 by default; ZooKeeper, Consul, Redis,
Nacos and files are asked as well.
`

// errUsage marks errors in the arguments.
var errUsage = errors.New("see 'weft help'")

// main runs a command and returns the exit code.
func (p *program) main(ctx context.Context, args []string) int {
	switch err := p.run(ctx, args); {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errFlag):
		return 2
	case errors.Is(err, errUsage):
		fmt.Fprintf(p.log, "weft: %v\n", err)
		return 2
	default:
		fmt.Fprintf(p.log, "weft: %v\n", err)
		return 1
	}
}

func (p *program) run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("there is no command; %w", errUsage)
	}
	command, args := args[0], args[1:]
	if isHelp(command) {
		return p.help(ctx, args)
	}
	switch command {
	case "up":
		return p.up(ctx, args)
	case "instances":
		return p.instances(ctx, args)
	case "rules":
		return p.rules(ctx, args)
	case "generate":
		return p.generate(ctx, args)
	default:
		return fmt.Errorf("there is no command %q; %w", command, errUsage)
	}
}

func isHelp(word string) bool {
	return slices.Contains([]string{"help", "-h", "-help", "--help"}, word)
}

// help explains a command, given as words such as "rules" and "apply", or lists
// all commands.
func (p *program) help(ctx context.Context, command []string) error {
	if len(command) == 0 || len(command) == 1 && command[0] == "rules" || isHelp(command[0]) {
		_, err := io.WriteString(p.out, usage)
		return err
	}
	// The help of a command is what was asked for, so it is output here.
	asked := &program{in: p.in, out: p.out, log: p.out}
	return asked.run(ctx, append(slices.Clone(command), "-h"))
}

// errFlag is for flags that package flag has reported.
var errFlag = errors.New("the flags are wrong")

// flags makes an empty set of flags for a command.
func (p *program) flags(command, arguments, help string) *flag.FlagSet {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.SetOutput(p.log)
	flags.Usage = func() {
		fmt.Fprintf(p.log, "%s\n\n%s\nFlags:\n", strings.TrimSpace("weft "+command+" [flags] "+arguments), help)
		flags.PrintDefaults()
	}
	return flags
}

// parse reads flags and arguments, in any order, and returns the arguments, of which
// there must be a number.
func parse(flags *flag.FlagSet, args []string, least, most int) ([]string, error) {
	var rest []string
	for {
		if err := flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, errFlag
		}
		if flags.NArg() == 0 {
			break
		}
		rest, args = append(rest, flags.Arg(0)), flags.Args()[1:]
	}
	if n := len(rest); n < least || n > most {
		return nil, fmt.Errorf("%s: there are %d arguments, want %s; %w", flags.Name(), n, span(least, most), errUsage)
	}
	return rest, nil
}

// span is such as "1" or "1 to 2".
func span(least, most int) string {
	if least == most {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, most)
}
