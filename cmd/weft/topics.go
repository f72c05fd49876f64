package main

import (
	"github.com/spf13/cobra"

	"github.com/weftrpc/weft/cmd/weft/internal/shell"
)

// topics are the texts of the help that are about no single command.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "addresses", Short: "Forms of the addresses of registries and servers", Long: addressesHelp},
		{Use: "contexts", Short: "Addresses and credentials of an environment under a name", Long: shell.ContextsHelp},
		{Use: "formats", Short: "Forms of the output", Long: formatsHelp},
		{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesHelp},
		{Use: "environment", Short: "Variables that the command reads", Long: environmentHelp},
	}
}

const addressesHelp = `The address of a registry (--registry) has one of these forms; with an s behind the kind, such as etcds://, the
connection has TLS:

  etcd://[user:password@]host:port[,host:port...][/prefix]
  zookeeper://[user:password@]host[:port][,host[:port]...][/prefix]
  consul://[:token@]host:port[/prefix]
  redis://[[user]:password@]host[:port][,host[:port]...][/database]
  nacos://[user:password@]host:port[,host:port...][/group]
  file:///path

The address of a server (--server, or the first argument of most commands) has a scheme, which names the wire:

  tcp://host:port          weft's own, over TCP; also without a scheme
  unix:///path             weft's own, over a Unix socket
  grpc://host:port         gRPC
  grpcs://host:port        gRPC with TLS
  http://host:port         JSON over HTTP, as package door/http serves it; https:// with TLS
  jsonrpc://host:port      JSON-RPC 2.0; jsonrpc1:// is 1.0, as Go's net/rpc/jsonrpc serves it
                           jsonrpc+http://host:port/path and jsonrpc+https:// are 2.0 by POST, with _ for the service of
                           methods without one, as in _.getblockcount; jsonrpc+ws:// and jsonrpc+wss:// by WebSocket
  rpcx://host:port         that of rpcx, with messages in JSON; rpcx+http:// is that behind HTTP
  netrpc://host:port       gob, as Go's net/rpc serves it; netrpc+http:// is that behind HTTP
  connect+http://host:port Connect, with messages in JSON; connect+https:// with TLS, connect+h2c:// by HTTP/2
                           without TLS
  thrift://host:port       Thrift: the binary protocol with frames. Words behind "thrift" say otherwise, in this
                           order: -compact, -unframed or -theader, -multiplexed, as in thrift-compact-multiplexed://
                           thrift+http://host:port/path and thrift+https:// are over HTTP, without frames; -compact and
                           -multiplexed stand before the plus sign

With --tls connections to servers have TLS, whatever the wire. --cacert, --cert, --key, --servername and --insecure
concern all connections that have TLS, those to the registry too.`

const formatsHelp = `--output, or -o, says in which form a result is written:

  table             for people; columns that are empty are left out
  wide              the same with all columns
  json              JSON: one document, or one document a line where results come one after the other
  yaml              the same as YAML
  name              the names alone, one a line
  go-template=TEXT  what a template of Go's text/template makes of the JSON

Results go to the standard output, everything else to the standard error. Times are in RFC 3339; durations have a unit
in tables, and are numbers of seconds in JSON. There are colours on a terminal only, and not with $NO_COLOR, unless
--color says otherwise.`

const exitCodesHelp = `  0    all is well
  1    something failed; of doctor, health, replay, rules diff, schema diff, schema check and
       bench --max-ratio: they have found something
  2    the arguments are wrong, or a file that they name cannot be read
  3    the call was made and failed; with -o json its error is an object on the standard output
  4    a registry or server cannot be reached, or a call over http:// has no answer in time
  5    a registry or server refuses the credentials
  130  interrupted`

const environmentHelp = `  WEFT_REGISTRY   the address of the registry, as --registry; a password in it is not shown to other users
  WEFT_SERVER     the address of a server, as --server
  WEFT_CONTEXT    the context in use, as --context
  WEFT_CONFIG     the file of the contexts
  WEFT_TOKEN      a token for servers, sent as "Bearer"
  NO_COLOR        no colours, unless it is empty
  PATH            a program weft-NAME in it is the command 'weft NAME'
  TERM            "dumb" or nothing: no colours, and nothing is drawn over what was written
  http_proxy and the like are not used.`
