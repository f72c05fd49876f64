package bench.peer;

/** What one caller adds: two others in each call, so that a reply to another call is noticed. */
final class Numbers {
  int a;
  int b;

  void next() {
    a++;
    b = a << 8 ^ 0x5bd1;
  }
}
