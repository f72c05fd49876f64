package bench.peer;

import bench.Address;
import bench.Message;
import bench.Method;
import bench.Peer;
import io.grpc.CallOptions;
import io.grpc.ConnectivityState;
import io.grpc.ManagedChannel;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.ServerCalls;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import main.Benchmark.BenchmarkMessage;
import main.Math.AddReply;
import main.Math.AddRequest;

/** grpc-java. The descriptors are written by hand because the published schema has only Say. */
public final class GrpcPeer implements Peer {
  private static final int WINDOW = 1 << 20;
  private static final int LARGEST = 32 << 20;
  private static final int WORKERS = 200; // for handlers that sleep

  @Override
  public String name() {
    return "grpc-java";
  }

  @Override
  public String version() {
    return "grpc-java 1.85.1";
  }

  @Override
  public String settings() {
    return "netty, windows of 1 MiB, blocking calls with the direct executor, a channel for every 100 callers up to ten, "
        + "a pool of 200 workers on the server";
  }

  @Override
  public List<String> codecs() {
    return List.of("google");
  }

  private static final Map<Method, MethodDescriptor<BenchmarkMessage, BenchmarkMessage>> HELLO = hello();

  private static Map<Method, MethodDescriptor<BenchmarkMessage, BenchmarkMessage>> hello() {
    Map<Method, MethodDescriptor<BenchmarkMessage, BenchmarkMessage>> all = new EnumMap<>(Method.class);
    for (Method m : Method.values()) {
      if (m != Method.ADD) {
        String name = m.name().charAt(0) + m.name().substring(1).toLowerCase();
        all.put(m, MethodDescriptor.<BenchmarkMessage, BenchmarkMessage>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("main.Hello/" + name)
            .setRequestMarshaller(ProtoUtils.marshaller(BenchmarkMessage.getDefaultInstance()))
            .setResponseMarshaller(ProtoUtils.marshaller(BenchmarkMessage.getDefaultInstance()))
            .build());
      }
    }
    return all;
  }

  private static final MethodDescriptor<AddRequest, AddReply> ADD = MethodDescriptor.<AddRequest, AddReply>newBuilder()
      .setType(MethodDescriptor.MethodType.UNARY)
      .setFullMethodName("main.MathService/Add")
      .setRequestMarshaller(ProtoUtils.marshaller(AddRequest.getDefaultInstance()))
      .setResponseMarshaller(ProtoUtils.marshaller(AddReply.getDefaultInstance()))
      .build();

  @Override
  public Address serve(String codec, Address at) throws Exception {
    ServerServiceDefinition.Builder hello = ServerServiceDefinition.builder("main.Hello");
    HELLO.forEach((method, descriptor) -> hello.addMethod(descriptor, ServerCalls.asyncUnaryCall((request, observer) -> {
      observer.onNext(Message.answer(method, request));
      observer.onCompleted();
    })));
    ServerServiceDefinition math = ServerServiceDefinition.builder("main.MathService")
        .addMethod(ADD, ServerCalls.asyncUnaryCall((request, observer) -> {
          observer.onNext(AddReply.newBuilder().setX(request.getA() + request.getB()).build());
          observer.onCompleted();
        }))
        .build();
    ExecutorService workers = Executors.newFixedThreadPool(WORKERS);
    Server server = NettyServerBuilder.forAddress(new InetSocketAddress(at.host(), at.port()))
        .executor(workers)
        .flowControlWindow(WINDOW)
        .maxInboundMessageSize(LARGEST)
        .addService(hello.build())
        .addService(math)
        .build()
        .start();
    return new Address(at.host(), server.getPort());
  }

  @Override
  public Client dial(String codec, Address to, int callers, int conns) throws InterruptedException {
    List<ManagedChannel> channels = new ArrayList<>();
    for (int i = 0; i < Peer.shared(callers, conns); i++) {
      channels.add(NettyChannelBuilder.forAddress(to.host(), to.port())
          .usePlaintext()
          .directExecutor()
          .flowControlWindow(WINDOW)
          .maxInboundMessageSize(LARGEST)
          .build());
    }
    for (ManagedChannel channel : channels) {
      connect(channel);
    }
    return new Client() {
      @Override
      public Caller caller(int i) {
        return GrpcPeer.caller(channels.get(i % channels.size()));
      }

      @Override
      public int conns() {
        return channels.size();
      }

      @Override
      public void close() throws InterruptedException {
        for (ManagedChannel channel : channels) {
          channel.shutdownNow().awaitTermination(10, TimeUnit.SECONDS);
        }
      }
    };
  }

  /** Waits until the channel is ready; it would connect when it is first used. */
  private static void connect(ManagedChannel channel) throws InterruptedException {
    for (;;) {
      ConnectivityState state = channel.getState(true);
      if (state == ConnectivityState.READY) {
        return;
      }
      CountDownLatch changed = new CountDownLatch(1);
      channel.notifyWhenStateChanged(state, changed::countDown);
      if (!changed.await(60, TimeUnit.SECONDS)) {
        throw new IllegalStateException("the channel is still " + state);
      }
    }
  }

  private static Caller caller(ManagedChannel channel) {
    BenchmarkMessage request = Message.published();
    Numbers numbers = new Numbers();
    return method -> {
      if (method == Method.ADD) {
        add(channel, numbers);
        return;
      }
      BenchmarkMessage reply = ClientCalls.blockingUnaryCall(channel, HELLO.get(method), CallOptions.DEFAULT, request);
      Message.check(method, reply.getField1(), reply.getField2());
    };
  }

  private static void add(ManagedChannel channel, Numbers numbers) {
    numbers.next();
    AddRequest request = AddRequest.newBuilder().setA(numbers.a).setB(numbers.b).build();
    AddReply reply = ClientCalls.blockingUnaryCall(channel, ADD, CallOptions.DEFAULT, request);
    Message.checkSum(numbers.a, numbers.b, reply.getX());
  }
}
