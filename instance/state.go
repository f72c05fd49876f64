package instance

import "fmt"

// State says whether an instance wants calls.
type State uint8

// The states.
const (
	On       State = iota // calls are welcome
	Draining              // no calls, unless there is no other instance
	Off                   // no calls at all
)

// String is "on", "draining" or "off".
func (s State) String() string {
	switch s {
	case On:
		return "on"
	case Draining:
		return "draining"
	case Off:
		return "off"
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// MarshalText is String as bytes.
func (s State) MarshalText() ([]byte, error) {
	if s > Off {
		return nil, fmt.Errorf("instance: there is no state %d", uint8(s))
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads what MarshalText writes.
func (s *State) UnmarshalText(text []byte) error {
	for known := On; known <= Off; known++ {
		if known.String() == string(text) {
			*s = known
			return nil
		}
	}
	return fmt.Errorf("instance: state %q: want on, draining or off", text)
}
