package bench;

import java.util.StringJoiner;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.HistogramIterationValue;

/** Latencies in nanoseconds, right to three digits, recorded by any number of threads. */
final class Distribution {
  private static final long HIGHEST = 60_000_000_000L;
  private static final int SHARDS = 8;

  /** One of several parts, so that threads seldom contend. */
  static final class Shard {
    private final Histogram histogram = new Histogram(HIGHEST, 3);
    private long count;
    private long sum;
    private long min = Long.MAX_VALUE;
    private long max;

    synchronized void record(long ns) {
      long value = Math.max(ns, 0);
      histogram.recordValue(Math.min(value, HIGHEST));
      count++;
      sum += value;
      min = Math.min(min, value);
      max = Math.max(max, value);
    }
  }

  private final Shard[] shards = new Shard[SHARDS];

  Distribution() {
    reset();
  }

  Shard shard(int i) {
    return shards[i % SHARDS];
  }

  /** Forgets everything. No thread may record meanwhile. */
  void reset() {
    for (int i = 0; i < SHARDS; i++) {
      if (shards[i] == null) {
        shards[i] = new Shard();
      }
      Shard s = shards[i];
      synchronized (s) {
        s.histogram.reset();
        s.count = s.sum = s.max = 0;
        s.min = Long.MAX_VALUE;
      }
    }
  }

  long count() {
    long n = 0;
    for (Shard s : shards) {
      synchronized (s) {
        n += s.count;
      }
    }
    return n;
  }

  Json json() {
    Histogram all = new Histogram(HIGHEST, 3);
    long count = 0;
    long sum = 0;
    long min = Long.MAX_VALUE;
    long max = 0;
    for (Shard s : shards) {
      synchronized (s) {
        all.add(s.histogram);
        count += s.count;
        sum += s.sum;
        min = Math.min(min, s.min);
        max = Math.max(max, s.max);
      }
    }
    StringJoiner buckets = new StringJoiner(",", "[", "]");
    for (HistogramIterationValue v : all.recordedValues()) {
      buckets.add("[" + all.highestEquivalentValue(v.getValueIteratedTo()) + "," + v.getCountAddedInThisIterationStep() + "]");
    }
    return new Json()
        .plain("count", count)
        .plain("sum_ns", sum)
        .plain("min_ns", count == 0 ? 0 : min)
        .plain("max_ns", max)
        .plain("histogram_ns", buckets);
  }
}
