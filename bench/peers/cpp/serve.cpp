#include <atomic>
#include <cstdlib>
#include <iostream>
#include <thread>

#include <thrift/concurrency/ThreadFactory.h>
#include <thrift/concurrency/ThreadManager.h>
#include <thrift/processor/TMultiplexedProcessor.h>
#include <thrift/server/TNonblockingServer.h>
#include <thrift/server/TSimpleServer.h>
#include <thrift/server/TThreadPoolServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TNonblockingServerSocket.h>
#include <thrift/transport/TServerSocket.h>

#include "generated/Greeter.h"
#include "generated/MathService.h"
#include "lines.h"
#include "peers.h"

using namespace apache::thrift;
using concurrency::ThreadManager;
using transport::TBufferedTransportFactory;
using transport::TNonblockingServerSocket;
using transport::TServerSocket;
using transport::TSocket;

namespace {

class Hello : public wire::GreeterIf {
 public:
  void say(wire::BenchmarkMessage& reply, const wire::BenchmarkMessage& m) override { reply_(Method::say, reply, m); }
  void slow(wire::BenchmarkMessage& reply, const wire::BenchmarkMessage& m) override { reply_(Method::slow, reply, m); }
  void sleep(wire::BenchmarkMessage& reply, const wire::BenchmarkMessage& m) override { reply_(Method::sleep, reply, m); }
  void medium(wire::BenchmarkMessage& reply, const wire::BenchmarkMessage& m) override { reply_(Method::medium, reply, m); }
  void large(wire::BenchmarkMessage& reply, const wire::BenchmarkMessage& m) override { reply_(Method::large, reply, m); }

 private:
  // The request is this call's own, so its strings may be taken.
  static void reply_(Method method, wire::BenchmarkMessage& reply, const wire::BenchmarkMessage& m) {
    reply = std::move(const_cast<wire::BenchmarkMessage&>(m));
    answer(method, reply);
  }
};

class Math : public wire::MathServiceIf {
 public:
  int32_t Add(const int32_t a, const int32_t b) override { return a + b; }
};

// Greeter's methods, and MathService's beside them: one port serves both, as the
// clients, which do not multiplex, expect.
class Both : public wire::GreeterProcessor {
 public:
  Both() : wire::GreeterProcessor(std::make_shared<Hello>()), math_(std::make_shared<Math>()) {}

 protected:
  bool dispatchCall(protocol::TProtocol* in, protocol::TProtocol* out, const std::string& name, int32_t seqid,
                    void* context) override {
    if (name == "Add") return math_.dispatch(in, out, name, seqid, context);
    return wire::GreeterProcessor::dispatchCall(in, out, name, seqid, context);
  }

 private:
  class Adder : public wire::MathServiceProcessor {
   public:
    using wire::MathServiceProcessor::MathServiceProcessor;
    bool dispatch(protocol::TProtocol* in, protocol::TProtocol* out, const std::string& name, int32_t seqid, void* context) {
      return dispatchCall(in, out, name, seqid, context);
    }
  };
  Adder math_;
};

constexpr int kBacklog = 4096;

// Connections counts those that are open.
struct Connections {
  std::atomic<size_t> accepted{0}, closed{0};
  size_t open() const { return accepted - closed; }
};

// A server socket that adds a worker for a connection when there are fewer than
// connections, so that the pool has one for each, and grows no further.
class GrowingSocket : public TServerSocket {
 public:
  GrowingSocket(const std::string& host, int port, std::shared_ptr<ThreadManager> workers, std::shared_ptr<Connections> conns)
      : TServerSocket(host, port), workers_(std::move(workers)), conns_(std::move(conns)) {}

 protected:
  std::shared_ptr<TSocket> createSocket(THRIFT_SOCKET client) override {
    conns_->accepted++;
    if (workers_ && conns_->open() > workers_->workerCount()) workers_->addWorker();
    return TServerSocket::createSocket(client);
  }

 private:
  std::shared_ptr<ThreadManager> workers_;
  std::shared_ptr<Connections> conns_;
};

// Tells the parent the port once the server accepts, and counts the connections
// that end.
class Events : public server::TServerEventHandler {
 public:
  Events(std::string host, std::function<int()> port, std::shared_ptr<Connections> conns)
      : host_(std::move(host)), port_(std::move(port)), conns_(std::move(conns)) {}

  void preServe() override {
    ::say("{\"event\":\"ready\",\"addr\":" + quoted(host_ + ":" + std::to_string(port_())) + "}");
  }

  void deleteContext(void*, std::shared_ptr<protocol::TProtocol>, std::shared_ptr<protocol::TProtocol>) override {
    conns_->closed++;
  }

 private:
  std::string host_;
  std::function<int()> port_;
  std::shared_ptr<Connections> conns_;
};

std::unique_ptr<server::TServer> makeServer(const Peer& peer, const Options& options) {
  const Address& at = options.addresses.front();
  const auto processor = std::make_shared<Both>();
  const auto protocols = protocolOf(options.codec);
  const auto buffered = std::make_shared<TBufferedTransportFactory>();
  const auto conns = std::make_shared<Connections>();
  std::function<int()> port;
  std::unique_ptr<server::TServer> made;
  if (peer.name == "thrift-cpp-nonblocking") {
    const auto socket = std::make_shared<TNonblockingServerSocket>(at.host, at.port);
    socket->setAcceptBacklog(kBacklog);
    port = [socket] { return socket->getListenPort(); };
    made = std::make_unique<server::TNonblockingServer>(processor, protocols, socket);
  } else {
    std::shared_ptr<ThreadManager> workers;
    if (peer.name == "thrift-cpp-pool") {
      workers = ThreadManager::newSimpleThreadManager(1);
      workers->threadFactory(std::make_shared<concurrency::ThreadFactory>());
      workers->start();
    }
    const auto socket = std::make_shared<GrowingSocket>(at.host, at.port, workers, conns);
    socket->setAcceptBacklog(kBacklog);
    port = [socket] { return socket->getPort(); };
    if (workers) {
      made = std::make_unique<server::TThreadPoolServer>(processor, socket, buffered, protocols, workers);
    } else {
      made = std::make_unique<server::TSimpleServer>(processor, socket, buffered, protocols);
    }
  }
  made->setServerEventHandler(std::make_shared<Events>(at.host, port, conns));
  return made;
}

}  // namespace

void serve(const Peer& peer, const Options& options) {
  // The process has nothing to clean up: it ends when its input does.
  std::thread([] {
    for (std::string line; std::getline(std::cin, line);) {
    }
    std::_Exit(0);
  }).detach();
  makeServer(peer, options)->serve();
  throw std::runtime_error(peer.name + " stopped serving");
}
