// Package protofile reads .proto files, and tells what their text says about what they define.
package protofile

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/weftrpc/weft/generate/internal/names"
)

// Load reads a file whose path is relative to dir or absolute. Its imports are looked for in dir, in folders, and beside the file.
func Load(ctx context.Context, dir string, folders []string, name string) (protoreflect.FileDescriptor, error) {
	roots := append([]string{cmp.Or(dir, ".")}, folders...)
	beside := filepath.Join(dir, filepath.Dir(name))
	if filepath.IsAbs(name) {
		beside = filepath.Dir(name)
		root, short := within(roots, name)
		roots, name = append([]string{root}, roots...), short
	}
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: append(roots, beside)}),
		SourceInfoMode: protocompile.SourceInfoStandard,
	}
	files, err := compiler.Compile(ctx, filepath.ToSlash(filepath.Clean(name)))
	if err != nil {
		return nil, err
	}
	return files[0], nil
}

// within returns the first of roots that an absolute path is below, or else its folder, and the path from there: the name by which other files
// import it.
func within(roots []string, path string) (root, name string) {
	for _, root := range roots {
		if abs, err := filepath.Abs(root); err == nil {
			if name, err := filepath.Rel(abs, path); err == nil && filepath.IsLocal(name) {
				return root, name
			}
		}
	}
	return filepath.Dir(path), filepath.Base(path)
}

// GoPackage returns the import path and the name of a file's Go package, by its option go_package; "" when it has none.
func GoPackage(d protoreflect.FileDescriptor) (importPath, name string) {
	options, _ := d.Options().(*descriptorpb.FileOptions)
	importPath, name, named := strings.Cut(options.GetGoPackage(), ";")
	if !named && importPath != "" {
		name = names.Package(path.Base(importPath))
	}
	return importPath, name
}

// Comment returns what the source says about a thing, with more lines behind that. The option "deprecated" is its last paragraph.
func Comment(d protoreflect.Descriptor, more ...string) string {
	text := d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, " ")
	}
	lines = append(lines, more...)
	if o, ok := d.Options().(interface{ GetDeprecated() bool }); ok && o.GetDeprecated() {
		lines = append(lines, "", "Deprecated: the definition says so.")
	}
	return strings.TrimLeft(strings.Join(lines, "\n"), "\n")
}

// Pos is where a thing is defined, such as "shop.proto:7:3".
func Pos(d protoreflect.Descriptor) string {
	return pos(d.ParentFile(), d.ParentFile().SourceLocations().ByDescriptor(d))
}

// ImportPos is where a file imports another, or else the file.
func ImportPos(d, other protoreflect.FileDescriptor) string {
	const imports = 3 // the number of the field of a FileDescriptorProto
	for i := range d.Imports().Len() {
		if d.Imports().Get(i).Path() == other.Path() {
			return pos(d, d.SourceLocations().ByPath(protoreflect.SourcePath{imports, int32(i)}))
		}
	}
	return d.Path() // an import has a public one
}

func pos(d protoreflect.FileDescriptor, at protoreflect.SourceLocation) string {
	return fmt.Sprintf("%s:%d:%d", d.Path(), at.StartLine+1, at.StartColumn+1)
}
