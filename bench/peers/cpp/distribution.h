// A distribution of latencies, right to three digits.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <mutex>
#include <vector>

// Distribution counts values from 0 to 60 s in nanoseconds in the buckets of
// HdrHistogram with three significant digits (Gil Tene, hdrhistogram.org): 2048
// buckets of one nanosecond, then 1024 for each doubling. Any number of threads
// may record.
class Distribution {
 public:
  Distribution();

  void record(int64_t ns);
  void reset();
  int64_t count() const;

  // Adds what the other has. The other must not be recorded into meanwhile.
  void merge(const Distribution& other);

  // Writes the JSON object of the contract.
  void write(std::ostream& out) const;

  // The bucket of a value, and the greatest value in a bucket.
  static size_t index(int64_t ns);
  static int64_t upperEnd(size_t index);

 private:
  mutable std::mutex mutex_;
  std::vector<int64_t> buckets_;
  int64_t count_ = 0, sum_ = 0, min_ = 0, max_ = 0;
};
