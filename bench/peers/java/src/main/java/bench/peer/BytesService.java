package bench.peer;

import bench.Message;
import bench.Method;
import bench.Peer;
import main.Benchmark.BenchmarkMessage;

/** HelloBytes on the server, and its caller. */
final class BytesService implements HelloBytes {
  private static byte[] answer(Method method, byte[] message) throws Exception {
    return Message.answer(method, BenchmarkMessage.parseFrom(message)).toByteArray();
  }

  @Override
  public byte[] say(byte[] message) throws Exception {
    return answer(Method.SAY, message);
  }

  @Override
  public byte[] slow(byte[] message) throws Exception {
    return answer(Method.SLOW, message);
  }

  @Override
  public byte[] sleep(byte[] message) throws Exception {
    return answer(Method.SLEEP, message);
  }

  @Override
  public byte[] medium(byte[] message) throws Exception {
    return answer(Method.MEDIUM, message);
  }

  @Override
  public byte[] large(byte[] message) throws Exception {
    return answer(Method.LARGE, message);
  }

  @Override
  public int add(int a, int b) {
    return a + b;
  }

  /** A caller of a remote HelloBytes. */
  static Peer.Caller caller(HelloBytes remote) {
    BenchmarkMessage request = Message.published();
    Numbers numbers = new Numbers();
    return method -> {
      if (method == Method.ADD) {
        numbers.next();
        Message.checkSum(numbers.a, numbers.b, remote.add(numbers.a, numbers.b));
        return;
      }
      byte[] body = request.toByteArray();
      byte[] reply = switch (method) {
        case SLOW -> remote.slow(body);
        case SLEEP -> remote.sleep(body);
        case MEDIUM -> remote.medium(body);
        case LARGE -> remote.large(body);
        default -> remote.say(body);
      };
      BenchmarkMessage answer = BenchmarkMessage.parseFrom(reply);
      Message.check(method, answer.getField1(), answer.getField2());
    };
  }
}
