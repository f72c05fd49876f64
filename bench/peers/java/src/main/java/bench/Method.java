package bench;

/** What a caller may call: the methods of Hello, and MathService's only one. */
public enum Method {
  SAY(0, 0),
  SLOW(5, 0),
  SLEEP(10, 0),
  MEDIUM(0, 1 << 20),
  LARGE(0, 8 << 20),
  ADD(0, 0);

  /** How long the handler sleeps, in milliseconds. */
  public final int pause;

  /** How many bytes field1 of the reply has, or 0 for "OK". */
  public final int size;

  Method(int pause, int size) {
    this.pause = pause;
    this.size = size;
  }
}
