package bench;

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** The callers of a run and the phases that they go through together. */
final class Load {
  private static final int GIVE_UP = 100; // failed calls in a row after which a caller stops
  private static final int WARMUP_MOST = 3; // times the warm-up time is when it ends, steady or not
  private static final int WARMUP_PARTS = 4;
  private static final double STEADY = 0.10;
  private static final double CALLS_TIME = 120; // seconds for a number of calls
  private static final long DRAIN_TIME = 10; // seconds for calls in flight to end
  private static final int STACK = 256 << 10;

  private final Options options;
  private final BufferedReader orders;
  private final List<Peer.Client> clients = new ArrayList<>();
  private final List<Caller> callers = new ArrayList<>();
  private final Distribution main = new Distribution();
  private final Distribution side = new Distribution();
  private final CountDownLatch begin = new CountDownLatch(1);
  private final CountDownLatch warm;
  private final CountDownLatch mains;
  private final CountDownLatch all;
  private volatile long deadline = System.nanoTime() + Long.MAX_VALUE / 2; // of the current phase, by System.nanoTime

  Load(Peer peer, Options options, BufferedReader orders) throws Exception {
    this.options = options;
    this.orders = orders;
    int total = options.callers + options.workload.sideCallers();
    warm = new CountDownLatch(total);
    all = new CountDownLatch(total);
    mains = new CountDownLatch(options.callers);
    int servers = Math.min(options.addresses.size(), total);
    boolean fresh = options.workload == Workload.MATH_NEW;
    for (int s = 0; s < servers && !fresh; s++) {
      int share = (total - s + servers - 1) / servers;
      clients.add(peer.dial(options.codec, options.addresses.get(s), share, options.conns));
    }
    for (int i = 0; i < total; i++) {
      Address to = options.addresses.get(i % servers);
      Peer.Caller rpc = fresh ? method -> callAnew(peer, to, method) : clients.get(i % servers).caller(i / servers);
      callers.add(new Caller(i, rpc));
    }
  }

  /** Makes a call on a connection of its own. */
  private void callAnew(Peer peer, Address to, Method method) throws Exception {
    try (Peer.Client client = peer.dial(options.codec, to, 1, 1)) {
      client.caller(0).call(method);
    }
  }

  /** Warms up, waits for the order, measures, reports, and waits until the parent has read what this process used. */
  void run() throws Exception {
    for (Caller c : callers) {
      Thread thread = new Thread(null, c, "caller-" + c.number, STACK);
      thread.setDaemon(true);
      thread.start();
    }
    double warmup = warmUp();
    new Json().text("event", "warm").print();
    String order = orders.readLine();
    if (!"go".equals(order)) {
      throw new IOException("load was told \"" + order + "\", want go");
    }
    measure(warmup).print();
    while (orders.readLine() != null) {
      // until the input ends
    }
  }

  private double warmUp() throws Exception {
    long start = System.nanoTime();
    long part = Math.max((long) (options.warmup * 1000 / WARMUP_PARTS), 1);
    double before = 0;
    double rate = 0;
    double elapsed;
    boolean steady;
    do {
      Thread.sleep(part);
      elapsed = (System.nanoTime() - start) / 1e9;
      double count = main.count();
      double previous = rate;
      rate = count - before;
      before = count;
      steady = Math.abs(rate - previous) <= STEADY * previous;
    } while (!(elapsed >= options.warmup && steady) && elapsed < WARMUP_MOST * options.warmup);
    deadline = System.nanoTime();
    await(warm, DRAIN_TIME);
    if (main.count() == 0) {
      throw new IOException("no call succeeded while warming up: " + firstError());
    }
    return elapsed;
  }

  private Json measure(double warmup) throws Exception {
    long failures = failures(); // those of the warm-up count too
    String firstError = firstError();
    main.reset();
    side.reset();
    double bound = options.calls > 0 ? Math.max(options.seconds, CALLS_TIME) : options.seconds;
    OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    long cpu = system.getProcessCpuTime();
    long start = System.nanoTime();
    deadline = start + (long) (bound * 1e9);
    begin.countDown();
    await(mains, (long) bound + DRAIN_TIME);
    double elapsed = (System.nanoTime() - start) / 1e9;
    deadline = System.nanoTime(); // side callers have no quota of their own
    await(all, DRAIN_TIME);
    cpu = system.getProcessCpuTime() - cpu;
    long late = callers.stream().mapToLong(c -> c.late).sum();
    return new Json()
        .text("event", "result")
        .plain("conns", options.workload == Workload.MATH_NEW ? options.callers : clients.stream().mapToInt(Peer.Client::conns).sum())
        .plain("warmup_s", warmup)
        .plain("seconds", Math.min(elapsed, bound))
        .plain("calls", main.count())
        .plain("late", late)
        .plain("failures", failures + failures())
        .text("first_error", firstError.isEmpty() ? firstError() : firstError)
        .plain("cpu_ns", cpu)
        .plain("main", main.json())
        .plain("side", side.json());
  }

  private long failures() {
    return callers.stream().mapToLong(c -> c.failures).sum();
  }

  private String firstError() {
    return callers.stream().map(c -> c.firstError).filter(e -> !e.isEmpty()).findFirst().orElse("");
  }

  private static void await(CountDownLatch latch, long seconds) throws Exception {
    if (!latch.await(seconds, TimeUnit.SECONDS)) {
      throw new IOException("some calls did not end in time");
    }
  }

  /** One thread's share of the run. */
  private final class Caller implements Runnable {
    final int number;
    private final Peer.Caller rpc;
    private final boolean sideOnly;

    // What one phase gave. Read only while the caller is idle.
    volatile long late;
    volatile long failures;
    volatile String firstError = "";

    Caller(int number, Peer.Caller rpc) {
      this.number = number;
      this.rpc = rpc;
      this.sideOnly = number >= options.callers;
    }

    @Override
    public void run() {
      loop(0);
      warm.countDown();
      try {
        begin.await();
      } catch (InterruptedException e) {
        return;
      }
      long quota = 0;
      if (options.calls > 0 && !sideOnly) {
        quota = options.calls / options.callers + (number < options.calls % options.callers ? 1 : 0);
      }
      if (quota > 0 || options.calls == 0 || sideOnly) {
        loop(quota);
      } else { // what the warm-up gave must not be counted again
        late = failures = 0;
        firstError = "";
      }
      if (!sideOnly) {
        mains.countDown();
      }
      all.countDown();
    }

    private void loop(long quota) {
      late = failures = 0;
      firstError = "";
      Pace pace = options.rate > 0 && !sideOnly ? Pace.of(number, options.callers, options.rate) : null;
      int every = options.workload.sideEvery();
      int inARow = 0;
      long start = System.nanoTime();
      long began = start;
      long mains = 0; // that were made, or tried
      for (long i = 0; quota == 0 || mains < quota; i++) {
        if (pace != null) {
          began = start + pace.at(i);
          if (began - deadline >= 0) {
            return;
          }
          sleepUntil(began);
        }
        boolean atSide = sideOnly || every > 0 && (i + number * 37L) % every == 0;
        if (!atSide) {
          mains++;
        }
        try {
          rpc.call(atSide ? options.workload.side : options.workload.main);
        } catch (Throwable e) { // a class that is missing is a failed call too
          fail(e);
          if (++inARow == GIVE_UP || System.nanoTime() - deadline >= 0) {
            return;
          }
          LockSupport.parkNanos(1_000_000);
          began = System.nanoTime();
          continue;
        }
        inARow = 0;
        long end = System.nanoTime();
        (atSide ? side : main).shard(number).record(end - began);
        if (end - deadline >= 0) {
          if (end - deadline > 0 && !atSide) {
            late++;
          }
          return;
        }
        began = end;
      }
    }

    private void sleepUntil(long time) {
      for (long wait = time - System.nanoTime(); wait > 0; wait = time - System.nanoTime()) {
        LockSupport.parkNanos(wait);
      }
    }

    private void fail(Throwable e) {
      failures++;
      if (firstError.isEmpty()) {
        firstError = e.toString();
      }
    }
  }
}
