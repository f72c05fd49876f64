package route

import (
	"sync"
	"sync/atomic"
	"time"
)

// Live holds the rules of a service as documents come from a registry. The zero
// Live has no rules and is ready for use, by any number of goroutines.
type Live struct {
	mu     sync.Mutex // held by Update
	status atomic.Pointer[Status]
}

// Status is what a Live holds.
type Status struct {
	Rules   *Rules    // in force; nil: there are none
	Version uint64    // of the document in the registry, 0 for none
	Since   time.Time // when they came into force; zero if there never was a document

	Err            error     // why the newest document is not in force; nil: it is
	RefusedVersion uint64    // the version of that document
	RefusedSince   time.Time // when it came
}

// Update puts a document into force, or none when there is none: a version of 0
// and no bytes. When it does not parse, the error says why, and the rules that were
// in force stay. A version that is in force or was refused already changes nothing.
func (l *Live) Update(doc []byte, version uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.Status()
	switch {
	case was.Err != nil && was.RefusedVersion == version:
		return was.Err
	case was.Err == nil && was.Version == version && !was.Since.IsZero():
		return nil
	}
	now := time.Now()
	var rules *Rules
	if version != 0 || len(doc) > 0 {
		var err error
		if rules, err = Parse(doc); err != nil {
			was.Err, was.RefusedVersion, was.RefusedSince = err, version, now
			l.status.Store(&was)
			return err
		}
	}
	l.status.Store(&Status{Rules: rules, Version: version, Since: now})
	return nil
}

// Rules returns the rules in force, nil if there are none, which every method of
// Rules takes.
func (l *Live) Rules() *Rules {
	if s := l.status.Load(); s != nil {
		return s.Rules
	}
	return nil
}

// Status returns what is in force and whether a newer document was refused.
func (l *Live) Status() Status {
	if s := l.status.Load(); s != nil {
		return *s
	}
	return Status{}
}
