#include "load.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <iostream>
#include <limits>
#include <pthread.h>
#include <sstream>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>

#include <thrift/protocol/TProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TSocket.h>

#include "distribution.h"
#include "generated/Greeter.h"
#include "generated/MathService.h"
#include "lines.h"
#include "pace.h"

using apache::thrift::protocol::TProtocol;
using apache::thrift::transport::TBufferedTransport;
using apache::thrift::transport::TFramedTransport;
using apache::thrift::transport::TSocket;
using apache::thrift::transport::TTransport;

namespace {

constexpr int kGiveUp = 100;          // failed calls in a row after which a caller stops
constexpr int kWarmupMost = 3;        // times the warm-up time is when it ends, steady or not
constexpr int kWarmupParts = 4;
constexpr double kSteady = 0.10;
constexpr double kCallsTime = 120;    // seconds for a number of calls
constexpr double kDrainTime = 10;     // seconds for calls in flight to end
constexpr int kSocketTime = 60'000;   // ms to connect, to read, to write
constexpr size_t kStack = 256 << 10;  // of a caller's thread
constexpr size_t kShards = 8;         // of a distribution, so that threads seldom meet

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Connection is a connection with the clients of both services.
class Connection {
 public:
  Connection(const Peer& peer, const Options& options, const Address& to) {
    const auto socket = std::make_shared<TSocket>(to.host, to.port);
    socket->setConnTimeout(kSocketTime);
    socket->setRecvTimeout(kSocketTime);
    socket->setSendTimeout(kSocketTime);
    if (peer.framed) transport_ = std::make_shared<TFramedTransport>(socket);
    else transport_ = std::make_shared<TBufferedTransport>(socket);
    const auto protocol = protocolOf(options.codec)->getProtocol(transport_);
    greeter_ = std::make_unique<wire::GreeterClient>(protocol);
    math_ = std::make_unique<wire::MathServiceClient>(protocol);
    transport_->open();
  }

  void greet(Method method, wire::BenchmarkMessage& reply, const wire::BenchmarkMessage& request) {
    switch (method) {
      case Method::slow: return greeter_->slow(reply, request);
      case Method::sleep: return greeter_->sleep(reply, request);
      case Method::medium: return greeter_->medium(reply, request);
      case Method::large: return greeter_->large(reply, request);
      default: return greeter_->say(reply, request);
    }
  }

  int32_t add(int32_t a, int32_t b) { return math_->Add(a, b); }

 private:
  std::shared_ptr<TTransport> transport_;
  std::unique_ptr<wire::GreeterClient> greeter_;
  std::unique_ptr<wire::MathServiceClient> math_;
};

// Recorder is a distribution in parts.
class Recorder {
 public:
  Distribution& shard(size_t i) { return shards_[i % kShards]; }
  void reset() { for (auto& s : shards_) s.reset(); }
  int64_t count() const {
    int64_t n = 0;
    for (const auto& s : shards_) n += s.count();
    return n;
  }
  void write(std::ostream& out) const {
    Distribution all;
    for (const auto& s : shards_) all.merge(s);
    all.write(out);
  }

 private:
  Distribution shards_[kShards];
};

class Run;

// Caller is one thread's share of a run.
struct Caller {
  Run* run = nullptr;
  int number = 0;
  bool sideOnly = false;
  std::unique_ptr<Connection> connection;
  wire::BenchmarkMessage request = publishedMessage(), reply;
  int32_t numbers = 0;
  pthread_t thread{};

  // What one phase gave. Read only while the caller is idle.
  int64_t late = 0, failures = 0;
  std::string firstError;

  void call(Method method);
  void loop(int64_t quota);
  void fail(const std::string& error);
  void live();
};

// Run is all callers, and the phases that they go through together.
class Run {
 public:
  Run(const Peer& peer, const Options& options) : peer(peer), options(options) {
    const int total = options.callers + options.sideCallers();
    for (int i = 0; i < total; i++) {
      Caller& c = callers_.emplace_back();
      c.run = this;
      c.number = i;
      c.sideOnly = i >= options.callers;
      if (!options.connectionPerCall()) c.connection = std::make_unique<Connection>(peer, options, server(i));
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kStack);
    for (Caller& c : callers_) {
      const auto body = [](void* caller) -> void* {
        static_cast<Caller*>(caller)->live();
        return nullptr;
      };
      if (const int err = pthread_create(&c.thread, &attributes, body, &c)) {
        throw std::runtime_error("make thread " + std::to_string(c.number) + ": " + std::strerror(err));
      }
    }
    pthread_attr_destroy(&attributes);
  }

  const Address& server(int caller) const { return options.addresses[static_cast<size_t>(caller) % options.addresses.size()]; }

  // Lets all callers begin a phase.
  void begin(int64_t deadlineNs) {
    deadline = deadlineNs;
    const std::lock_guard<std::mutex> lock(mutex_);
    phase_++;
    running_ = callers_.size();
    mains_ = static_cast<size_t>(options.callers);
    changed_.notify_all();
  }

  // Waits for a phase to begin; the callers' side of begin.
  void awaitPhase(int phase) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return phase_ >= phase; });
  }

  void ended(bool sideOnly) {
    const std::lock_guard<std::mutex> lock(mutex_);
    running_--;
    if (!sideOnly) mains_--;
    if (running_ == 0 || mains_ == 0) changed_.notify_all();
  }

  // Waits until all main callers, or all callers, ended the phase.
  void await(bool mainsOnly, double limit) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto time = std::chrono::duration<double>(limit);
    if (!changed_.wait_for(lock, time, [&] { return mainsOnly ? mains_ == 0 : running_ == 0; })) {
      throw std::runtime_error("some calls did not end in time");
    }
  }

  double warmUp();
  std::string measure(double warmup);

  const Peer& peer;
  const Options& options;
  std::atomic<int64_t> deadline{0};
  std::atomic<bool> measuring{false};
  Recorder main, side;

 private:
  std::deque<Caller> callers_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int phase_ = 0;
  size_t running_ = 0, mains_ = 0;
};

void Caller::call(Method method) {
  std::unique_ptr<Connection> fresh;
  Connection* used = connection.get();
  if (used == nullptr) {
    fresh = std::make_unique<Connection>(run->peer, run->options, run->server(number));
    used = fresh.get();
  }
  if (method == Method::add) {
    const int32_t a = ++numbers, b = (numbers << 8) ^ 0x5bd1;
    checkSum(a, b, used->add(a, b));
    return;
  }
  used->greet(method, reply, request);
  check(method, reply);
}

void Caller::fail(const std::string& error) {
  failures++;
  if (firstError.empty()) firstError = error;
}

void Caller::loop(int64_t quota) {
  const Options& o = run->options;
  const bool paced = o.rate > 0 && !sideOnly;
  const Pace pace(number, o.callers, paced ? o.rate : 1);
  late = failures = 0;
  firstError.clear();
  const int64_t start = now();
  int64_t began = start;
  int64_t mains = 0;  // that were made, or tried
  for (int64_t i = 0, inARow = 0; quota == 0 || mains < quota; i++) {
    if (paced) {
      began = start + pace.at(i);
      if (began >= run->deadline) return;
      if (const int64_t wait = began - now(); wait > 0) std::this_thread::sleep_for(std::chrono::nanoseconds(wait));
    }
    const bool atSide = sideOnly || (o.sideEvery() > 0 && (i + number * 37) % o.sideEvery() == 0);
    if (!atSide) mains++;
    try {
      call(atSide ? o.sideMethod() : o.mainMethod());
    } catch (const std::exception& e) {
      fail(e.what());
      if (++inARow == kGiveUp || now() >= run->deadline) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      began = now();
      continue;
    }
    inARow = 0;
    const int64_t end = now(), limit = run->deadline;
    (atSide ? run->side : run->main).shard(static_cast<size_t>(number)).record(end - began);
    if (end >= limit) {
      if (end > limit && !atSide) late++;
      return;
    }
    began = end;
  }
}

// The life of a caller: the warm-up, and the measured phase.
void Caller::live() {
  run->awaitPhase(1);
  loop(0);
  run->ended(sideOnly);
  run->awaitPhase(2);
  const Options& o = run->options;
  int64_t quota = 0;
  if (o.calls > 0 && !sideOnly) {
    quota = o.calls / o.callers + (number < o.calls % o.callers ? 1 : 0);
    if (quota == 0) {  // what the warm-up gave must not be counted again
      late = failures = 0;
      firstError.clear();
      return run->ended(sideOnly);
    }
  }
  loop(quota);
  run->ended(sideOnly);
}

double Run::warmUp() {
  const int64_t start = now();
  begin(std::numeric_limits<int64_t>::max());
  const auto part = std::chrono::duration<double>(std::max(options.warmup / kWarmupParts, 0.001));
  double before = 0, rate = 0;
  for (;;) {
    std::this_thread::sleep_for(part);
    const double elapsed = static_cast<double>(now() - start) / 1e9;
    const double count = static_cast<double>(main.count());
    const double previous = rate;
    rate = count - before;
    before = count;
    const bool steady = std::fabs(rate - previous) <= kSteady * previous;
    if ((elapsed >= options.warmup && steady) || elapsed >= kWarmupMost * options.warmup) break;
  }
  const double took = static_cast<double>(now() - start) / 1e9;
  deadline = 0;
  await(false, kDrainTime);
  if (main.count() == 0) {
    for (const Caller& c : callers_) {
      if (!c.firstError.empty()) throw std::runtime_error("no call succeeded while warming up: " + c.firstError);
    }
    throw std::runtime_error("no call succeeded while warming up");
  }
  return took;
}

int64_t processorTime() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto ns = [](const timeval& t) { return t.tv_sec * int64_t{1'000'000'000} + t.tv_usec * int64_t{1000}; };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

std::string Run::measure(double warmup) {
  int64_t failures = 0, late = 0;
  std::string firstError;
  const auto gather = [&] {
    for (const Caller& c : callers_) {
      failures += c.failures;
      if (firstError.empty()) firstError = c.firstError;
    }
  };
  gather();  // those of the warm-up count too
  main.reset();
  side.reset();
  const double bound = options.calls > 0 ? std::max(options.seconds, kCallsTime) : options.seconds;
  const int64_t cpu = processorTime();
  const int64_t start = now();
  begin(start + static_cast<int64_t>(bound * 1e9));
  await(true, bound + kDrainTime);
  const double elapsed = static_cast<double>(now() - start) / 1e9;
  deadline = 0;  // side callers have no quota of their own
  await(false, kDrainTime);
  const int64_t used = processorTime() - cpu;
  gather();
  for (const Caller& c : callers_) late += c.late;
  std::ostringstream out;
  out << "{\"event\":\"result\",\"conns\":" << callers_.size() << ",\"warmup_s\":" << warmup
      << ",\"seconds\":" << std::min(elapsed, bound) << ",\"calls\":" << main.count() << ",\"late\":" << late
      << ",\"failures\":" << failures << ",\"first_error\":" << quoted(firstError) << ",\"cpu_ns\":" << used << ",\"main\":";
  main.write(out);
  out << ",\"side\":";
  side.write(out);
  out << '}';
  return out.str();
}

}  // namespace

void load(const Peer& peer, const Options& options) {
  // Never destroyed: its threads may wait in it until the process ends.
  Run& run = *new Run(peer, options);
  const double warmup = run.warmUp();
  say("{\"event\":\"warm\"}");
  std::string order;
  if (!std::getline(std::cin, order) || order != "go") throw std::runtime_error("load was told \"" + order + "\", want go");
  say(run.measure(warmup));
  std::getline(std::cin, order);  // the parent reads what this process used
}
