package bench;

/** What the callers of a run do. */
public enum Workload {
  ECHO("echo", Method.SAY, Method.SAY),
  SLOW("slow", Method.SAY, Method.SLOW),
  DELAY("delay", Method.SLEEP, Method.SLEEP),
  MIXED("mixed", Method.SAY, Method.MEDIUM),
  LARGE("large", Method.SAY, Method.LARGE),
  MATH("math", Method.ADD, Method.ADD),
  MATH_NEW("math-new", Method.ADD, Method.ADD);

  public final String label;
  public final Method main;
  public final Method side;

  Workload(String label, Method main, Method side) {
    this.label = label;
    this.main = main;
    this.side = side;
  }

  /** One call in so many of each caller is a side call, or 0. */
  public int sideEvery() {
    return this == SLOW ? 100 : 0;
  }

  /** How many callers make side calls only. */
  public int sideCallers() {
    return this == MIXED || this == LARGE ? 1 : 0;
  }

  static Workload of(String label) {
    for (Workload w : values()) {
      if (w.label.equals(label)) {
        return w;
      }
    }
    throw new IllegalArgumentException("unknown workload \"" + label + "\"");
  }
}
