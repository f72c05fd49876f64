package route

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weftrpc/weft"
)

// kept is a document as a registry keeps it. Only its version and its history are
// looked at, so a document that Parse refuses can be replaced and rolled back too.
type kept struct {
	Version   int             `json:"version,omitempty"`
	Time      json.RawMessage `json:"time,omitempty"`
	By        json.RawMessage `json:"by,omitempty"`
	Note      json.RawMessage `json:"note,omitempty"`
	Instances json.RawMessage `json:"instances,omitempty"`
	Routes    json.RawMessage `json:"routes,omitempty"`
	Methods   json.RawMessage `json:"methods,omitempty"`

	History []json.RawMessage `json:"history,omitempty"` // the older ones, newest first
}

// readKept reads a document; no bytes are one that does not exist.
func readKept(doc []byte) (*kept, error) {
	k := new(kept)
	if len(doc) == 0 {
		return k, nil
	}
	if err := json.Unmarshal(doc, k); err != nil {
		return nil, weft.Errorf(weft.FailedPrecondition, "rules: what the registry keeps now cannot be read: %w", err)
	}
	return k, nil
}

// replaceable reads a document that is to be replaced. One that cannot be read, which
// was written by hand, counts as none: the history begins anew.
func replaceable(doc []byte) (*kept, []byte) {
	k, err := readKept(doc)
	if err != nil {
		return new(kept), nil
	}
	return k, doc
}

// Next returns the document to store in place of the current one, which is empty
// if there is none yet: what is proposed, checked, with the next number, its
// author, a note, the time, and the last ten revisions as its history, fewer when
// they are large. A current document that is no JSON has no history. A proposal that says from which version it was made must have
// been made from the current one, or the error is a weft.Aborted.
func Next(current, proposed []byte, by, note string, at time.Time) ([]byte, error) {
	v, err := readRevision(proposed)
	if err != nil {
		return nil, err
	}
	now, current := replaceable(current)
	if v.Version != 0 && v.Version != now.Version {
		return nil, weft.Errorf(weft.Aborted,
			"rules: the proposal was made from version %d, and version %d is kept now: see what has changed, and propose again", v.Version, now.Version)
	}
	return now.next(current, v, by, note, at)
}

// Rollback returns the document to store in place of the current one: the rules of
// an older version, under a new number. Version 0, to which every document can go
// back, is that of no rules. An empty note says that it is a roll-back. The error is
// a weft.NotFound when the history does not reach back to that version.
func Rollback(current []byte, to int, by, note string, at time.Time) ([]byte, error) {
	now, current := replaceable(current)
	if to == 0 {
		if note == "" {
			note = "roll-back to no rules"
		}
		return now.next(current, new(Revision), by, note, at)
	}
	for _, old := range now.History {
		if version(old) != to {
			continue
		}
		v, err := readRevision(old)
		if err != nil {
			return nil, fmt.Errorf("rules: version %d cannot be brought back: %w", to, err)
		}
		if note == "" {
			note = fmt.Sprintf("roll-back to version %d", to)
		}
		return now.next(current, v, by, note, at)
	}
	return nil, weft.Errorf(weft.NotFound, "rules: there is no version %d to go back to: version %d is kept now, and before it %s; version 0 is no rules", to, now.Version, revisions(now.History))
}

// next returns the document that follows this one.
func (k *kept) next(current []byte, v *Revision, by, note string, at time.Time) ([]byte, error) {
	v.Version, v.Time, v.By, v.Note = k.Version+1, at.UTC().Round(time.Millisecond), by, note
	switch {
	case by == "":
		return nil, &Error{Field: "by", Reason: "the author is missing: name the person or program that changes the rules"}
	case at.IsZero():
		return nil, &Error{Field: "time", Reason: "the time is missing"}
	}
	if wrong := v.check(); wrong != nil {
		return nil, wrong
	}
	history := k.History
	if len(current) > 0 {
		last := *k
		last.History = nil
		text, err := encode(&last)
		if err != nil {
			return nil, err
		}
		history = append([]json.RawMessage{text}, history...)
	}
	history = history[:min(len(history), maxHistory)]
	for {
		doc, err := encode(struct {
			*Revision
			History []json.RawMessage `json:"history,omitempty"`
		}{v, history})
		if err != nil || len(doc) <= MaxDocument {
			return doc, err
		}
		if len(history) == 0 {
			return nil, checkSize(doc)
		}
		history = history[:len(history)-1]
	}
}

// History returns the revisions of a document, the current one first, then back in
// time. What cannot be read is left out, and the error names it.
func History(doc []byte) ([]Revision, error) {
	k, err := readKept(doc)
	if err != nil {
		return nil, err
	}
	texts := k.History
	if len(doc) > 0 {
		texts = slices.Insert(slices.Clone(texts), 0, json.RawMessage(doc))
	}
	var all []Revision
	var wrong []error
	for _, text := range texts {
		v, err := readRevision(text)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("version %d: %w", version(text), err))
			continue
		}
		all = append(all, *v)
	}
	return all, errors.Join(wrong...)
}

// version is the number of a revision, 0 if it has none.
func version(text []byte) int {
	var k struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(text, &k) != nil {
		return None
	}
	return k.Version
}

// revisions is such as "versions 3 to 5".
func revisions(history []json.RawMessage) string {
	if len(history) == 0 {
		return "no version"
	}
	oldest, newest := version(history[len(history)-1]), version(history[0])
	if oldest == newest {
		return fmt.Sprintf("version %d", oldest)
	}
	return fmt.Sprintf("versions %d to %d", oldest, newest)
}
