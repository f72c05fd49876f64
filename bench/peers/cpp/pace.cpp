#include "pace.h"

Pace::Pace(int caller, int callers, double rate)
    : interval_(static_cast<int64_t>(callers / rate * 1e9)), first_(interval_ * caller / callers) {}
