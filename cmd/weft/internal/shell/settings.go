package shell

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weftrpc/weft"
)

// Settings are the flags that all commands have.
type Settings struct {
	Registry, Server, Context string
	Files                     TLSFiles
	TLS                       bool
	Headers                   []string
	TokenFile                 string
	AdminTokenFile            string
	Timeout                   time.Duration
	Output                    string
	Verbose                   int
	Color                     string

	Metadata   []string // keys and values in turn
	Token      string
	AdminToken string // of the service weft.Admin
}

// defaultTimeout is how long a registry or a call may take.
const defaultTimeout = 10 * time.Second

// Add adds the flags to the root. The defaults of addresses are no values of the flags,
// which the help would print: there may be a password in one.
func (s *Settings) Add(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&s.Registry, "registry", "", "the `address` of the registry; see 'weft help addresses' (default $WEFT_REGISTRY)")
	f.StringVar(&s.Server, "server", "", "the `address` of a server to ask in place of a registry (default $WEFT_SERVER)")
	f.StringVar(&s.Context, "context", "", "the `name` of the context; see 'weft help contexts' (default $WEFT_CONTEXT)")
	f.BoolVar(&s.TLS, "tls", false, "connect to servers by TLS; a registry says so in its address, such as etcds://")
	f.StringVar(&s.Files.CA, "cacert", "", "the PEM `file` of the authorities to trust in place of the system's")
	f.StringVar(&s.Files.Cert, "cert", "", "the PEM `file` of the own certificate")
	f.StringVar(&s.Files.Key, "key", "", "the PEM `file` of its key")
	f.StringVar(&s.Files.ServerName, "servername", "", "the `name` that the certificates of servers must have (default that of the address)")
	f.BoolVarP(&s.Files.Insecure, "insecure", "k", false, "do not verify certificates; a machine on the way can then read and change everything")
	f.StringArrayVarP(&s.Headers, "header", "H", nil, "metadata as `key:value`, with $VARIABLES, or @file with one a line; may be repeated")
	f.StringVar(&s.TokenFile, "token-file", "", "a `file` with the token for servers, sent as \"Bearer\" (default $WEFT_TOKEN)")
	f.StringVar(&s.AdminTokenFile, "admin-token-file", "", "a `file` with the token for the service weft.Admin of servers (default that of --token-file)")
	f.DurationVar(&s.Timeout, "timeout", defaultTimeout, "the `time` that the registry may take to answer, or a call")
	f.StringVarP(&s.Output, "output", "o", "table", "the `form` of the output: table, wide, json, yaml, name or go-template=...")
	f.CountVarP(&s.Verbose, "verbose", "v", "tell more on the standard error")
	f.StringVar(&s.Color, "color", "auto", "`when` to use colours: auto, always or never")
	complete := func(flag string, words ...string) {
		// The flag is there, so this cannot fail.
		_ = root.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
	complete("output", "table", "wide", "json", "yaml", "name", TemplatePrefix)
	complete("color", "auto", "always", "never")
	complete("registry", "etcd://", "zookeeper://", "consul://", "redis://", "nacos://", "file:///")
	_ = root.RegisterFlagCompletionFunc("context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		all, err := ReadContexts()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return all.Names(), cobra.ShellCompDirectiveNoFileComp
	})
}

// Resolve fills in what the environment and the context say, and checks all. A context is
// left aside for the commands that edit contexts.
func (s *Settings) Resolve(cmd *cobra.Command) error {
	if s.Timeout <= 0 {
		return fmt.Errorf("--timeout is %v, want more than 0; %w", s.Timeout, ErrUsage)
	}
	if err := checkOutput(s.Output); err != nil {
		return err
	}
	if s.Color != "auto" && s.Color != "always" && s.Color != "never" {
		return fmt.Errorf("--color is %q, want auto, always or never; %w", s.Color, ErrUsage)
	}
	if cmd.Parent() != nil && cmd.Parent().Name() == "context" {
		return nil
	}
	if s.Registry != "" && s.Server != "" {
		return fmt.Errorf("there is --registry and --server, want one of them; %w", ErrUsage)
	}
	if s.Registry == "" && s.Server == "" {
		s.Registry, s.Server = os.Getenv("WEFT_REGISTRY"), os.Getenv("WEFT_SERVER")
		if s.Server != "" {
			s.Registry = ""
		}
	}
	if err := s.useContext(); err != nil {
		return err
	}
	var err error
	if s.Metadata, err = ReadHeaders(s.Headers); err != nil {
		return err
	}
	if s.Token, err = readToken("--token-file", s.TokenFile, os.Getenv("WEFT_TOKEN")); err != nil {
		return err
	}
	if s.AdminToken, err = readToken("--admin-token-file", s.AdminTokenFile, s.Token); err != nil {
		return err
	}
	return s.Files.Check()
}

// readToken reads the token in the file of a flag; without a file it is other.
func readToken(flag, file, other string) (string, error) {
	if file == "" {
		return other, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", Unreadable(flag, err)
	}
	token := strings.TrimSpace(string(text))
	if token == "" {
		return "", Unreadable(flag, fmt.Errorf("%s is empty", file))
	}
	return token, nil
}

// useContext fills in what is not given by the context that is in use.
func (s *Settings) useContext() error {
	all, err := ReadContexts()
	if err != nil {
		return err
	}
	name := cmp.Or(s.Context, os.Getenv("WEFT_CONTEXT"), all.Current)
	if name == "" {
		return nil
	}
	c, ok := all.Contexts[name]
	if !ok {
		return fmt.Errorf("there is no context %q, only %s; 'weft context set %s' makes it; %w", name, Alternatives(all.Names()), name, ErrUsage)
	}
	if s.Registry == "" && s.Server == "" {
		s.Registry, s.Server = c.Registry, c.Server
	}
	s.TLS = s.TLS || c.TLS
	s.Files.CA = cmp.Or(s.Files.CA, c.CACert)
	if s.Files.Cert == "" && s.Files.Key == "" {
		s.Files.Cert, s.Files.Key = c.Cert, c.Key
	}
	s.Files.ServerName = cmp.Or(s.Files.ServerName, c.ServerName)
	s.Files.Insecure = s.Files.Insecure || c.Insecure
	s.TokenFile = cmp.Or(s.TokenFile, c.TokenFile)
	s.AdminTokenFile = cmp.Or(s.AdminTokenFile, c.AdminTokenFile)
	if len(s.Headers) == 0 {
		s.Headers = c.Headers
	}
	return nil
}

// ReadHeaders makes metadata of "key:value" and "@file".
func ReadHeaders(headers []string) (pairs []string, err error) {
	for _, header := range headers {
		lines := []string{header}
		if file, ok := strings.CutPrefix(header, "@"); ok {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, Unreadable("--header", err)
			}
			lines = strings.Split(string(text), "\n")
		}
		for _, line := range lines {
			if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			key, value, ok := strings.Cut(line, ":")
			if !ok || key == "" {
				// The text is not repeated: there may be a secret in it.
				return nil, fmt.Errorf("--header: want metadata such as tenant:acme; %w", ErrUsage)
			}
			pairs = append(pairs, strings.ToLower(strings.TrimSpace(key)), os.ExpandEnv(strings.TrimSpace(value)))
		}
	}
	return pairs, nil
}

// Credential is what servers get of each call; nil: nothing.
func (s *Settings) Credential() []weft.CallOption {
	if s.Token == "" {
		return nil
	}
	return []weft.CallOption{weft.WithCredential(weft.Credential{Scheme: "Bearer", Token: s.Token})}
}
