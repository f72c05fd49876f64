// What the shop says to its clients of any language. shop_weft.go is made of it.
namespace go main
namespace py shop

enum OrderState { OPEN = 1, SENT = 2 }

/** Line is a part of an order. */
struct Line {
  1: string article
  2: required i16 number
}

/** Payment is how an order is paid. */
union Payment {
  1: string card
  2: i64 cents // in cash
}

/** Order is a struct with most of what Thrift has. */
struct Order {
  1: i64 id
  2: string name
  3: double price
  4: bool paid
  5: binary picture
  6: list<Line> lines
  7: set<string> tags
  8: map<string, string> notes
  9: Order & parent // by reference, in C++
  10: optional bool gift
  11: OrderState state = OrderState.OPEN
  12: Payment payment
  13: map<i32, set<i64>> marks
}

exception NotFound {
  1: i64 id
}

/** Shop has orders. */
service Shop {
  i32 add(1: i32 a, 2: i32 b) (weft.idempotent = "true")
  Order echo(1: Order order)
  /** Find finds an order. */
  Order find(1: i64 id) throws (1: NotFound missing)
  set<OrderState> states()
  oneway void log(1: string line)
  void ping()
}
