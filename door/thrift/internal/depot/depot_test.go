package depot_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"reflect"
	"testing"

	"github.com/weftrpc/weft"
	"github.com/weftrpc/weft/door/thrift"
	"github.com/weftrpc/weft/door/thrift/internal/depot"
	"github.com/weftrpc/weft/door/thrift/internal/depot/places"
)

// service answers with what it gets.
type service struct{ told chan string }

var _ depot.Depot = service{}

func (service) Find(_ context.Context, street string) (*places.Place, error) {
	if street == "" {
		return nil, &places.Unknown{Street: "nowhere"}
	}
	return &places.Place{Street: street}, nil
}

func (service) Ping(context.Context) error { return nil }

func (service) Put(_ context.Context, p *depot.Parcel) (depot.ParcelId, error) {
	switch p.Id {
	case 1:
		return 0, &depot.Full{Size: &depot.Size{Width: 1}}
	case 2:
		return 0, errors.Join(errors.New("not now"), &depot.Refused{Error_: "no", Country: places.Country_PERU})
	}
	return p.Id, nil
}

func (service) Get(_ context.Context, id depot.ParcelId) (*depot.Parcel, error) {
	if id == 0 {
		return nil, &depot.Missing{Id: id, Message: "there is none"}
	}
	return parcel(), nil
}

func (service) Count(_ context.Context, state depot.State, name string, typ int32) (int32, error) {
	return int32(state) + int32(len(name)) + typ, nil
}

func (service) Labels(context.Context) (depot.Labels, error) { return depot.Labels{"a"}, nil }

func (service) All(_ context.Context, labels depot.Labels, _ map[string]thrift.Set[int32]) ([]depot.Parcel, error) {
	return make([]depot.Parcel, len(labels)), nil
}

func (service) Sizes(_ context.Context, sizes []depot.Size) (map[string]depot.Size, error) {
	all := make(map[string]depot.Size)
	for _, s := range sizes {
		all[s.GetUnit()] = s
	}
	return all, nil
}

func (service) States(_ context.Context, all thrift.Set[depot.State]) (thrift.Set[depot.State], error) {
	return all, nil
}
func (service) Key(_ context.Context, key thrift.UUID) (thrift.UUID, error) { return key, nil }
func (service) Picture(_ context.Context, b []byte) ([]byte, error)         { return b, nil }
func (service) Content(_ context.Context, c *depot.Content) (*depot.Content, error) {
	return c, nil
}
func (service) Turn(_ context.Context, s depot.State) (depot.State, error) { return s, nil }
func (service) Nothing(_ context.Context, n *depot.Nothing) (*depot.Nothing, error) {
	return n, nil
}
func (service) Scale(_ context.Context, a float64, b int8, c int16) (float64, error) {
	return a * float64(b) * float64(c), nil
}
func (service) Negate(_ context.Context, b bool) (bool, error)      { return !b, nil }
func (service) Say(_ context.Context, words string) (string, error) { return words, nil }
func (service) Clear(context.Context) error                         { return &depot.Refused{Error_: "never"} }
func (s service) Tick(context.Context) error                        { s.told <- "tick"; return nil }
func (s service) Log(_ context.Context, l string, c places.Country) error {
	s.told <- l + " " + c.String()
	return nil
}

func parcel() *depot.Parcel {
	return &depot.Parcel{
		Id: depot.FirstParcel, Name: "p", Note: new("n"), State: new(depot.State_LOST), Shelf: new(int32(7)), Grade: -8, Floor: -16, Weight: depot.Pound, Paid: true,
		Gift: new(false), Picture: depot.MAGIC(), Seal: []byte{0, 255}, Labels: depot.Labels{"x", "y"}, Sizes: []depot.Size{*depot.UNIT(), {Width: 2}},
		Marks: map[string]thrift.Set[int32]{"m": {1, 2}, "e": {}}, Table: [][]int64{{1}, {}, {2, 3}}, Size: depot.NewSize(), Outer: depot.UNIT(),
		Inside: &depot.Parcel{Id: 5, Picture: []byte{}, Labels: depot.Labels{}, Sizes: []depot.Size{}, Marks: map[string]thrift.Set[int32]{}, Table: [][]int64{},
			Others: map[depot.State]depot.Parcels{}, Variants: thrift.Set[depot.Size]{}, Countries: map[thrift.BinaryKey]places.Country{}, States: []depot.State{},
			Rates: map[int64]float64{}, Flags: map[bool]string{}, Keys: map[thrift.UUID]string{}},
		Key: depot.NAMESPACE(), Before: new(depot.NAMESPACE()), Place: &places.Place{Street: "s"}, Content: &depot.Content{Number: new(int64(3))},
		Others: map[depot.State]depot.Parcels{depot.State_TAKEN: {}}, Words: []string{"w"}, Extra: []string{}, Variants: thrift.Set[depot.Size]{{Height: 2}},
		Countries: map[thrift.BinaryKey]places.Country{"\x00\xff": places.Country_PERU}, Last: new(depot.State_MOVING), Type: "t", Old: 1, States: []depot.State{depot.State_STORED},
		Rates: map[int64]float64{-1: 0.5}, Flags: map[bool]string{true: "yes"}, Keys: map[thrift.UUID]string{depot.NAMESPACE(): "n"},
	}
}

// TestService calls the generated service by weft's own wire and by dialects of Thrift.
func TestService(t *testing.T) {
	told := make(chan string, 1)
	srv := weft.NewServer(&weft.ServerConfig{Doors: []weft.Door{thrift.Door(nil)}, Logger: slog.New(slog.DiscardHandler)})
	if err := depot.RegisterDepot(srv, service{told}); err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen(t.Context(), "tcp://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }() // it ends with the server
	defer func() {
		srv.Close()
		<-served
	}()
	for scheme, cfg := range map[string]thrift.WireConfig{"tcp": {}, "thrift": {}, "compact": {Protocol: thrift.Compact, Framing: thrift.Unframed, Multiplexed: true},
		"json": {Protocol: thrift.JSON}, "unframed-json": {Protocol: thrift.JSON, Framing: thrift.Unframed}} {
		t.Run(scheme, func(t *testing.T) {
			cfg.Scheme = scheme
			wires := []weft.Wire{thrift.Wire(&cfg)}
			if scheme == "tcp" {
				wires = nil
			}
			c, err := weft.Dial(t.Context(), scheme+"://"+l.Addr().String(), &weft.ClientConfig{Wires: wires, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			exercise(t, depot.NewDepotClient(c).With(), told)
			unions(t, c)
		})
	}
}

// same reports a result that is not as expected.
func same[T any](t *testing.T, what string, got T, err error, want T) {
	t.Helper()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v\n got %+v\nwant %+v", what, err, got, want)
	}
}

func exercise(t *testing.T, d depot.Depot, told chan string) {
	ctx := t.Context()
	got, err := d.Get(ctx, 7)
	same(t, "get", got, err, parcel())
	id, err := d.Put(ctx, parcel())
	same(t, "put", id, err, depot.FirstParcel)
	n, err := d.Count(ctx, depot.State_TAKEN, "ab", 3)
	same(t, "count", n, err, 21)
	labels, err := d.Labels(ctx)
	same(t, "labels", labels, err, depot.Labels{"a"})
	all, err := d.All(ctx, depot.Labels{"a", "b"}, nil)
	same(t, "all", len(all), err, 2)
	sizes, err := d.Sizes(ctx, []depot.Size{{Width: 1}, {Unit: new("yard")}})
	same(t, "sizes", sizes, err, map[string]depot.Size{"metre": {Width: 1}, "yard": {Unit: new("yard")}})
	states, err := d.States(ctx, thrift.Set[depot.State]{depot.State_LOST})
	same(t, "states", states, err, thrift.Set[depot.State]{depot.State_LOST})
	key, err := d.Key(ctx, depot.NAMESPACE())
	same(t, "key", key, err, depot.NAMESPACE())
	b, err := d.Picture(ctx, []byte{1})
	same(t, "picture", b, err, []byte{1})
	content, err := d.Content(ctx, &depot.Content{Hollow: depot.UNIT()})
	same(t, "content", content, err, &depot.Content{Hollow: depot.UNIT()})
	state, err := d.Turn(ctx, 99)
	same(t, "turn", state.String(), err, "State(99)")
	nothing, err := d.Nothing(ctx, &depot.Nothing{})
	same(t, "nothing", nothing, err, &depot.Nothing{})
	product, err := d.Scale(ctx, 0.5, 2, 3)
	same(t, "scale", product, err, 3)
	negated, err := d.Negate(ctx, false)
	same(t, "negate", negated, err, true)
	words, err := d.Say(ctx, depot.GREETING)
	same(t, "say", words, err, "say \"hello\"\n")
	place, err := d.Find(ctx, "s")
	same(t, "find", place.GetCountry(), err, places.Country_PERU)
	same(t, "ping", 0, d.Ping(ctx), 0)
	same(t, "log", 0, d.Log(ctx, "line", places.Country_NORWAY), 0)
	same(t, "log", <-told, nil, "line NORWAY")
	same(t, "tick", 0, d.Tick(ctx), 0)
	same(t, "tick", <-told, nil, "tick")

	_, err = d.Get(ctx, 0)
	if missing, ok := errors.AsType[*depot.Missing](err); !ok || missing.Message != "there is none" || weft.CodeOf(err) != weft.Unknown {
		t.Errorf("get: %v", err)
	}
	_, err = d.Put(ctx, &depot.Parcel{Id: 1})
	if full, ok := errors.AsType[*depot.Full](err); !ok || full.Size.Width != 1 || full.Size.GetUnit() != "metre" {
		t.Errorf("put: %v", err)
	}
	_, err = d.Put(ctx, &depot.Parcel{Id: 2})
	if refused, ok := errors.AsType[*depot.Refused](err); !ok || refused.Country != places.Country_PERU || refused.Error() != `Refused: error "no", country PERU` {
		t.Errorf("put: %v", err)
	}
	if _, ok := errors.AsType[*depot.Refused](d.Clear(ctx)); !ok {
		t.Error("clear did not throw")
	}
	_, err = d.Find(ctx, "")
	if unknown, ok := errors.AsType[*places.Unknown](err); !ok || unknown.Street != "nowhere" {
		t.Errorf("find: %v", err)
	}
}

// twoArgs are the parameters of Depot.content from a peer for which Content is no union.
type twoArgs struct {
	Content *two `thrift:"content,1"`
}

type two struct {
	Text   *string `thrift:"text,1"`
	Number *int64  `thrift:"number,4"`
}

// unions: a union of which not exactly one field is set is not sent, and one with two does not reach the service, whatever the wire is.
func unions(t *testing.T, c *weft.Client) {
	t.Helper()
	for _, union := range []depot.Content{{}, {Text: new("a"), Number: new(int64(1))}} {
		_, err := depot.NewDepotClient(c).Content(t.Context(), &union)
		if e, ok := errors.AsType[*weft.Error](err); !ok || e.Outcome != weft.NotSent {
			t.Errorf("%+v: %v", union, err)
		}
	}
	empty := &depot.Content{Parcels: []depot.Parcel{}}
	got, err := depot.NewDepotClient(c).Content(t.Context(), empty)
	same(t, "a union whose list is empty", got, err, empty)
	err = c.Call(t.Context(), "Depot.content", &twoArgs{&two{Text: new("a"), Number: new(int64(1))}}, new(two))
	if e, ok := errors.AsType[*weft.Error](err); !ok || e.Outcome != weft.Refused {
		t.Errorf("two fields that are sent: %v", err)
	}
}

// TestUnion: an exception with such a union is not sent either.
func TestUnion(t *testing.T) {
	for _, c := range []depot.Content{{}, {Text: new("a"), Number: new(int64(1))}} {
		err := thrift.Throw(1, &c)
		if err.Code != weft.Internal {
			t.Errorf("%+v was encoded", c)
		}
	}
}

// TestJSON: the field of a union that is set is in the JSON even if it is empty.
func TestJSON(t *testing.T) {
	want := &depot.Content{Parcels: []depot.Parcel{}}
	text, err := json.Marshal(want)
	same(t, "the JSON", string(text), err, `{"parcels":[]}`)
	got := new(depot.Content)
	err = json.Unmarshal(text, got)
	same(t, "the union of the JSON", got, err, want)
}

func TestConstants(t *testing.T) {
	same(t, "words", depot.WORDS(), nil, map[depot.State]string{depot.State_STORED: "stored", depot.State_MOVING: "moving"})
	same(t, "labels", depot.LABELS(), nil, []string{"fragile", "heavy"})
	same(t, "the default", (&depot.Parcel{}).GetWords(), nil, depot.LABELS())
	same(t, "a nil parcel", (*depot.Parcel)(nil).GetState(), nil, depot.INITIAL)
	same(t, "new", *depot.NewParcel().Shelf, nil, -1)
	same(t, "outer", (&depot.Parcel{}).GetOuter(), nil, depot.UNIT())
	same(t, "home", depot.HOME, nil, places.Country_NORWAY)
	same(t, "sunday", depot.OpenOnSunday, nil, true)
	same(t, "shelves", depot.MAX_SHELVES, nil, 64)
}

// TestDescription: what the server says of itself is the document of which its code was made, as far as a server knows
// it. Package generate reads the same file with its parser and compares both.
func TestDescription(t *testing.T) {
	srv := weft.NewServer(nil)
	if err := depot.RegisterDepot(srv, service{}); err != nil {
		t.Fatal(err)
	}
	got, err := thrift.IDL(srv.Services, &thrift.IDLConfig{Exceptions: depot.DepotExceptions()})
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/described.thrift")
	if err != nil || got != string(want) {
		t.Errorf("%v\n%s", err, got)
	}
}
