// A fixed rate of calls.
#pragma once

#include <cstdint>

// Pace is when the calls of one caller are to begin, however those before
// ended, in nanoseconds from the beginning of the phase.
class Pace {
 public:
  Pace(int caller, int callers, double rate);
  int64_t at(int64_t call) const { return first_ + call * interval_; }

 private:
  int64_t interval_, first_;
};
