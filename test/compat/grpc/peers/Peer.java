import static java.nio.charset.StandardCharsets.UTF_8;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ClientInterceptors;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.ServerCalls;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Calls the program of examples/grpc by grpc-java, or serves the methods that it calls. */
public final class Peer {
  private static final int PATIENCE = 60; // seconds

  /** Messages with one field, a text with the number 1. */
  private static final MethodDescriptor.Marshaller<String> TEXT = new MethodDescriptor.Marshaller<>() {
    @Override
    public InputStream stream(String text) {
      byte[] b = text.getBytes(UTF_8);
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      if (b.length > 0) {
        out.write(0x0a);
        int n = b.length;
        for (; n > 127; n >>>= 7) {
          out.write(n & 127 | 128);
        }
        out.write(n);
        out.writeBytes(b);
      }
      return new ByteArrayInputStream(out.toByteArray());
    }

    @Override
    public String parse(InputStream in) {
      try {
        byte[] b = in.readAllBytes();
        if (b.length == 0) {
          return "";
        }
        int at = 1;
        int size = b[at] & 127;
        for (int shift = 7; b[at] < 0; shift += 7) {
          size |= (b[++at] & 127) << shift;
        }
        return new String(b, at + 1, size, UTF_8);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  };

  private static MethodDescriptor<String, String> method(String name, MethodDescriptor.MethodType type) {
    return MethodDescriptor.newBuilder(TEXT, TEXT).setType(type).setFullMethodName("greeter.Greeter/" + name).build();
  }

  private static final MethodDescriptor<String, String> HELLO = method("Hello", MethodDescriptor.MethodType.UNARY);
  private static final MethodDescriptor<String, String> SPELL = method("Spell", MethodDescriptor.MethodType.SERVER_STREAMING);
  private static final MethodDescriptor<String, String> MISSING = method("Missing", MethodDescriptor.MethodType.UNARY);

  public static void main(String[] args) throws Exception {
    if (args[0].equals("client")) {
      client(Integer.parseInt(args[1]));
    } else {
      server();
    }
  }

  private static void check(boolean ok, String what) {
    if (!ok) {
      throw new AssertionError(what);
    }
  }

  private static CallOptions soon() {
    return CallOptions.DEFAULT.withDeadlineAfter(PATIENCE, TimeUnit.SECONDS);
  }

  private static String hello(Channel channel, String name) {
    return ClientCalls.blockingUnaryCall(channel, HELLO, soon(), name);
  }

  /** The status of a call that is to fail. */
  private static Status failed(Callable<?> call) throws Exception {
    try {
      call.call();
    } catch (StatusRuntimeException e) {
      return e.getStatus();
    }
    return Status.OK;
  }

  private static void client(int port) throws Exception {
    ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", port).usePlaintext().build();
    for (int n : new int[] {1, 100, 20_000, 1_000_000}) {
      String name = "x".repeat(n);
      check(hello(channel, name).equals("Hello, " + name + "!"), "a name of " + n + " letters");
    }
    List<String> letters = new ArrayList<>();
    ClientCalls.blockingServerStreamingCall(channel, SPELL, soon(), "Ada Lovelace").forEachRemaining(letters::add);
    check(String.join("|", letters).equals("A|d|a| |L|o|v|e|l|a|c|e"), "a stream: " + letters);

    Status empty = failed(() -> hello(channel, ""));
    check(empty.getCode() == Status.Code.INVALID_ARGUMENT && "the name is empty".equals(empty.getDescription()), "no name: " + empty);
    Status missing = failed(() -> ClientCalls.blockingUnaryCall(channel, MISSING, soon(), "x"));
    check(missing.getCode() == Status.Code.UNIMPLEMENTED, "a method that there is not: " + missing);
    Status late = failed(() -> ClientCalls.blockingUnaryCall(channel, HELLO, CallOptions.DEFAULT.withDeadlineAfter(1, TimeUnit.NANOSECONDS), "x"));
    check(late.getCode() == Status.Code.DEADLINE_EXCEEDED, "no time: " + late);

    Context.CancellableContext scope = Context.current().withCancellation();
    Iterator<String> many = scope.call(() -> ClientCalls.blockingServerStreamingCall(channel, SPELL, soon(), "x".repeat(500_000)));
    check(many.next().equals("x"), "the first letter of many");
    scope.cancel(null);
    Status canceled = failed(() -> {
      while (many.hasNext()) {
        many.next();
      }
      return null;
    });
    check(canceled.getCode() == Status.Code.CANCELLED, "a stream that was canceled: " + canceled);

    Metadata fields = new Metadata();
    fields.put(Metadata.Key.of("trace", Metadata.ASCII_STRING_MARSHALLER), "4711");
    fields.put(Metadata.Key.of("raw-bin", Metadata.BINARY_BYTE_MARSHALLER), new byte[] {0, (byte) 0xff});
    Channel with = ClientInterceptors.intercept(channel, MetadataUtils.newAttachHeadersInterceptor(fields));
    check(hello(with, "Ada").equals("Hello, Ada!"), "a call with metadata");

    ExecutorService callers = Executors.newFixedThreadPool(8);
    List<Future<Void>> all = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      String caller = "caller " + i + " ";
      all.add(callers.submit(() -> {
        for (int n = 0; n < 50; n++) {
          check(hello(channel, caller + n).equals("Hello, " + caller + n + "!"), caller + n);
        }
        return null;
      }));
    }
    for (Future<Void> one : all) {
      one.get();
    }
    callers.shutdown();
    channel.shutdown().awaitTermination(PATIENCE, TimeUnit.SECONDS);
  }

  private static void server() throws Exception {
    ServerServiceDefinition greeter = ServerServiceDefinition.builder("greeter.Greeter")
        .addMethod(HELLO, ServerCalls.asyncUnaryCall((name, reply) -> {
          if (name.isEmpty()) {
            reply.onError(Status.INVALID_ARGUMENT.withDescription("the name is empty").asRuntimeException());
            return;
          }
          reply.onNext("Hello, " + name + "!");
          reply.onCompleted();
        }))
        .addMethod(SPELL, ServerCalls.asyncServerStreamingCall((name, reply) -> {
          for (String letter : name.split("")) {
            reply.onNext(letter);
          }
          reply.onCompleted();
        }))
        .build();
    Server server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0)).addService(greeter).build().start();
    System.out.println(server.getPort());
    server.awaitTermination();
  }
}
