package shell

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Environment is what a context keeps. The files of secrets are named in it, and the secrets
// are not.
type Environment struct {
	Registry       string   `json:"registry,omitempty"`
	Server         string   `json:"server,omitempty"`
	TLS            bool     `json:"tls,omitempty"`
	CACert         string   `json:"cacert,omitempty"`
	Cert           string   `json:"cert,omitempty"`
	Key            string   `json:"key,omitempty"`
	ServerName     string   `json:"servername,omitempty"`
	Insecure       bool     `json:"insecure,omitempty"`
	TokenFile      string   `json:"token_file,omitempty"`
	AdminTokenFile string   `json:"admin_token_file,omitempty"`
	Headers        []string `json:"headers,omitempty"`
}

// Contexts is the file of all contexts.
type Contexts struct {
	Current  string                 `json:"current,omitempty"`
	Contexts map[string]Environment `json:"contexts,omitempty"`
}

func (c *Contexts) Names() []string { return slices.Sorted(maps.Keys(c.Contexts)) }

// contextsPath is where the file is.
func contextsPath() (string, error) {
	if path := os.Getenv("WEFT_CONFIG"); path != "" {
		return path, nil
	}
	folder, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for the contexts; name a file with $WEFT_CONFIG: %w", err)
	}
	return filepath.Join(folder, "weft", "contexts.json"), nil
}

// ReadContexts reads the file; there need not be one.
func ReadContexts() (*Contexts, error) {
	all := &Contexts{Contexts: map[string]Environment{}}
	path, err := contextsPath()
	if err != nil {
		return all, nil // a process without a home has no contexts
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return all, nil
	case err != nil:
		return nil, fmt.Errorf("the contexts cannot be read: %w", err)
	}
	if err := json.Unmarshal(text, all); err != nil {
		return nil, fmt.Errorf("the contexts in %s cannot be read; mend or remove the file: %w", path, err)
	}
	return all, nil
}

// Save writes the file.
func (c *Contexts) Save() error {
	path, err := contextsPath()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	text, err := Encode(c, true)
	if err != nil {
		return err
	}
	// Another process never reads half of a file.
	temporary := path + ".new"
	if err := os.WriteFile(temporary, text, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}

// ContextsHelp explains contexts.
const ContextsHelp = `A context keeps under a name what would otherwise be given by flags for each command: the address of a registry or
server, the files of TLS, a file with a token, metadata. It is chosen by --context, by $WEFT_CONTEXT, or for all
commands by "weft context use". What a flag or a variable of the environment says goes before the context.

  weft context set staging --registry etcds://etcd.staging:2379 --cacert ca.pem --cert me.pem --key me.key --tls
  weft context use staging
  weft context list

The file is contexts.json in the folder "weft" below that for the user's configuration, or at $WEFT_CONFIG. Tokens
are not kept in it: give the name of a file with --token-file.`
