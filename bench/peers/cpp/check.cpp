// Unit tests of the parts that need no network.
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "distribution.h"
#include "message.h"
#include "options.h"
#include "pace.h"

namespace {
int failures = 0;

void expect(bool holds, const std::string& what) {
  if (holds) return;
  failures++;
  std::cerr << "FAILED: " << what << '\n';
}

template <typename F>
std::string thrownBy(F f) {
  try {
    f();
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

void distributions() {
  for (const int64_t v : {0LL, 1LL, 2047LL, 2048LL, 2049LL, 4095LL, 4096LL, 1000000LL, 123456789LL, 60000000000LL}) {
    const int64_t end = Distribution::upperEnd(Distribution::index(v));
    expect(end >= v && end - v <= v / 1000, "bucket of " + std::to_string(v) + " ends at " + std::to_string(end));
    expect(Distribution::index(end) == Distribution::index(v), "the end of a bucket lies in it");
    expect(Distribution::index(end + 1) == Distribution::index(v) + 1, "buckets have no gap between");
  }
  Distribution a, b;
  a.record(1000);
  a.record(2049);
  b.record(1000);
  b.record(-5);
  a.merge(b);
  std::ostringstream out;
  a.write(out);
  expect(out.str() == R"({"count":4,"sum_ns":4049,"min_ns":0,"max_ns":2049,"histogram_ns":[[0,1],[1000,2],[2049,1]]})", out.str());
  a.reset();
  expect(a.count() == 0, "reset forgets");
}

void messages() {
  auto m = publishedMessage();
  expect(m.field280 == 100000 && m.field81 && m.field129 == m.field1, "every field is set");
  expect(!thrownBy([&] { check(Method::say, m); }).empty(), "a request is no reply");
  for (const Method method : {Method::say, Method::medium, Method::large}) {
    answer(method, m);
    expect(thrownBy([&] { check(method, m); }).empty(), "an answer passes the check");
  }
  expect(!thrownBy([&] { check(Method::medium, m); }).empty(), "the answer to another method does not");
  expect(thrownBy([] { checkSum(2, 3, 5); }).empty() && !thrownBy([] { checkSum(2, 3, 6); }).empty(), "sums are checked");
}

void flags() {
  const Options o = Options::parse({"-peer", "x", "-addr", "a:1,b:2", "-workload", "slow", "-rate", "2.5"});
  expect(o.peer == "x" && o.addresses.size() == 2 && o.addresses[1].host == "b" && o.addresses[1].port == 2 && o.rate == 2.5, "flags");
  expect(o.mainMethod() == Method::say && o.sideMethod() == Method::slow && o.sideEvery() == 100, "slow has side calls");
  expect(thrownBy([] { Options::parse({"-callers", "many"}); }).find("not a number") != std::string::npos, "a word is no number");
  expect(thrownBy([] { Options::parse({"-spin", "1"}); }).find("unknown flag") != std::string::npos, "unknown flag");
  expect(thrownBy([] { Options::parse({"-callers"}); }).find("no value") != std::string::npos, "no value");
  expect(!thrownBy([] { Options::parse({"-seconds", "0"}); }).empty(), "no time");
}

void paces() {
  const Pace first(0, 4, 1000), last(3, 4, 1000);
  expect(first.at(0) == 0 && first.at(2) == 8'000'000, "a caller of four calls every 4 ms");
  expect(last.at(0) == 3'000'000, "the callers do not call at once");
}
}  // namespace

int main() {
  distributions();
  messages();
  flags();
  paces();
  std::cerr << (failures == 0 ? "ok" : "FAILED") << '\n';
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
