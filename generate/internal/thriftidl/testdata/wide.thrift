// A document in the style of a column store: typedefs of binary, long structs, many exceptions, const strings.
namespace java org.example.wide.generated
namespace go wide

include "monitor.thrift"

const string VERSION = "20.1.0"
const i32 DEFAULT_SLICE = 100
const list<i32> RETRIES = [1, 2, 4; 8]
const map<string, list<i16>> TABLE = {"a": [1, 2], 'b': [],}
const set<string> NONE = {}

typedef binary Bytes
typedef i32 (cpp.type = "int") Number
typedef map cpp_type "std::unordered_map<std::string, int>" <string, i32> Index
typedef list<i64> cpp_type "std::deque<int64_t>" Deque

struct Column {
   1: required Bytes name,
   2: optional Bytes value,
   3: optional i64 timestamp,
   4: optional i32 ttl,
} (cassandra.like = "true", final)

struct SuperColumn {
   1: required binary name,
   2: required list<Column> columns,
}

union ColumnOrSuper {
    1: optional Column column,
    2: optional SuperColumn super_column,
}

exception NotFoundException {
}

exception InvalidRequestException {
    1: required string why
}

exception TimedOutException {
    /**
     * if a write operation was acknowledged by some replicas but not by enough, this holds how many.
     */
    1: optional i32 acknowledged_by
    2: optional bool paxos_in_progress = 0
}

enum ConsistencyLevel {
    ONE = 1,
    QUORUM = 2,
    LOCAL_QUORUM,
    ALL = 5 (rank = "highest"),
    ANY
}

struct SliceRange {
    1: required binary start,
    2: required binary finish,
    3: required bool reversed=0,
    4: required i32 count=DEFAULT_SLICE,
    5: ConsistencyLevel level = ONE,
    6: ConsistencyLevel other = ConsistencyLevel.QUORUM
    7: double ratio = 1e-3; 8: double whole = 2
    9: i64 mask = 0xFFFFFFFF
    10: i64 low = -9223372036854775808
    11: monitor.status_code code = monitor.status_code.ALIVE
}

service Wide extends monitor.MonitoredService {
  list<ColumnOrSuper> get_slice(1:required binary key,
                                2:required SliceRange predicate,
                                3:required ConsistencyLevel consistency_level=ConsistencyLevel.ONE)
                            throws (1:InvalidRequestException ire, 2:NotFoundException nfe, 3:TimedOutException te),

  /** Counts. */
  i32 get_count(1: binary key) throws (1: InvalidRequestException ire) (priority = "low"; cached),
  async void drop(1: Bytes key)
} (owner = "storage")
