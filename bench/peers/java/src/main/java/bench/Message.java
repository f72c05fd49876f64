package bench;

import com.google.protobuf.Descriptors.FieldDescriptor;
import main.Benchmark.BenchmarkMessage;

/** The published message, what a server answers, and what a caller checks. */
public final class Message {
  public static final String TEXT = "许多往事在眼前一幕一幕，变的那麼模糊";
  public static final int NUMBER = 100_000;
  public static final int ANSWERED = 100;
  private static final String LARGE = "w".repeat(Method.LARGE.size);

  private Message() {}

  /** The published message for protobuf: 581 bytes. */
  public static BenchmarkMessage published() {
    BenchmarkMessage.Builder m = BenchmarkMessage.newBuilder();
    for (FieldDescriptor field : BenchmarkMessage.getDescriptor().getFields()) {
      if (field.isRepeated()) {
        continue;
      }
      switch (field.getJavaType()) {
        case STRING -> m.setField(field, TEXT);
        case INT -> m.setField(field, NUMBER);
        case LONG -> m.setField(field, (long) NUMBER);
        case BOOLEAN -> m.setField(field, true);
        default -> throw new IllegalStateException("a field of type " + field.getJavaType());
      }
    }
    return m.build();
  }

  /** What field1 of the reply is, after the time that the method takes. */
  public static String text(Method method) {
    if (method.pause > 0) {
      try {
        Thread.sleep(method.pause);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
    return method.size > 0 ? LARGE.substring(0, method.size) : "OK";
  }

  /** What a server makes of a decoded request. */
  public static BenchmarkMessage answer(Method method, BenchmarkMessage request) {
    return request.toBuilder().setField1(text(method)).setField2(ANSWERED).build();
  }

  /** Throws when the fields are not those of the answer to the message. */
  public static void check(Method method, String text, int number) {
    if (number != ANSWERED) {
      throw new WrongReply("field2 of the reply is " + number + ", want " + ANSWERED);
    }
    if (method.size == 0 && !text.equals("OK")) {
      throw new WrongReply("field1 of the reply is \"" + text.substring(0, Math.min(40, text.length())) + "\", want OK");
    }
    if (method.size > 0
        && (text.length() != method.size || text.charAt(0) != 'w' || text.charAt(method.size - 1) != 'w')) {
      throw new WrongReply("field1 of the reply has " + text.length() + " characters, want " + method.size + " times w");
    }
  }

  /** Throws when x is not the sum. */
  public static void checkSum(int a, int b, int x) {
    if (x != a + b) {
      throw new WrongReply(a + " + " + b + " is " + x + " in the reply");
    }
  }

  /** A reply that came, but is not the right one. */
  public static final class WrongReply extends RuntimeException {
    WrongReply(String message) {
      super(message);
    }
  }
}
