// Package compare finds what has changed between two models of package schema, and what breaks by it: JSON and
// MessagePack match fields by name, Protocol Buffers by number.
package compare

import (
	"slices"
	"strings"

	"github.com/weftrpc/weft/schema"
)

// The wires that a change can break.
const (
	WireJSON        = "json"
	WireMessagePack = "messagepack"
	WireProtobuf    = "protobuf"
)

// The categories of changes.
const (
	CategoryWire       = "wire"       // programs of both versions do not understand each other
	CategorySource     = "source"     // programs that are generated or type-checked anew do not build
	CategoryCompatible = "compatible" // nothing breaks
)

// The rules. Each change is by one of them.
const (
	ServiceAdded              = "SERVICE_ADDED"
	ServiceRemoved            = "SERVICE_REMOVED"
	MethodAdded               = "METHOD_ADDED"
	MethodRemoved             = "METHOD_REMOVED"
	StreamChanged             = "STREAM_CHANGED"
	IdempotentAdded           = "IDEMPOTENT_ADDED"
	IdempotentRemoved         = "IDEMPOTENT_REMOVED"
	RequestTypeChanged        = "REQUEST_TYPE_CHANGED"
	ReplyTypeChanged          = "REPLY_TYPE_CHANGED"
	MessageRenamed            = "MESSAGE_RENAMED"
	MessageJSONAdded          = "MESSAGE_JSON_ADDED"
	MessageJSONRemoved        = "MESSAGE_JSON_REMOVED"
	MessageMessagePackAdded   = "MESSAGE_MESSAGEPACK_ADDED"
	MessageMessagePackRemoved = "MESSAGE_MESSAGEPACK_REMOVED"
	MessageProtobufAdded      = "MESSAGE_PROTOBUF_ADDED"
	MessageProtobufRemoved    = "MESSAGE_PROTOBUF_REMOVED"
	FieldAdded                = "FIELD_ADDED"
	FieldRemoved              = "FIELD_REMOVED"
	FieldRenamed              = "FIELD_RENAMED"
	FieldNumberChanged        = "FIELD_NUMBER_CHANGED"
	FieldNumberReused         = "FIELD_NUMBER_REUSED"
	FieldNameReused           = "FIELD_NAME_REUSED"
	FieldTypeChanged          = "FIELD_TYPE_CHANGED"
	FieldTypeWidened          = "FIELD_TYPE_WIDENED"
	FieldPresenceChanged      = "FIELD_PRESENCE_CHANGED"
	FieldOneofChanged         = "FIELD_ONEOF_CHANGED"
	EnumRenamed               = "ENUM_RENAMED"
	EnumValueAdded            = "ENUM_VALUE_ADDED"
	EnumValueRemoved          = "ENUM_VALUE_REMOVED"
	EnumValueRenamed          = "ENUM_VALUE_RENAMED"
	EnumValueNumberChanged    = "ENUM_VALUE_NUMBER_CHANGED"
	EnumValueNumberReused     = "ENUM_VALUE_NUMBER_REUSED"
	EnumValueNameReused       = "ENUM_VALUE_NAME_REUSED"
	ReservedRemoved           = "RESERVED_REMOVED"
)

// Rules lists the rules with what each says.
func Rules() map[string]string {
	return map[string]string{
		ServiceAdded:              "a service is new",
		ServiceRemoved:            "a service is gone",
		MethodAdded:               "a method is new",
		MethodRemoved:             "a method is gone, or has another name without an alias",
		StreamChanged:             "a method is of another kind",
		IdempotentAdded:           "a method has become idempotent",
		IdempotentRemoved:         "a method is no longer idempotent",
		RequestTypeChanged:        "the request of a method is another type, not a message that has changed",
		ReplyTypeChanged:          "the reply of a method is another type, not a message that has changed",
		MessageRenamed:            "a message has another name",
		MessageJSONAdded:          "JSON takes a message that it refused",
		MessageJSONRemoved:        "JSON refuses a message",
		MessageMessagePackAdded:   "MessagePack takes a message that it refused",
		MessageMessagePackRemoved: "MessagePack refuses a message",
		MessageProtobufAdded:      "a message has got a form in Protocol Buffers",
		MessageProtobufRemoved:    "a message has lost its form in Protocol Buffers",
		FieldAdded:                "a field is new",
		FieldRemoved:              "a field is gone",
		FieldRenamed:              "a field has another name in JSON or MessagePack",
		FieldNumberChanged:        "a field has another number in Protocol Buffers",
		FieldNumberReused:         "a new field has the number that another one had, or that was reserved",
		FieldNameReused:           "a new field has a name that was reserved",
		FieldTypeChanged:          "a field has another type",
		FieldTypeWidened:          "a number has become wider",
		FieldPresenceChanged:      "a field may be absent that could not be, or the other way round",
		FieldOneofChanged:         "a field belongs to another oneof",
		EnumRenamed:               "an enumeration has another name",
		EnumValueAdded:            "a value of an enumeration is new",
		EnumValueRemoved:          "a value of an enumeration is gone",
		EnumValueRenamed:          "a value of an enumeration has another name",
		EnumValueNumberChanged:    "a value of an enumeration has another number",
		EnumValueNumberReused:     "a new value of an enumeration has a number that was reserved",
		EnumValueNameReused:       "a new value of an enumeration has a name that was reserved",
		ReservedRemoved:           "a number or a name in a .proto file is no longer reserved",
	}
}

// Change is a difference between two models.
type Change struct {
	Rule     string   `json:"rule"`
	Category string   `json:"category"`
	Wires    []string `json:"wires,omitempty"` // that it breaks
	At       string   `json:"at"`              // such as "Orders.Put" or "shop.Order.lines"
	Via      string   `json:"via,omitempty"`   // where a message travels, such as "the request of Orders.Put"
	Text     string   `json:"text"`            // what has changed
	Advice   string   `json:"advice,omitempty"`
}

// Breaking reports whether the change breaks something.
func (c *Change) Breaking() bool { return c.Category != CategoryCompatible }

// differences collects changes.
type differences struct {
	before, after *schema.Model
	seen          map[[2]string]bool // pairs of messages, and of enumerations
	via           string
	all           []Change
}

// Models lists what has changed from one model to the next, in the order of the services. Messages are compared where
// methods carry them, whatever they are called.
func Models(before, after *schema.Model) []Change {
	d := &differences{before: before, after: after, seen: make(map[[2]string]bool)}
	for _, s := range before.Services {
		i := slices.IndexFunc(after.Services, func(o *schema.Service) bool { return o.Name == s.Name })
		if i < 0 && !slices.ContainsFunc(s.Methods, func(m *schema.Method) bool { return methodOf(after, s.Name+"."+m.Name) != nil }) {
			d.note(Change{Rule: ServiceRemoved, Category: CategoryWire, Wires: every(), At: s.Name, Text: "the service " + s.Name + " is gone",
				Advice: "keep it until no client calls it, or give its methods aliases"})
			continue
		}
		for _, m := range s.Methods {
			d.method(s.Name+"."+m.Name, m)
		}
	}
	d.added()
	return d.all
}

// every lists all wires.
func every() []string { return []string{WireJSON, WireMessagePack, WireProtobuf} }

func (d *differences) note(c Change) { d.all = append(d.all, c) }

// methodOf returns the method of a model with a name or an alias.
func methodOf(m *schema.Model, name string) *schema.Method {
	for _, s := range m.Services {
		for _, one := range s.Methods {
			if s.Name+"."+one.Name == name || slices.Contains(one.Aliases, name) {
				return one
			}
		}
	}
	return nil
}

// added lists what is new.
func (d *differences) added() {
	for _, s := range d.after.Services {
		if !slices.ContainsFunc(d.before.Services, func(o *schema.Service) bool { return o.Name == s.Name }) {
			d.note(Change{Rule: ServiceAdded, Category: CategoryCompatible, At: s.Name, Text: "the service " + s.Name + " is new"})
			continue
		}
		for _, m := range s.Methods {
			if name := s.Name + "." + m.Name; methodOf(d.before, name) == nil {
				d.note(Change{Rule: MethodAdded, Category: CategoryCompatible, At: name, Text: "the method " + name + " is new",
					Advice: "servers first, then the clients that call it"})
			}
		}
	}
}

// method compares a method with that of its name.
func (d *differences) method(name string, old *schema.Method) {
	now := methodOf(d.after, name)
	if now == nil {
		d.note(Change{Rule: MethodRemoved, Category: CategoryWire, Wires: every(), At: name, Text: "the method " + name + " is gone",
			Advice: "keep it until no client calls it, or give the method that takes its place the alias " + name})
		return
	}
	if old.Kind != now.Kind {
		d.note(Change{Rule: StreamChanged, Category: CategoryWire, Wires: every(), At: name, Text: "the method " + name + " was " + article(old.Kind) + " and is " + article(now.Kind),
			Advice: "give the new kind a method of another name"})
	}
	switch {
	case old.Idempotent && !now.Idempotent:
		d.note(Change{Rule: IdempotentRemoved, Category: CategoryWire, Wires: every(), At: name, Text: "the method " + name + " is no longer idempotent",
			Advice: "clients that saw it as idempotent may make a call twice: end their retries and hedges first, or give the method another name"})
	case !old.Idempotent && now.Idempotent:
		d.note(Change{Rule: IdempotentAdded, Category: CategoryCompatible, At: name, Text: "the method " + name + " is idempotent now",
			Advice: "a cluster client makes its calls again once all servers say so"})
	}
	for i, pair := range [][2]*schema.Type{{old.Request, now.Request}, {old.Reply, now.Reply}} {
		what := [...]string{"request", "reply"}[i]
		d.via = "the " + what + " of " + name
		a, b := d.values(pair[0], pair[1])
		if wires, _ := a.breaks(b); len(wires) > 0 {
			rule := [...]string{RequestTypeChanged, ReplyTypeChanged}[i]
			d.note(Change{Rule: rule, Category: CategoryWire, Wires: wires, At: name, Text: "the " + what + " of " + name + became(a, b),
				Advice: "give the new type a method of another name"})
		}
		d.within(pair[0], pair[1])
	}
}

// article is such as "a unary method".
func article(kind string) string {
	if kind == schema.Unary {
		return "a unary method"
	}
	return "a " + kind
}

// list joins words, such as "json and protobuf".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
