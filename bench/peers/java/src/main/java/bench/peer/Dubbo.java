package bench.peer;

import bench.Address;
import bench.Peer;
import java.util.function.IntFunction;
import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.ProtocolConfig;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.config.RegistryConfig;
import org.apache.dubbo.config.ServiceConfig;

/** What both of Dubbo's protocols have in common. */
final class Dubbo {
  private static final int PAYLOAD = 32 << 20;
  private static final int TIMEOUT = 60_000; // ms

  private Dubbo() {}

  private static ApplicationConfig application() {
    ApplicationConfig app = new ApplicationConfig("bench");
    app.setQosEnable(false);
    app.setMetadataType("local");
    return app;
  }

  static <T> void export(String protocol, Address at, Class<T> type, T service) {
    ProtocolConfig config = new ProtocolConfig(protocol, at.port());
    config.setHost(at.host());
    config.setThreadpool("fixed");
    config.setThreads(200);
    config.setQueues(100_000); // 0 refuses calls when all threads are busy
    config.setPayload(PAYLOAD);
    config.setAccepts(20_000);
    if (protocol.equals("dubbo")) {
      config.setSerialization("hessian2");
    }
    ServiceConfig<T> exported = new ServiceConfig<>();
    exported.setApplication(application());
    exported.setRegistry(new RegistryConfig("N/A"));
    exported.setProtocol(config);
    exported.setInterface(type);
    exported.setRef(service);
    exported.export();
  }

  static <T> ReferenceConfig<T> refer(String protocol, Address to, Class<T> type, int conns) {
    ReferenceConfig<T> reference = new ReferenceConfig<>();
    reference.setApplication(application());
    reference.setRegistry(new RegistryConfig("N/A"));
    reference.setInterface(type);
    reference.setUrl(protocol + "://" + to + "/" + type.getName() + "?payload=" + PAYLOAD);
    reference.setTimeout(TIMEOUT);
    reference.setRetries(0);
    reference.setConnections(conns);
    return reference;
  }

  static Peer.Client client(ReferenceConfig<?> reference, int conns, IntFunction<Peer.Caller> callers) {
    return new Peer.Client() {
      @Override
      public Peer.Caller caller(int i) {
        return callers.apply(i);
      }

      @Override
      public int conns() {
        return conns;
      }

      @Override
      public void close() {
        reference.destroy();
      }
    };
  }
}
