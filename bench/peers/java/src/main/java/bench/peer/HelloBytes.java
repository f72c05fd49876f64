package bench.peer;

/** The services for systems that carry bytes: protobuf by hand, as in the published comparison. */
public interface HelloBytes {
  byte[] say(byte[] message) throws Exception;

  byte[] slow(byte[] message) throws Exception;

  byte[] sleep(byte[] message) throws Exception;

  byte[] medium(byte[] message) throws Exception;

  byte[] large(byte[] message) throws Exception;

  int add(int a, int b);
}
