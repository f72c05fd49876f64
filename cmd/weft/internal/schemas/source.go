package schemas

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/cmd/weft/internal/catalog"
	"github.com/weftrpc/weft/cmd/weft/internal/shell"
	"github.com/weftrpc/weft/cmd/weft/internal/target"
	"github.com/weftrpc/weft/generate"
	"github.com/weftrpc/weft/schema"
)

// source is where a model comes from.
type source struct {
	file      string   // a saved model; "-" is the standard input
	inputs    []string // a package of Go, or a .proto file
	address   string   // of a server
	service   string   // in the registry
	protoPath []string
	proto     bool // the names of messages are to be those in Protocol Buffers
}

// sourceOf finds out what the first argument is, and returns the others.
func sourceOf(p *shell.Shell, args, protoPath []string) (s source, rest []string, err error) {
	s.protoPath = protoPath
	address, rest := target.Split(args)
	switch {
	case address != "":
		s.address = address
	case len(args) > 0 && (args[0] == "-" || strings.HasSuffix(args[0], ".json")):
		s.file, rest = args[0], args[1:]
	case len(args) > 0 && (strings.HasSuffix(args[0], ".proto") || strings.HasSuffix(args[0], ".thrift") || args[0] == "." || args[0] == ".." || strings.ContainsAny(args[0], `/\`)):
		s.inputs, rest = args[:1], args[1:]
	case p.Settings.Server != "":
		s.address = p.Settings.Server
	case len(args) > 0:
		s.service = args[0]
	default:
		err = fmt.Errorf("schema: want the address of a server, a service, a package of Go, a .proto file or a saved schema; %w", shell.ErrUsage)
	}
	return s, rest, err
}

// read reads the model. names are the services and methods that are asked for, if there is need to know.
func (s *source) read(ctx context.Context, p *shell.Shell, names []string) (*schema.Model, error) {
	if s.file != "" || len(s.inputs) > 0 {
		m, err := s.load(ctx, p)
		if err != nil {
			// Not the exit code 1, by which diff and check say that they have found something.
			return nil, shell.Unreadable("", err)
		}
		return m, nil
	}
	ctx, cancel := target.Within(ctx, p)
	defer cancel()
	if s.address != "" {
		m, err := s.ask(ctx, p, s.address, names)
		if err != nil {
			return nil, target.NoAdmin(err)
		}
		return m, nil
	}
	instances, err := s.lookUp(ctx, p)
	if err != nil && !s.proto {
		err = fmt.Errorf("%w; %s was taken for a service in the registry: a package of Go is given as ./%s or by its full path, and a .proto file with its ending", err, s.service, s.service)
	}
	if err != nil {
		return nil, err
	}
	return s.registered(ctx, p, instances, names)
}

// load reads the model from a file or a folder.
func (s *source) load(ctx context.Context, p *shell.Shell) (*schema.Model, error) {
	switch s.file {
	case "":
		m, err := generate.Schema(ctx, generate.Config{Inputs: s.inputs, ImportPath: s.protoPath})
		if err != nil {
			return nil, fmt.Errorf("%w%s", err, s.elsewhere())
		}
		return m, nil
	case "-":
		text, err := io.ReadAll(p.In)
		if err != nil {
			return nil, err
		}
		return schema.Decode(text)
	}
	text, err := os.ReadFile(s.file)
	if err != nil {
		return nil, err
	}
	m, err := schema.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; 'weft schema ... -o json' writes one", s.file, err)
	}
	return m, nil
}

// elsewhere says what to give in place of a folder without a marked interface, such as one with what weft generate has written.
func (s *source) elsewhere() string {
	for _, name := range s.inputs {
		// The patterns are malformed only by the name of the folder, in which nothing is found then.
		if files, _ := filepath.Glob(filepath.Join(name, "*.proto")); len(files) > 0 {
			return "; the schema of a .proto file is read from the file itself: give " + files[0]
		}
		if files, _ := filepath.Glob(filepath.Join(name, "*.thrift")); len(files) > 0 {
			return "; the schema of " + files[0] + " is not read from a file: ask a server that has its service"
		}
	}
	return ""
}

// below says how a .proto file is given so that its name is one below a folder.
func (s *source) below() string {
	if len(s.inputs) == 0 || filepath.Ext(s.inputs[0]) != ".proto" {
		return ""
	}
	folder, name := filepath.Split(s.inputs[0])
	return fmt.Sprintf(": name its folder with -I, as in -I %s %s", filepath.Clean(folder), name)
}

// lookUp returns the servers of a service in the registry.
func (s *source) lookUp(ctx context.Context, p *shell.Shell) ([]weft.Instance, error) {
	a, reg, err := catalog.OpenRegistry(p)
	if err != nil {
		return nil, err
	}
	defer reg.Close()
	snapshot, err := catalog.Ask(ctx, reg, s.service)
	if err != nil {
		return nil, err
	}
	if len(snapshot.Instances) == 0 {
		return nil, catalog.Unknown(ctx, a, reg, s.service)
	}
	return snapshot.Instances, nil
}

// registered asks the servers of a service, until one answers.
func (s *source) registered(ctx context.Context, p *shell.Shell, instances []weft.Instance, names []string) (m *schema.Model, err error) {
	err = target.Each(ctx, instances, func(ctx context.Context, address string) error {
		m, err = s.ask(ctx, p, address, names)
		return err
	})
	if err != nil {
		return nil, target.NoAdmin(err)
	}
	return m, nil
}

// ask asks the server at an address.
func (s *source) ask(ctx context.Context, p *shell.Shell, address string, names []string) (*schema.Model, error) {
	t, err := target.Open(ctx, p, address)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	name := ""
	if len(names) == 1 {
		name = names[0]
	}
	if s.proto {
		return t.ProtoModel(ctx, p, name)
	}
	return t.Model(ctx, p, name)
}
