package reuse

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// sharing has the functions, by their packages, whose result is their first argument, a part of it or a view of it, at least for some
// arguments: strings.ToLower returns a string that is in lower case as it is.
var sharing = map[string][]string{
	"bytes": {
		"Cut", "CutPrefix", "CutSuffix", "Fields", "FieldsFunc", "FieldsFuncSeq", "FieldsSeq", "Lines", "NewBuffer", "NewReader",
		"Split", "SplitAfter", "SplitAfterN", "SplitAfterSeq", "SplitN", "SplitSeq", "Trim", "TrimFunc", "TrimLeft", "TrimLeftFunc",
		"TrimPrefix", "TrimRight", "TrimRightFunc", "TrimSpace", "TrimSuffix",
	},
	"cmp":           {"Or"},
	"context":       {"WithCancel", "WithCancelCause", "WithDeadline", "WithDeadlineCause", "WithTimeout", "WithTimeoutCause", "WithValue", "WithoutCancel"},
	"errors":        {"New"},
	"html":          {"EscapeString", "UnescapeString"},
	"maps":          {"All", "Keys", "Values"},
	"net":           {"SplitHostPort"},
	"net/url":       {"Parse", "ParseQuery", "ParseRequestURI", "PathEscape", "PathUnescape", "QueryEscape", "QueryUnescape"},
	"path":          {"Base", "Clean", "Dir", "Ext", "Split"},
	"path/filepath": {"Base", "Clean", "Dir", "Ext", "FromSlash", "Split", "SplitList", "ToSlash", "VolumeName"},
	"slices": {
		"All", "AppendSeq", "Backward", "Chunk", "Clip", "Compact", "CompactFunc", "Delete", "DeleteFunc", "Grow", "Insert", "Max", "MaxFunc",
		"Min", "MinFunc", "Replace", "Values",
	},
	"strconv": {"QuotedPrefix", "Unquote"},
	"strings": {
		"Cut", "CutPrefix", "CutSuffix", "Fields", "FieldsFunc", "FieldsFuncSeq", "FieldsSeq", "Lines", "NewReader", "Replace", "ReplaceAll",
		"Split", "SplitAfter", "SplitAfterN", "SplitAfterSeq", "SplitN", "SplitSeq", "Title", "ToLower", "ToTitle", "ToUpper", "ToValidUTF8",
		"Trim", "TrimFunc", "TrimLeft", "TrimLeftFunc", "TrimPrefix", "TrimRight", "TrimRightFunc", "TrimSpace", "TrimSuffix",
	},
}

// sharingAt has functions and methods whose result shares memory of other arguments, by their indexes.
var sharingAt = map[string][]int{
	"context.WithValue":                      {1, 2},
	"strings.Map":                            {1},
	"strings.ToLowerSpecial":                 {1},
	"strings.ToTitleSpecial":                 {1},
	"strings.ToUpperSpecial":                 {1},
	"cmp.Or":                                 {0},
	"(*strings.Replacer).Replace":            {0},
	"(*regexp.Regexp).Find":                  {0},
	"(*regexp.Regexp).FindAll":               {0},
	"(*regexp.Regexp).FindAllString":         {0},
	"(*regexp.Regexp).FindAllStringSubmatch": {0},
	"(*regexp.Regexp).FindAllSubmatch":       {0},
	"(*regexp.Regexp).FindString":            {0},
	"(*regexp.Regexp).FindStringSubmatch":    {0},
	"(*regexp.Regexp).FindSubmatch":          {0},
	"(*regexp.Regexp).Split":                 {0},
}

// sharingElements has functions that copy the elements of arguments, which share memory where they refer to some.
var sharingElements = map[string][]int{
	"maps.Clone":              {0},
	"maps.Collect":            {0},
	"slices.AppendSeq":        {1},
	"slices.Clone":            {0},
	"slices.Collect":          {0},
	"slices.Concat":           {0},
	"slices.Insert":           {2},
	"slices.Repeat":           {0},
	"slices.Replace":          {3},
	"slices.Sorted":           {0},
	"slices.SortedFunc":       {0},
	"slices.SortedStableFunc": {0},
}

// sharingLends reports whether what a function of the standard library, or a getter of a generated message, returns shares memory of the message.
func (c *carriers) sharingLends(call *ast.CallExpr) bool {
	f := callee(c.pass.TypesInfo, call.Fun)
	if f == nil || f.Pkg() == nil {
		return false
	}
	name := f.FullName()
	if c.lendsAny(call, f, sharingAt[name]) {
		return true
	}
	if elements := sharingElements[name]; elements != nil && elementsHold(c.pass.TypesInfo.TypeOf(call)) && c.lendsAny(call, f, elements) {
		return true
	}
	if f.Signature().Recv() != nil {
		return !c.foreign && isGetter(f) && c.lends(call.Fun)
	}
	return slices.Contains(sharing[f.Pkg().Path()], f.Name()) && c.lendsAny(call, f, []int{0})
}

// lendsAny reports whether an argument for one of some parameters of a function refers to memory of the message.
func (c *carriers) lendsAny(call *ast.CallExpr, f *types.Func, params []int) bool {
	return slices.ContainsFunc(params, func(param int) bool {
		return slices.ContainsFunc(arguments(call, f, param), c.lends)
	})
}

// isGetter reports whether a method is one that generated code of Protocol Buffers has for a field.
func isGetter(f *types.Func) bool {
	signature := f.Signature()
	if !strings.HasPrefix(f.Name(), "Get") || signature.Params().Len() > 0 || signature.Results().Len() != 1 {
		return false
	}
	message, _, _ := types.LookupFieldOrMethod(signature.Recv().Type(), true, f.Pkg(), "ProtoMessage")
	return originOf(message) != nil
}
