package thriftidl

import (
	"slices"
	"strings"
)

// All are the functions of the service and, before them, those of the services that it extends.
func (x *Service) All() []*Function {
	if x.Base == nil {
		return x.Functions
	}
	return slices.Concat(x.Base.All(), x.Functions)
}

// Throws reports whether a function of the service does.
func (x *Service) Throws() bool {
	return slices.ContainsFunc(x.All(), func(f *Function) bool { return len(f.Throws) > 0 })
}

// HasDefaults reports whether a field of the struct has one.
func (x *Struct) HasDefaults() bool {
	return slices.ContainsFunc(x.Fields, func(f *Field) bool { return f.Value != nil })
}

// IsScalar reports whether the values of the type are neither structs nor lists, maps and bytes.
func (t *Type) IsScalar() bool {
	u := t.Underlying()
	return u.Kind <= UUID && u.Kind != Binary || u.Enum != nil
}

// IsStruct reports whether the type is a struct, a union or an exception.
func (t *Type) IsStruct() bool { return t.Underlying().Struct != nil }

// ReturnsEmpty reports whether the result of the function is a struct without fields.
func (f *Function) ReturnsEmpty() bool {
	if f.Result == nil {
		return false
	}
	u := f.Result.Underlying()
	return u.Struct != nil && len(u.Struct.Fields) == 0
}

// BaseOf is the document of the service that x, a service of d, extends.
func (d *Document) BaseOf(x *Service) *Document {
	i := strings.LastIndexByte(x.Extends, '.')
	for _, include := range d.Includes {
		if i >= 0 && include.Document.Name == x.Extends[:i] {
			return include.Document
		}
	}
	return d
}

// Comment is what the file says about the definition. The annotation "deprecated" is its last paragraph.
func (h *Head) Comment() string {
	doc := h.Doc
	if why, ok := h.Annotations.Get("deprecated"); ok {
		if doc != "" {
			doc += "\n\n"
		}
		if why == "1" {
			why = "the definition says so."
		}
		doc += "Deprecated: " + strings.ReplaceAll(why, "\n", " ")
	}
	return doc
}
