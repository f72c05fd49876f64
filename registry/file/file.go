// Package file is a registry that is a file, for servers whose places people write
// down, and for one machine that shall do without a registry server.
//
//	reg, err := file.New("/etc/weft/registry.json", nil)
//
// # What people write
//
// The file names the instances of services. All fields but the address may be
// missing; they are those of weft.Instance in JSON:
//
//	{
//	  "services": {
//	    "Arith": [
//	      {"address": "tcp://10.0.0.7:8972"},
//	      {"address": "tcp://10.0.0.8:8972", "id": "big", "weight": 300, "zone": "b"}
//	    ]
//	  }
//	}
//
// A change is noticed within half a second, whether the file is written in place or
// replaced. A file that is wrong changes nothing: what was last right stays in force,
// and the error, with line and column, is among the Invalid entries of every list, and
// is logged. One that is wrong when a client starts is that client's error: it uses the
// list on its disk, if there is one, and servers that have registered themselves count
// again when the file is right. A file that is not there is an empty one.
//
// # What programs write
//
// Programs never write to the file, where they would get in the way of people and
// their editors, but to the folder beside it that has its name and ".d":
//
//	registry.json.d/instances/Arith/tcp%3A%2F%2F127.0.0.1%3A8972.json
//	registry.json.d/documents/rules%2FArith
//
// Servers of the machine register themselves there. Each instance is a file, replaced
// as a whole, whose time of modification is when it expires; a server that has died is
// gone from the lists at that time. An instance that has registered itself goes before
// one of the file with the same ID. A document is a file with just its content, which
// people can write, too.
//
// Characters of names that are not a to z, A to Z, 0 to 9, '-', '_' and '.' are written
// as %XX, and long names are cut and end in a hash. The folder belongs to the user of the
// servers that write there, and others can read it; every process that can write there
// decides where calls go. It
// may be deleted at any time: servers that run are back within a third of their TTL.
//
// # Limits
//
// The file can have 16 MiB, an instance that registers itself 64 KiB of JSON, and a
// document 256 KiB. The file system must keep times of modification finer than a second
// and tell upper from lower case, or names that differ in nothing else get in each
// other's way. Machines that share a folder need clocks that agree to within a fraction
// of the TTL. When the clock of a machine is set forward by more than the TTL, all that
// has registered itself there seems to have died, until it is refreshed.
//
// Files are looked at four times a second. This needs no library, and works where
// notifications of the system do not arrive, as on file servers and in containers.
//
// All methods of the registry may be called at the same time, and any number of
// processes may use the same file and folder.
package file

import (
	"errors"
	"path/filepath"

	"github.com/weftrpc/weft/registry"
)

// New makes a registry of the file at path, which need not be there yet: nothing is read
// or written before something is registered or watched. cfg says how lists and
// registrations are kept; nil: the defaults. An error means that path is no path.
func New(path string, cfg *registry.Config) (*registry.Registry, error) {
	d, err := newDriver(path)
	if err != nil {
		return nil, err
	}
	return registry.New("file "+d.written.path, d, cfg)
}

func newDriver(path string) (*driver, error) {
	if path == "" {
		return nil, errors.New("file: the path of the registry's file is empty")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return &driver{written: written{path: path}, folder: path + ".d"}, nil
}
