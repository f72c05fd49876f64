/*
 * A document in the style of a base service that many servers share.
 */

namespace java com.example.monitor
namespace cpp example.monitor
namespace perl Example.Monitor
namespace smalltalk.category Example-Monitor
namespace py.twisted monitor_twisted
namespace netstd Example.Monitor (cpp.comment = "none")
cpp_include "<unordered_map>"

/**
 * Common status reporting mechanism across all services
 */
enum status_code {
  DEAD = 0,
  STARTING = 1,
  ALIVE = 2,
  STOPPING = 3,
  STOPPED = 4,
  WARNING = 5,
}

/**
 * Standard base service
 */
service MonitoredService {

  /**
   * Returns a descriptive name of the service
   */
  string getName(),

  /** Returns the version of the service */
  string getVersion(),

  status_code getStatus(),
  string getStatusDetails(),

  /**
   * Gets the counters for this service
   */
  map<string, i64> getCounters(),
  i64 getCounter(1: string key),
  void setOption(1: string key, 2: string value),
  string getOption(1: string key),
  map<string, string> getOptions(),
  string getCpuProfile(1: i32 profileDurationInSec),
  i64 aliveSince(),
  oneway void reinitialize(),
  oneway void shutdown(),
}
