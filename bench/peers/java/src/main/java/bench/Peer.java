package bench;

import java.util.List;
import java.util.Set;

/** One RPC system under measurement. */
public interface Peer {
  String name();

  String version();

  /** How it is configured, for the report. */
  String settings();

  /** The best first. */
  List<String> codecs();

  default Set<Workload> workloads() {
    return Set.of(Workload.values());
  }

  /** 0 for any number. */
  default int maxCallers() {
    return 0;
  }

  default String maxCallersWhy() {
    return "";
  }

  /** Listens and serves in the background until the process ends. Returns the address. */
  Address serve(String codec, Address at) throws Exception;

  /** Opens every connection that the callers will use; 0 connections leave the number to the peer, -1 is one for each. */
  Client dial(String codec, Address to, int callers, int conns) throws Exception;

  /** The client side of one run. */
  interface Client extends AutoCloseable {
    Caller caller(int i) throws Exception;

    int conns();

    @Override
    void close() throws Exception;
  }

  /** Makes one call at a time, and checks its reply. */
  interface Caller {
    void call(Method method) throws Exception;
  }

  /** The connections of a peer that shares them: one for a hundred callers, up to ten, unless a number is asked for. */
  static int shared(int callers, int conns) {
    if (conns == 0) {
      return Math.min((callers + 99) / 100, 10);
    }
    return conns < 0 ? callers : Math.min(conns, callers);
  }
}
