// Package archtest checks the source of the repository against its rules: which package may import which, what
// no file may contain, how long a file may be, what must be documented.
//
// A rule is one small function over a [Tree]. Its test has a sample that breaks
// the rule and one that keeps it. The exceptions of a rule are listed in
// exceptions.go, each with its reason.
//
// The rules read the source without building it, so they see every file,
// whatever its build constraints. Only the import rules look at generated files.
package archtest

import (
	"cmp"
	"fmt"
	"slices"
)

// Finding is one place where a rule is broken.
type Finding struct {
	File    string // relative to the root of the repository
	Line    int    // from 1; 0 when the finding is about the whole file
	Message string // what is wrong and what to do
}

// String returns the finding as "file:line: message".
func (f Finding) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
}

// Rule is one rule with its name, which is the name of its exceptions too.
type Rule struct {
	Name  string
	check func(*Tree) []Finding
}

// Check returns where the tree breaks the rule, sorted by place.
func (r Rule) Check(t *Tree) []Finding {
	found := r.check(t)
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Message, b.Message))
	})
	return found
}

// Rules returns every rule.
func Rules() []Rule {
	return []Rule{
		{"layers", layers},
		{"wire is pure", wireIsPure},
		{"test code stays in tests", testCodeStaysInTests},
		{"third-party imports", thirdPartyImports},
		{"third-party requirements", thirdPartyRequirements},
		{"workspace", workspace},
		{"init", noInit},
		{"unsafe", noUnsafe},
		{"dot import", noDotImport},
		{"reflect", noReflect},
		{"certificates are verified", certificatesAreVerified},
		{"libraries never print", librariesNeverPrint},
		{"package variables", packageVariables},
		{"goroutine owners", goroutineOwners},
		{"package documentation", packageDocumentation},
		{"documentation", documentation},
		{"examples", examples},
		{"file length", fileLength},
		{"function length", functionLength},
		{"interface size", interfaceSize},
		{"struct size", structSize},
		{"method count", methodCount},
		{"package length", packageLength},
		{"package names", packageNames},
		{"identifier names", identifierNames},
		{"unfinished marks", unfinishedMarks},
		{"leak check", leakCheck},
		{"skipped tests", skippedTests},
	}
}
