package bench;

import bench.peer.DubboPeer;
import bench.peer.GrpcPeer;
import bench.peer.MotanPeer;
import bench.peer.ThriftPeer;
import bench.peer.TriplePeer;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.List;

/** The program that CONTRACT.md of the bench module describes, for the Java peers. */
public final class Main {
  /** A cold JVM is ten times too slow. */
  private static final int WARMUP_SECONDS = 8;

  private static List<Peer> peers() {
    return List.of(new DubboPeer(), new TriplePeer(), new MotanPeer(), new ThriftPeer(), new GrpcPeer());
  }

  private Main() {}

  public static void main(String[] args) {
    System.setOut(System.err); // standard output belongs to the contract
    try {
      switch (args.length == 0 ? "" : args[0]) {
        case "describe" -> describe();
        case "serve" -> serve(Options.parse(args));
        case "load" -> {
          Options o = Options.parse(args);
          new Load(find(o.peer), o, new BufferedReader(new InputStreamReader(System.in))).run();
        }
        default -> throw new IllegalArgumentException("want describe, serve or load");
      }
    } catch (Throwable e) {
      new Json().text("event", "failed").text("error", e.toString()).print();
      Runtime.getRuntime().halt(1);
    }
    // The frameworks' own threads would keep the process alive.
    Runtime.getRuntime().halt(0);
  }

  private static void describe() {
    for (Peer p : peers()) {
      Json json = new Json()
          .text("peer", p.name())
          .text("language", "Java")
          .text("version", p.version() + ", OpenJDK " + System.getProperty("java.version"))
          .text("settings", p.settings() + "; a thread for each caller, ParallelGC")
          .texts("codecs", p.codecs())
          .texts("workloads", Arrays.stream(Workload.values()).filter(p.workloads()::contains).map(w -> w.label).toList())
          .plain("warmup_s", WARMUP_SECONDS);
      if (p.maxCallers() > 0) {
        json.plain("max_callers", p.maxCallers()).text("max_callers_why", p.maxCallersWhy());
      }
      json.print();
    }
  }

  private static Peer find(String name) {
    return peers().stream()
        .filter(p -> p.name().equals(name))
        .findFirst()
        .orElseThrow(() -> new IllegalArgumentException("unknown peer \"" + name + "\""));
  }

  private static void serve(Options o) throws Exception {
    Address addr = find(o.peer).serve(o.codec, o.addresses.get(0));
    new Json().text("event", "ready").text("addr", addr.toString()).print();
    awaitEnd();
  }

  /** Returns when the parent has ended the input of this process. */
  private static void awaitEnd() throws IOException {
    while (System.in.read() >= 0) {
      // further input is dropped
    }
  }
}
