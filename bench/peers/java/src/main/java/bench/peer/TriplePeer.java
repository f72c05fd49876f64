package bench.peer;

import bench.Address;
import bench.Message;
import bench.Method;
import bench.Peer;
import bench.Workload;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import main.Benchmark.BenchmarkMessage;
import main.Math.AddReply;
import main.Math.AddRequest;
import org.apache.dubbo.common.Version;
import org.apache.dubbo.config.ReferenceConfig;

/** Dubbo with Triple, its protocol over HTTP/2. */
public final class TriplePeer implements Peer {
  @Override
  public String name() {
    return "dubbo-triple";
  }

  @Override
  public String version() {
    return "Dubbo " + Version.getVersion();
  }

  @Override
  public String settings() {
    return "Triple with protobuf messages, direct URL, server pool of 200 threads with a queue, its one connection; it takes no reply of 8 MiB, so large is left out";
  }

  @Override
  public List<String> codecs() {
    return List.of("google");
  }

  @Override
  public Set<Workload> workloads() {
    return EnumSet.complementOf(EnumSet.of(Workload.LARGE));
  }

  @Override
  public int maxCallers() {
    return 300;
  }

  @Override
  public String maxCallersWhy() {
    return "with more on its one connection calls fail: \"decode only works with an entire header block\"";
  }

  @Override
  public Address serve(String codec, Address at) throws Exception {
    Address addr = at.free();
    Dubbo.export("tri", addr, HelloMessages.class, new Service());
    return addr;
  }

  @Override
  public Client dial(String codec, Address to, int callers, int conns) {
    ReferenceConfig<HelloMessages> reference = Dubbo.refer("tri", to, HelloMessages.class, 1);
    HelloMessages remote = reference.get();
    return Dubbo.client(reference, 1, i -> caller(remote));
  }

  private static Caller caller(HelloMessages remote) {
    BenchmarkMessage request = Message.published();
    Numbers numbers = new Numbers();
    return method -> {
      if (method == Method.ADD) {
        numbers.next();
        AddReply sum = remote.add(AddRequest.newBuilder().setA(numbers.a).setB(numbers.b).build());
        Message.checkSum(numbers.a, numbers.b, sum.getX());
        return;
      }
      BenchmarkMessage reply = switch (method) {
        case SLOW -> remote.slow(request);
        case SLEEP -> remote.sleep(request);
        case MEDIUM -> remote.medium(request);
        case LARGE -> remote.large(request);
        default -> remote.say(request);
      };
      Message.check(method, reply.getField1(), reply.getField2());
    };
  }

  private static final class Service implements HelloMessages {
    @Override
    public BenchmarkMessage say(BenchmarkMessage message) {
      return Message.answer(Method.SAY, message);
    }

    @Override
    public BenchmarkMessage slow(BenchmarkMessage message) {
      return Message.answer(Method.SLOW, message);
    }

    @Override
    public BenchmarkMessage sleep(BenchmarkMessage message) {
      return Message.answer(Method.SLEEP, message);
    }

    @Override
    public BenchmarkMessage medium(BenchmarkMessage message) {
      return Message.answer(Method.MEDIUM, message);
    }

    @Override
    public BenchmarkMessage large(BenchmarkMessage message) {
      return Message.answer(Method.LARGE, message);
    }

    @Override
    public AddReply add(AddRequest numbers) {
      return AddReply.newBuilder().setX(numbers.getA() + numbers.getB()).build();
    }
  }
}
