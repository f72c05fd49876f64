package bench.peer;

import bench.Address;
import bench.Peer;
import java.util.List;
import org.apache.dubbo.common.Version;
import org.apache.dubbo.config.ReferenceConfig;

/** Dubbo with its classic protocol, bytes with protobuf by hand. */
public final class DubboPeer implements Peer {
  @Override
  public String name() {
    return "dubbo";
  }

  @Override
  public String version() {
    return "Dubbo " + Version.getVersion();
  }

  @Override
  public String settings() {
    return "dubbo protocol, hessian2 around protobuf bytes, direct URL, server pool of 200 threads with a queue, "
        + "a connection for every 100 callers up to ten";
  }

  @Override
  public List<String> codecs() {
    return List.of("google");
  }

  @Override
  public Address serve(String codec, Address at) throws Exception {
    Address addr = at.free();
    Dubbo.export("dubbo", addr, HelloBytes.class, new BytesService());
    return addr;
  }

  @Override
  public Client dial(String codec, Address to, int callers, int conns) {
    int n = Peer.shared(callers, conns);
    ReferenceConfig<HelloBytes> reference = Dubbo.refer("dubbo", to, HelloBytes.class, n);
    HelloBytes remote = reference.get();
    return Dubbo.client(reference, n, i -> BytesService.caller(remote));
  }
}
