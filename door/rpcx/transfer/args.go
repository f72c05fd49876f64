package transfer

import (
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/weftrpc/weft"
)

// StreamArgs are the arguments of _streamservice.Stream. Interceptors see a pointer to them.
type StreamArgs struct {
	Meta map[string]string `json:"meta,omitempty"`
}

// UploadArgs are those of _filetransfer.TransferFile.
type UploadArgs struct {
	FileName string            `json:"file_name,omitempty"`
	FileSize int64             `json:"file_size,omitempty"`
	Meta     map[string]string `json:"meta,omitempty"`
}

// DownloadArgs are those of _filetransfer.DownloadFile.
type DownloadArgs struct {
	FileName string            `json:"file_name,omitempty"`
	Meta     map[string]string `json:"meta,omitempty"`
}

// Reply is the reply of the three methods.
type Reply struct {
	Token []byte `json:"token,omitempty"`
	Addr  string `json:"addr,omitempty"`
}

func (a *StreamArgs) check() error { return checkMeta(a.Meta) }

func (a *UploadArgs) check() error {
	switch {
	case a.FileSize < 0:
		return weft.Errorf(weft.InvalidArgument, "the size of the file is %d", a.FileSize)
	case !localName(a.FileName) || strings.Contains(a.FileName, "/") || len(a.FileName) > maxBase:
		return weft.Errorf(weft.InvalidArgument, "the name of the file is %.300q, want one of 1 to %d bytes, without a folder", a.FileName, maxBase)
	}
	return checkMeta(a.Meta)
}

func (a *DownloadArgs) check() error {
	if !localName(a.FileName) || len(a.FileName) > maxPath {
		return weft.Errorf(weft.InvalidArgument, "the name of the file is %.300q, want a path with slashes of 1 to %d bytes that begins with a name and has no part . or ..", a.FileName, maxPath)
	}
	return checkMeta(a.Meta)
}

const (
	maxBase  = 255      // bytes of a name
	maxPath  = 4 << 10  // bytes of a path
	maxMeta  = 16 << 10 // bytes of the keys and values of Meta
	maxPairs = 64       // of Meta
)

// localName reports whether a name is that of a file below the folder where it is looked up, on every system.
func localName(name string) bool {
	return fs.ValidPath(name) && name != "." && !strings.ContainsAny(name, "\\\x00:") && filepath.IsLocal(filepath.FromSlash(name))
}

// checkMeta bounds what is kept until the second connection comes.
func checkMeta(meta map[string]string) error {
	n := 0
	for k, v := range meta {
		n += len(k) + len(v)
	}
	if len(meta) > maxPairs || n > maxMeta {
		return weft.Errorf(weft.ResourceExhausted, "Meta has %d pairs of %d bytes, at most %d of %d are allowed", len(meta), n, maxPairs, maxMeta)
	}
	return nil
}
