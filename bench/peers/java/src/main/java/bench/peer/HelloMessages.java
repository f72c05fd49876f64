package bench.peer;

import main.Benchmark.BenchmarkMessage;
import main.Math.AddReply;
import main.Math.AddRequest;

/** The services for Triple, which carries protobuf messages itself. */
public interface HelloMessages {
  BenchmarkMessage say(BenchmarkMessage message);

  BenchmarkMessage slow(BenchmarkMessage message);

  BenchmarkMessage sleep(BenchmarkMessage message);

  BenchmarkMessage medium(BenchmarkMessage message);

  BenchmarkMessage large(BenchmarkMessage message);

  AddReply add(AddRequest numbers);
}
