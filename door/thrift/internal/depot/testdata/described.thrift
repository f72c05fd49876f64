struct Size {
  1: required double width
  2: required double height
  3: optional string unit
}

struct Place {
  1: string street
  2: optional i32 country
}

union Content {
  1: string text
  2: list<Parcel> parcels
  3: Size hollow
  4: i64 number
  5: i32 state
}

struct Parcel {
  1: required i64 id
  2: string name
  3: optional string note
  4: optional i32 state
  5: optional i32 shelf
  6: i8 grade
  7: i16 floor
  8: double weight
  9: bool paid
  10: optional bool gift
  11: binary picture
  12: optional binary seal
  13: set<string> labels
  14: list<Size> sizes
  15: map<string,set<i32>> marks
  16: list<list<i64>> table
  17: Size size
  18: optional Size outer
  19: optional Parcel inside
  20: uuid key
  21: optional uuid before
  22: Place place
  23: optional Content content
  24: map<i32,list<Parcel>> others
  25: optional list<string> words
  26: optional list<string> extra
  27: set<Size> variants
  28: map<binary,i32> countries
  29: optional i32 last
  30: string type
  31: i8 old
  32: list<i32> states
  33: map<i64,double> rates
  34: map<bool,string> flags
  35: map<uuid,string> keys
}

exception Refused {
  1: string error
  2: i32 country
}

exception Unknown {
  1: string street
}

exception Missing {
  1: i64 id
  2: string message
}

struct Nothing {
}

exception Full {
  1: optional Size size
}

// In messages its name is "Depot".
service Depot {
  list<Parcel> all(1: set<string> labels, 3: map<string,set<i32>> marks)
  void clear() throws (1: Refused refused)
  Content content(1: Content content)
  i32 count(1: i32 state, 2: string name, 3: i32 type)
  /** Find looks a street up. */
  Place find(1: string street) throws (1: Unknown unknown)
  /** Get finds a parcel. */
  Parcel get(1: i64 id) throws (1: Missing missing)
  uuid key(1: uuid ctx)
  set<string> labels()
  oneway void log(1: string line, 2: i32 country)
  bool negate(1: bool b)
  Nothing nothing(1: Nothing nothing)
  binary picture(1: binary picture)
  void ping()
  /** Put stores a parcel. */
  i64 put(1: Parcel parcel) throws (1: Full full, 2: Refused refused)
  string say(1: string words)
  double scale(1: double weft, 2: i8 c, 3: i16 error)
  map<string,Size> sizes(1: list<Size> sizes)
  set<i32> states(1: set<i32> req)
  oneway void tick()
  i32 turn(1: i32 state)
}
