package bench;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.StringJoiner;

/** Lines of JSON for the parent. */
final class Json {
  private static final PrintStream OUT =
      new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);

  private final StringJoiner fields = new StringJoiner(",", "{", "}");

  Json text(String name, String value) {
    fields.add(quoted(name) + ":" + quoted(value));
    return this;
  }

  /** A value that is JSON already, such as a number. */
  Json plain(String name, Object value) {
    fields.add(quoted(name) + ":" + value);
    return this;
  }

  Json texts(String name, Collection<String> values) {
    StringJoiner list = new StringJoiner(",", "[", "]");
    values.forEach(v -> list.add(quoted(v)));
    return plain(name, list);
  }

  @Override
  public String toString() {
    return fields.toString();
  }

  /** Prints it as a line to the standard output, which System.out no longer is. */
  void print() {
    OUT.println(this);
  }

  static String quoted(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < 0x20) {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }
}
