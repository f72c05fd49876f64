#include "message.h"

#include <chrono>
#include <stdexcept>
#include <thread>

namespace {
constexpr auto kText = "许多往事在眼前一幕一幕，变的那麼模糊";
constexpr int32_t kNumber = 100000;
constexpr int32_t kAnswered = 100;

// The length of field1 of a reply that is not "OK", or 0.
size_t textSize(Method method) {
  switch (method) {
    case Method::medium:
      return size_t{1} << 20;
    case Method::large:
      return size_t{8} << 20;
    default:
      return 0;
  }
}
}  // namespace

wire::BenchmarkMessage publishedMessage() {
  wire::BenchmarkMessage m;
  for (auto* field : {&m.field1, &m.field4, &m.field7, &m.field9, &m.field18, &m.field102, &m.field103, &m.field129}) {
    *field = kText;
  }
  for (auto* field : {&m.field2,   &m.field3,   &m.field6,   &m.field16,  &m.field23,  &m.field25, &m.field29,
                      &m.field60,  &m.field67,  &m.field68,  &m.field100, &m.field101, &m.field104, &m.field128,
                      &m.field130, &m.field131, &m.field150, &m.field271, &m.field272, &m.field280}) {
    *field = kNumber;
  }
  m.field5 = m.field22 = kNumber;
  for (auto* field : {&m.field12, &m.field13, &m.field14, &m.field17, &m.field24, &m.field30, &m.field59, &m.field78,
                      &m.field80, &m.field81}) {
    *field = true;
  }
  return m;
}

void answer(Method method, wire::BenchmarkMessage& message) {
  using namespace std::chrono_literals;
  if (method == Method::slow) std::this_thread::sleep_for(5ms);
  if (method == Method::sleep) std::this_thread::sleep_for(10ms);
  if (const size_t size = textSize(method)) {
    message.field1.assign(size, 'w');
  } else {
    message.field1 = "OK";
  }
  message.field2 = kAnswered;
}

void check(Method method, const wire::BenchmarkMessage& reply) {
  if (reply.field2 != kAnswered) {
    throw std::runtime_error("field2 of the reply is " + std::to_string(reply.field2) + ", want 100");
  }
  const auto& text = reply.field1;
  if (const size_t size = textSize(method)) {
    if (text.size() != size || text.front() != 'w' || text.back() != 'w') {
      throw std::runtime_error("field1 of the reply has " + std::to_string(text.size()) + " bytes, want " +
                               std::to_string(size) + " times w");
    }
  } else if (text != "OK") {
    throw std::runtime_error("field1 of the reply is \"" + text.substr(0, 40) + "\", want OK");
  }
}

void checkSum(int32_t a, int32_t b, int32_t x) {
  if (x != a + b) {
    throw std::runtime_error(std::to_string(a) + " + " + std::to_string(b) + " is " + std::to_string(x) + " in the reply");
  }
}
