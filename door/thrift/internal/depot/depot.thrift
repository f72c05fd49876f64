/*
 * All that a document of Thrift may define, for tests.
 */
namespace go depot
namespace py depot
namespace * weft.tests.depot

include "places/places.thrift"

/** How a parcel is. */
enum State {
  STORED = 1,   // in a shelf
  MOVING,
  /** Taken by its owner. */
  TAKEN = 0x10
  LOST = -1
}

typedef i64 ParcelId
typedef list<Parcel> Parcels
typedef set<string> Labels

const i32 MAX_SHELVES = 0x40
const ParcelId firstParcel = 1000
const double Pound = 0.45359237
const string GREETING = "say \"hello\"\n"
const bool open_on_sunday = true
const State INITIAL = State.STORED
const list<string> LABELS = ["fragile", 'heavy']
const map<State, string> WORDS = {State.STORED: "stored", 2: "moving"}
const Size UNIT = {"width": 1, "height": 1.5, "unit": "metre"}
const uuid NAMESPACE = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
const binary MAGIC = "WEFT"
const places.Country HOME = places.Country.NORWAY

struct Size {
  1: required double width
  2: required double height
  3: string unit = "metre"
}

/** A thing that a depot keeps. */
struct Parcel {
  1: required ParcelId id
  2: string name // what its owner calls it
  3: optional string note
  4: State state = State.STORED
  5: optional i32 shelf = -1
  6: i8 grade
  7: i16 floor
  8: double weight
  9: bool paid
  10: optional bool gift
  11: binary picture
  12: optional binary seal
  13: Labels labels
  14: list<Size> sizes
  15: map<string, set<i32>> marks
  16: list<list<i64>> table
  17: Size size
  18: optional Size outer = UNIT
  19: optional Parcel inside
  20: uuid key
  21: optional uuid before
  22: places.Place place
  23: optional Content content
  24: map<State, Parcels> others
  25: list<string> words = LABELS
  26: optional list<string> extra
  27: set<Size> variants
  28: map<binary, places.Country> countries
  29: optional State last
  30: string type (go.tag = 'yaml:"type"')
  31: byte old (deprecated = "use grade.")
  32: list<State> states
  33: map<i64, double> rates
  34: map<bool, string> flags
  35: map<uuid, string> keys
}

/** What is in a parcel. */
union Content {
  1: string text
  2: list<Parcel> parcels
  3: Size hollow
  4: i64 number
  5: State state
}

struct Nothing {}

exception Missing {
  1: ParcelId id
  2: string message
}

exception Full {
  1: optional Size size
}

exception Refused {
  1: string error
  2: places.Country country
}

/** Depot keeps parcels. */
service Depot extends places.Places {
  /** Put stores a parcel. */
  ParcelId put(1: Parcel parcel) throws (1: Full full, 2: Refused refused)

  /** Get finds a parcel. */
  Parcel get(1: ParcelId id) throws (1: Missing missing) (weft.idempotent = "true")

  i32 count(1: State state = State.STORED, 2: optional string name, 3: i32 type)
  Labels labels()
  list<Parcel> all(1: Labels labels, 3: map<string, set<i32>> marks)
  map<string, Size> sizes(1: list<Size> sizes)
  set<State> states(1: set<State> req)
  uuid key(1: uuid ctx)
  binary picture(1: binary picture)
  Content content(1: Content content)
  State turn(1: State state)
  Nothing nothing(1: Nothing nothing)
  double scale(1: double weft, 2: i8 c, 3: i16 error)
  bool negate(1: bool b),
  string say(1: string words);
  void clear() throws (1: Refused refused)
  oneway void log(1: string line, 2: places.Country country)
  oneway void tick()
}
