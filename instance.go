package weft

import "github.com/weftrpc/weft/instance"

// The types of package instance under the names by which servers and registries use them. They are the same types.
type (
	// Instance is one server's registration of one service: what a registry keeps and what clients choose by.
	Instance = instance.Instance
	// Position is a place on Earth.
	Position = instance.Position
	// Load is what a server reports of its work.
	Load = instance.Load
	// State says whether an instance wants calls.
	State = instance.State
)

// The states of an instance.
const (
	On       = instance.On       // calls are welcome
	Draining = instance.Draining // no calls, unless there is no other instance
	Off      = instance.Off      // no calls at all
)

// DefaultWeight is the weight of an instance that names none.
const DefaultWeight = instance.DefaultWeight
