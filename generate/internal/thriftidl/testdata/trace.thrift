# In the style of a tracing agent: comments with hashes, fields that refer to others by &, short names.

php_namespace trace
namespace * trace

struct Node { 1: Node & left; 2: optional Node &right, 3: i32 v }

enum TagType { STRING, DOUBLE, BOOL, LONG, BINARY }

struct Tag {
  1: required string  key
  2: required TagType vType
  3: optional string  vStr      # one of these
  4: optional double  vDouble
  5: optional bool    vBool
  6: optional i64     vLong
  7: optional binary  vBinary
}

struct Span {
  1:  required i64 traceIdLow   # the least significant 64 bits
  2:  required i64 traceIdHigh
  3:  required i64 spanId
  4:  required string operationName
  /* what came before */
  6:  optional list<SpanRef> references
  7:  required i32 flags        # a bit field
  10: optional list<Tag> tags
  11: optional list<Log> logs xsd_optional
}

struct SpanRef xsd_all { 1: required i64 traceId; 2: uuid id }
struct Log { 1: required i64 timestamp; 2: required list<Tag> fields }

service Agent {
    oneway void emitBatch(1: list<Span> batch)
}
