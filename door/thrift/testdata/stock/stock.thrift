// What the tests call by code that the Thrift compiler has generated.
namespace go stock
namespace py stock

enum Color { RED = 1, GREEN = 2 }

struct Inner { 1: string name, 2: required i32 n }

exception NotFound { 1: string what, 2: i32 id }

struct Everything {
  1: bool b, 2: i8 y, 3: i16 s, 4: i32 i, 5: i64 l, 6: double d, 7: string t, 8: binary raw,
  9: list<i32> nums, 10: set<string> tags, 11: map<string,Inner> inners, 12: Inner inner,
  13: optional i64 opt, 14: Color color, 15: list<bool> flags, 16: map<i32,list<string>> deep,
  18: optional bool ob, 19: optional list<Inner> oi
}

struct Message { 1: string text, 2: i64 n }

service Demo {
  i32 add(1: i32 a, 2: i32 b),
  Everything echo(1: Everything e),
  string get(1: i32 id) throws (1: NotFound nf),
  oneway void tell(1: string what),
  void ping()
}

// Test has the methods of doortest and wiretest.
service Test {
  Message Echo(1: string text, 2: i64 n),
  Message Fail(1: string text, 2: i64 n),
  Message Wait(1: string text, 2: i64 n)
}
