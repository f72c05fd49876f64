// A fixed rate of calls.
#pragma once

#include <cstdint>

// Pace says when one caller's calls are to begin, whatever became of those
// before, in nanoseconds from the beginning of the phase.
class Pace {
 public:
  Pace(int caller, int callers, double rate);
  int64_t at(int64_t call) const { return first_ + call * interval_; }

 private:
  int64_t interval_, first_;
};
