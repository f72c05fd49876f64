package fields

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Member is a field of an object of JSON, in its place.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Members are the fields of an object in the order in which they stand.
func Members(text []byte) ([]Member, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	var all []Member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := Member{Key: fmt.Sprint(key)}
		if err := d.Decode(&m.Value); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}
