package thriftidl

import "slices"

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
