import java.util.Collections;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.thrift.TApplicationException;
import org.apache.thrift.TMultiplexedProcessor;
import org.apache.thrift.TProcessor;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TJSONProtocol;
import org.apache.thrift.protocol.TMultiplexedProtocol;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.protocol.TProtocolFactory;
import org.apache.thrift.server.THsHaServer;
import org.apache.thrift.server.TServer;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TNonblockingServerSocket;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TSocket;
import org.apache.thrift.transport.TTransport;
import org.apache.thrift.transport.TTransportFactory;
import org.apache.thrift.transport.layered.TFramedTransport;

/**
 * Apache Thrift's library for Java as a client and as a server of shop.thrift. Both take any number of
 * FRAMING/PROTOCOL/plain and FRAMING/PROTOCOL/multiplexed.
 *
 * <p>java Peer client PORT DIALECT... makes all calls in each dialect.
 *
 * <p>java Peer server DIALECT... prints a port for each dialect, framed ones also of a nonblocking server, and serves
 * until it is killed.
 */
public class Peer {
  static void check(boolean ok, String what) {
    if (!ok) {
      throw new IllegalStateException("failed: " + what);
    }
  }

  static TProtocolFactory protocols(String name) {
    switch (name) {
      case "compact":
        return new TCompactProtocol.Factory();
      case "json":
        return new TJSONProtocol.Factory();
      case "old":
        return new TBinaryProtocol.Factory(false, false);
      default:
        return new TBinaryProtocol.Factory();
    }
  }

  static Order order() {
    Order o = new Order();
    o.setId(Long.MIN_VALUE).setName("caf\u00e9").setPrice(-0.25).setPaid(true).setGift(false).setState(OrderState.SENT);
    o.setPicture(new byte[] {0, -1, -128});
    for (short i = 0; i < 20; i++) {
      o.addToLines(new Line().setArticle("a").setNumber((short) -i));
    }
    o.setTags(new HashSet<>(java.util.List.of("x", "y")));
    o.setNotes(Map.of("k", "v", "", ""));
    o.setPayment(Payment.cents(-5));
    o.setMarks(Map.of(1, Set.of(2L, 3L), -1, Collections.emptySet()));
    return o;
  }

  static void client(int port, String dialect) throws Exception {
    String[] parts = dialect.split("/");
    TTransport transport = new TSocket("127.0.0.1", port, 60000);
    if (parts[0].equals("framed")) {
      transport = new TFramedTransport(transport);
    }
    TProtocol protocol = protocols(parts[1]).getProtocol(transport);
    transport.open();
    TProtocol out = parts[2].equals("multiplexed") ? new TMultiplexedProtocol(protocol, "Shop") : protocol;
    Shop.Client c = new Shop.Client(protocol, out);
    for (int i = 0; i < 20; i++) {
      check(c.add(i, -7) == i - 7, "add");
    }
    Order back = c.echo(order());
    check(back.equals(order()), "echo: " + back);
    check(c.find(7).getName().equals("seven"), "find");
    try {
      c.find(8);
      check(false, "find what is missing");
    } catch (NotFound e) {
      check(e.getId() == 8, "the exception");
    }
    try {
      c.find(-1);
      check(false, "find what cannot be");
    } catch (TApplicationException e) {
      check(e.getMessage().equals("InvalidArgument: the number -1 is negative"), e.getMessage());
    }
    check(c.states().equals(Set.of(OrderState.OPEN, OrderState.SENT)), "states");
    c.log("from Java");
    c.ping();
    transport.close();
  }

  static class Handler implements Shop.Iface {
    public int add(int a, int b) {
      return a + b;
    }

    public Order echo(Order order) {
      return order;
    }

    public Order find(long id) throws NotFound {
      if (id != 7) {
        throw new NotFound().setId(id);
      }
      return new Order().setId(7).setName("seven");
    }

    public Set<OrderState> states() {
      return Set.of(OrderState.OPEN);
    }

    public void log(String line) {}

    public void ping() {}
  }

  static void serve(String dialect) throws Exception {
    String[] parts = dialect.split("/");
    TProcessor processor = new Shop.Processor<>(new Handler());
    if (parts[2].equals("multiplexed")) {
      TMultiplexedProcessor many = new TMultiplexedProcessor();
      many.registerProcessor("Shop", processor);
      processor = many;
    }
    TServerSocket socket = new TServerSocket(0);
    TTransportFactory transports = parts[0].equals("framed") ? new TFramedTransport.Factory() : new TTransportFactory();
    start(new TThreadPoolServer(new TThreadPoolServer.Args(socket).processor(processor).transportFactory(transports).protocolFactory(protocols(parts[1]))));
    System.out.println(dialect + " " + socket.getServerSocket().getLocalPort());
    if (parts[0].equals("framed")) {
      TNonblockingServerSocket other = new TNonblockingServerSocket(0);
      start(new THsHaServer(new THsHaServer.Args(other).processor(processor).protocolFactory(protocols(parts[1]))));
      System.out.println(dialect + " " + other.getPort());
    }
  }

  static void start(TServer server) {
    new Thread(server::serve).start();
  }

  public static void main(String[] args) throws Exception {
    if (args[0].equals("client")) {
      for (int i = 2; i < args.length; i++) {
        client(Integer.parseInt(args[1]), args[i]);
      }
      return;
    }
    for (int i = 1; i < args.length; i++) {
      serve(args[i]);
    }
    System.out.println("serving");
  }
}
