package bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import main.Benchmark.BenchmarkMessage;
import org.junit.jupiter.api.Test;

/** The parts that need no network. */
class PartsTest {
  @Test
  void aDistributionIsWrittenAsTheContractWants() {
    Distribution d = new Distribution();
    d.shard(0).record(1000);
    d.shard(1).record(2049);
    d.shard(2).record(1000);
    d.shard(11).record(-5);
    assertEquals(4, d.count());
    assertEquals(
        "{\"count\":4,\"sum_ns\":4049,\"min_ns\":0,\"max_ns\":2049,\"histogram_ns\":[[0,1],[1000,2],[2049,1]]}",
        d.json().toString());
    d.reset();
    assertEquals("{\"count\":0,\"sum_ns\":0,\"min_ns\":0,\"max_ns\":0,\"histogram_ns\":[]}", d.json().toString());
  }

  @Test
  void theMessageIsThePublishedOne() {
    assertEquals(581, Message.published().getSerializedSize());
  }

  @Test
  void anAnswerPassesTheCheckOfItsMethodAlone() {
    BenchmarkMessage request = Message.published();
    for (Method method : new Method[] {Method.SAY, Method.SLOW, Method.MEDIUM, Method.LARGE}) {
      BenchmarkMessage reply = Message.answer(method, request);
      Message.check(method, reply.getField1(), reply.getField2());
    }
    BenchmarkMessage large = Message.answer(Method.LARGE, request);
    assertThrows(Message.WrongReply.class, () -> Message.check(Method.MEDIUM, large.getField1(), large.getField2()));
    assertThrows(Message.WrongReply.class, () -> Message.check(Method.SAY, request.getField1(), request.getField2()));
    assertThrows(Message.WrongReply.class, () -> Message.checkSum(2, 3, 6));
    Message.checkSum(2, 3, 5);
  }

  @Test
  void callersShareARateEvenly() {
    assertEquals(8_000_000, Pace.of(0, 4, 1000).at(2));
    assertEquals(3_000_000, Pace.of(3, 4, 1000).at(0));
  }

  @Test
  void flagsAreRead() {
    Options o = Options.parse(new String[] {"load", "-addr", "a:1,b:2", "-workload", "slow", "-rate", "2.5"});
    assertEquals(new Address("b", 2), o.addresses.get(1));
    assertEquals(Method.SLOW, o.workload.side);
    assertEquals(2.5, o.rate);
    for (String wrong : new String[] {"-callers", "-callers many", "-spin 1", "-seconds 0", "-addr here"}) {
      assertThrows(IllegalArgumentException.class, () -> Options.parse(("load " + wrong).split(" ")));
    }
  }

  @Test
  void jsonIsEscaped() {
    assertEquals("\"a\\\"b\\\\c\\u000ad\"", Json.quoted("a\"b\\c\nd"));
  }

  @Test
  void connectionsAreSharedByAHundredCallers() {
    assertEquals(1, Peer.shared(100, 0));
    assertEquals(10, Peer.shared(5000, 0));
    assertEquals(7, Peer.shared(7, -1));
    assertEquals(3, Peer.shared(3, 8));
    assertTrue(Peer.shared(101, 0) > 1);
  }
}
