package bench.peer;

import bench.Address;
import bench.Peer;
import com.weibo.api.motan.common.MotanConstants;
import com.weibo.api.motan.config.ProtocolConfig;
import com.weibo.api.motan.config.RefererConfig;
import com.weibo.api.motan.config.RegistryConfig;
import com.weibo.api.motan.config.ServiceConfig;
import com.weibo.api.motan.util.MotanSwitcherUtil;
import java.util.List;

/** Motan, bytes with protobuf by hand. */
public final class MotanPeer implements Peer {
  private static final int LARGEST = 32 << 20;

  @Override
  public String name() {
    return "motan";
  }

  @Override
  public String version() {
    return "Motan 1.2.6";
  }

  @Override
  public String settings() {
    return "motan protocol over netty 4, hessian2 around protobuf bytes, direct URL, 200 to 800 workers with a queue, "
        + "a connection for every 100 callers up to ten";
  }

  @Override
  public List<String> codecs() {
    return List.of("google");
  }

  @Override
  public Address serve(String codec, Address at) throws Exception {
    Address addr = at.free();
    ProtocolConfig protocol = protocol();
    protocol.setMinWorkerThread(200);
    protocol.setMaxWorkerThread(800);
    protocol.setWorkerQueueSize(100_000); // 0 refuses calls when all workers are busy
    protocol.setMaxServerConnection(20_000);
    ServiceConfig<HelloBytes> service = new ServiceConfig<>();
    service.setInterface(HelloBytes.class);
    service.setRef(new BytesService());
    service.setGroup("bench");
    service.setVersion("1.0");
    service.setHost(addr.host());
    service.setRegistry(local());
    service.setProtocol(protocol);
    service.setExport("motan:" + addr.port());
    service.export();
    MotanSwitcherUtil.setSwitcherValue(MotanConstants.REGISTRY_HEARTBEAT_SWITCHER, true);
    return addr;
  }

  @Override
  public Client dial(String codec, Address to, int callers, int conns) {
    int n = Peer.shared(callers, conns);
    ProtocolConfig protocol = protocol();
    protocol.setMinClientConnection(n);
    protocol.setMaxClientConnection(n);
    RefererConfig<HelloBytes> referer = new RefererConfig<>();
    referer.setInterface(HelloBytes.class);
    referer.setGroup("bench");
    referer.setVersion("1.0");
    referer.setRequestTimeout(60_000);
    referer.setRetries(0);
    referer.setRegistry(local());
    referer.setProtocol(protocol);
    referer.setDirectUrl(to.toString());
    HelloBytes remote = referer.getRef();
    return new Client() {
      @Override
      public Caller caller(int i) {
        return BytesService.caller(remote);
      }

      @Override
      public int conns() {
        return n;
      }

      @Override
      public void close() {
        referer.destroy();
      }
    };
  }

  private static ProtocolConfig protocol() {
    ProtocolConfig protocol = new ProtocolConfig();
    protocol.setId("motan");
    protocol.setName("motan");
    protocol.setMaxContentLength(LARGEST);
    return protocol;
  }

  private static RegistryConfig local() {
    RegistryConfig registry = new RegistryConfig();
    registry.setRegProtocol("local");
    registry.setCheck("false");
    return registry;
  }
}
