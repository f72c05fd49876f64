package bench;

import java.util.ArrayList;
import java.util.List;

/** The flags of serve and load. */
final class Options {
  String peer = "";
  String codec = "";
  Workload workload = Workload.ECHO;
  List<Address> addresses = List.of(new Address("127.0.0.1", 0));
  int callers = 1;
  int conns;
  double warmup = 1;
  double seconds = 3;
  double rate;
  long calls;

  /** Reads "-name value" pairs, from the second argument on. */
  static Options parse(String[] args) {
    Options o = new Options();
    for (int i = 1; i < args.length; i += 2) {
      if (i + 1 == args.length) {
        throw new IllegalArgumentException(args[i] + " has no value");
      }
      o.set(args[i], args[i + 1]);
    }
    if (o.callers < 1 || o.conns < -1 || o.warmup < 0 || o.seconds <= 0 || o.calls < 0 || o.rate < 0) {
      throw new IllegalArgumentException(
          "-callers and -seconds must be positive, -warmup, -calls and -rate not negative, -conns at least -1");
    }
    return o;
  }

  private void set(String name, String value) {
    try {
      switch (name) {
        case "-peer" -> peer = value;
        case "-codec" -> codec = value;
        case "-workload" -> workload = Workload.of(value);
        case "-addr" -> {
          addresses = new ArrayList<>();
          for (String one : value.split(",")) {
            addresses.add(Address.parse(one));
          }
        }
        case "-callers" -> callers = Integer.parseInt(value);
        case "-conns" -> conns = Integer.parseInt(value);
        case "-warmup" -> warmup = Double.parseDouble(value);
        case "-seconds" -> seconds = Double.parseDouble(value);
        case "-calls" -> calls = Long.parseLong(value);
        case "-rate" -> rate = Double.parseDouble(value);
        default -> throw new IllegalArgumentException("unknown flag " + name);
      }
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException(name + ": \"" + value + "\" is not a number");
    }
  }
}
