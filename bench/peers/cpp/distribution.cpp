#include "distribution.h"

#include <algorithm>
#include <ostream>

namespace {
constexpr int64_t kHighest = 60'000'000'000;  // longer values are counted here
constexpr int kHalfBits = 10;                 // 1024 buckets for each doubling
constexpr size_t kHalf = size_t{1} << kHalfBits;
}  // namespace

Distribution::Distribution() : buckets_(index(kHighest) + 1) {}

size_t Distribution::index(int64_t ns) {
  const auto value = static_cast<uint64_t>(ns);
  // How often the value must be halved until it is below 2048.
  const int shift = 64 - __builtin_clzll(value | (2 * kHalf - 1)) - (kHalfBits + 1);
  return static_cast<size_t>(shift) * kHalf + static_cast<size_t>(value >> shift);
}

int64_t Distribution::upperEnd(size_t index) {
  if (index < 2 * kHalf) return static_cast<int64_t>(index);
  const size_t shift = index / kHalf - 1;
  const size_t top = index - shift * kHalf;
  return static_cast<int64_t>(((top + 1) << shift) - 1);
}

void Distribution::record(int64_t ns) {
  ns = std::max<int64_t>(ns, 0);
  const std::lock_guard<std::mutex> lock(mutex_);
  min_ = count_ == 0 ? ns : std::min(min_, ns);
  max_ = std::max(max_, ns);
  count_++;
  sum_ += ns;
  buckets_[index(std::min(ns, kHighest))]++;
}

void Distribution::reset() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::fill(buckets_.begin(), buckets_.end(), 0);
  count_ = sum_ = min_ = max_ = 0;
}

int64_t Distribution::count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return count_;
}

void Distribution::merge(const Distribution& other) {
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  count_ += other.count_;
  sum_ += other.sum_;
  for (size_t i = 0; i < buckets_.size(); i++) buckets_[i] += other.buckets_[i];
}

void Distribution::write(std::ostream& out) const {
  out << "{\"count\":" << count_ << ",\"sum_ns\":" << sum_ << ",\"min_ns\":" << min_ << ",\"max_ns\":" << max_
      << ",\"histogram_ns\":[";
  const char* comma = "";
  for (size_t i = 0; i < buckets_.size(); i++) {
    if (buckets_[i] == 0) continue;
    out << comma << '[' << upperEnd(i) << ',' << buckets_[i] << ']';
    comma = ",";
  }
  out << "]}";
}
