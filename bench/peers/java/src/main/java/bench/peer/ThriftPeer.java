package bench.peer;

import bench.Address;
import bench.Message;
import bench.Method;
import bench.Peer;
import com.colobu.thrift.BenchmarkMessage;
import com.colobu.thrift.Greeter;
import com.colobu.thrift.MathService;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.thrift.ProcessFunction;
import org.apache.thrift.TException;
import org.apache.thrift.TProcessor;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.protocol.TCompactProtocol;
import org.apache.thrift.protocol.TMessage;
import org.apache.thrift.protocol.TProtocol;
import org.apache.thrift.protocol.TProtocolFactory;
import org.apache.thrift.protocol.TType;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TSocket;

/** Thrift with a thread for each connection, which is what serves it best here. */
public final class ThriftPeer implements Peer {
  private static final int BACKLOG = 4096; // 0 means 50
  private static final int TIMEOUT = 60_000; // ms

  @Override
  public String name() {
    return "thrift-java";
  }

  @Override
  public String version() {
    return "Thrift 0.20.0";
  }

  @Override
  public String settings() {
    return "TThreadPoolServer, a worker and a connection for each caller, since one carries one call at a time";
  }

  @Override
  public List<String> codecs() {
    return List.of("compact", "binary");
  }

  private static TProtocolFactory protocol(String codec) {
    return codec.equals("compact") ? new TCompactProtocol.Factory() : new TBinaryProtocol.Factory();
  }

  @Override
  public Address serve(String codec, Address at) throws Exception {
    ServerSocket socket = new ServerSocket();
    socket.setReuseAddress(true);
    socket.bind(new InetSocketAddress(at.host(), at.port()), BACKLOG);
    TThreadPoolServer server = new TThreadPoolServer(
        new TThreadPoolServer.Args(new TServerSocket(socket))
            .processor(new Both())
            .protocolFactory(protocol(codec))
            .executorService(new ThreadPoolExecutor(16, 20_000, 60, TimeUnit.SECONDS, new SynchronousQueue<>())));
    Thread thread = new Thread(server::serve, "server");
    thread.setDaemon(true);
    thread.start();
    return new Address(at.host(), socket.getLocalPort());
  }

  /** Greeter and MathService, which have no method in common, behind one port. */
  private static final class Both implements TProcessor {
    private final Handler handler = new Handler();
    private final MathService.Iface adder = (a, b) -> a + b;
    private final Map<String, ProcessFunction<Handler, ?>> greeter = new Greeter.Processor<>(handler).getProcessMapView();
    private final Map<String, ProcessFunction<MathService.Iface, ?>> math = new MathService.Processor<>(adder).getProcessMapView();

    @Override
    public void process(TProtocol in, TProtocol out) throws TException {
      TMessage message = in.readMessageBegin();
      ProcessFunction<Handler, ?> function = greeter.get(message.name);
      if (function != null) {
        function.process(message.seqid, in, out, handler);
      } else {
        math.get(message.name).process(message.seqid, in, out, adder);
      }
    }
  }

  private static final class Handler implements Greeter.Iface {
    private static BenchmarkMessage answer(Method method, BenchmarkMessage message) {
      return message.setField1(Message.text(method)).setField2(Message.ANSWERED);
    }

    @Override
    public BenchmarkMessage say(BenchmarkMessage message) {
      return answer(Method.SAY, message);
    }

    @Override
    public BenchmarkMessage slow(BenchmarkMessage message) {
      return answer(Method.SLOW, message);
    }

    @Override
    public BenchmarkMessage sleep(BenchmarkMessage message) {
      return answer(Method.SLEEP, message);
    }

    @Override
    public BenchmarkMessage medium(BenchmarkMessage message) {
      return answer(Method.MEDIUM, message);
    }

    @Override
    public BenchmarkMessage large(BenchmarkMessage message) {
      return answer(Method.LARGE, message);
    }
  }

  @Override
  public Client dial(String codec, Address to, int callers, int conns) throws Exception {
    List<TSocket> sockets = new ArrayList<>();
    for (int i = 0; i < callers; i++) {
      TSocket socket = new TSocket(to.host(), to.port(), TIMEOUT);
      socket.open();
      sockets.add(socket);
    }
    return new Client() {
      @Override
      public Caller caller(int i) {
        return ThriftPeer.caller(protocol(codec).getProtocol(sockets.get(i)));
      }

      @Override
      public int conns() {
        return sockets.size();
      }

      @Override
      public void close() {
        sockets.forEach(TSocket::close);
      }
    };
  }

  private static Caller caller(TProtocol protocol) {
    Greeter.Client greeter = new Greeter.Client(protocol);
    MathService.Client math = new MathService.Client(protocol);
    BenchmarkMessage request = published();
    Numbers numbers = new Numbers();
    return method -> {
      if (method == Method.ADD) {
        numbers.next();
        Message.checkSum(numbers.a, numbers.b, math.Add(numbers.a, numbers.b));
        return;
      }
      BenchmarkMessage reply = switch (method) {
        case SLOW -> greeter.slow(request);
        case SLEEP -> greeter.sleep(request);
        case MEDIUM -> greeter.medium(request);
        case LARGE -> greeter.large(request);
        default -> greeter.say(request);
      };
      Message.check(method, reply.getField1(), reply.getField2());
    };
  }

  /** The published message as Thrift has it. */
  static BenchmarkMessage published() {
    BenchmarkMessage m = new BenchmarkMessage();
    for (var field : BenchmarkMessage.metaDataMap.entrySet()) {
      Object value = switch (field.getValue().valueMetaData.type) {
        case TType.STRING -> Message.TEXT;
        case TType.I32 -> Message.NUMBER;
        case TType.I64 -> (long) Message.NUMBER;
        case TType.BOOL -> true;
        default -> throw new IllegalStateException("a field of type " + field.getValue().valueMetaData.type);
      };
      m.setFieldValue(field.getKey(), value);
    }
    return m;
  }
}
