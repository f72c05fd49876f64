package bench;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;

/** A host and a port. */
public record Address(String host, int port) {
  static Address parse(String text) {
    int colon = text.lastIndexOf(':');
    if (colon < 0) {
      throw new IllegalArgumentException("\"" + text + "\" is not host:port");
    }
    return new Address(text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
  }

  /** This address, or one with a free port if its port is 0: for systems that need one. */
  public Address free() throws IOException {
    if (port != 0) {
      return this;
    }
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getByName(host))) {
      return new Address(host, socket.getLocalPort());
    }
  }

  @Override
  public String toString() {
    return host + ":" + port;
  }
}
