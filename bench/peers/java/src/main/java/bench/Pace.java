package bench;

/** When one caller's calls are to begin at a fixed rate, in nanoseconds from the beginning of the phase. */
record Pace(long first, long interval) {
  static Pace of(int caller, int callers, double rate) {
    long interval = (long) (callers / rate * 1e9);
    return new Pace(interval * caller / callers, interval);
  }

  long at(long call) {
    return first + call * interval;
  }
}
