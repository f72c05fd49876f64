// Apache Thrift's library for C++ as a client and as a server of shop.thrift:
//
//	peer client PORT FRAMING PROTOCOL MULTIPLEXED
//	peer server KIND FRAMING PROTOCOL MULTIPLEXED
//
// The server prints its port, and serves until it is killed.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include <thrift/TApplicationException.h>
#include <thrift/concurrency/ThreadManager.h>
#include <thrift/processor/TMultiplexedProcessor.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/protocol/THeaderProtocol.h>
#include <thrift/protocol/TJSONProtocol.h>
#include <thrift/protocol/TMultiplexedProtocol.h>
#include <thrift/server/TNonblockingServer.h>
#include <thrift/server/TThreadedServer.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/TNonblockingServerSocket.h>
#include <thrift/transport/TServerSocket.h>
#include <thrift/transport/TSocket.h>

#include "Shop.h"

using namespace apache::thrift;
using namespace apache::thrift::protocol;
using namespace apache::thrift::server;
using namespace apache::thrift::transport;
using std::make_shared;
using std::shared_ptr;
using std::string;

static void check(bool ok, const string& what) {
  if (!ok) {
    std::cerr << "failed: " << what << std::endl;
    std::exit(1);
  }
}

static Order order() {
  Order o;
  o.id = INT64_MIN;
  o.name = "caf\xc3\xa9";
  o.price = -0.25;
  o.paid = true;
  o.picture = string("\0\xff\x80", 3);
  for (int i = 0; i < 20; i++) {
    Line l;
    l.article = "a";
    l.number = static_cast<int16_t>(-i);
    o.lines.push_back(l);
  }
  o.tags = {"x", "y"};
  o.notes = {{"k", "v"}, {"", ""}};
  o.parent = make_shared<Order>();
  o.__isset.parent = true;
  o.parent->id = 1;
  o.parent->payment.__set_card("card");
  o.__set_gift(false);
  o.state = OrderState::SENT;
  o.payment.__set_cents(-5);
  o.marks = {{1, {2, 3}}, {-1, {}}};
  return o;
}

static void client(int port, const string& framing, const string& protocol, bool multiplexed) {
  shared_ptr<TTransport> transport = make_shared<TSocket>("127.0.0.1", port);
  shared_ptr<TProtocol> p;
  if (framing == "theader") {
    auto h = make_shared<THeaderProtocol>(make_shared<TBufferedTransport>(transport), protocol == "compact" ? T_COMPACT_PROTOCOL : T_BINARY_PROTOCOL);
    p = h;
  } else {
    if (framing == "framed")
      transport = make_shared<TFramedTransport>(transport);
    else
      transport = make_shared<TBufferedTransport>(transport);
    if (protocol == "compact")
      p = make_shared<TCompactProtocol>(transport);
    else if (protocol == "json")
      p = make_shared<TJSONProtocol>(transport);
    else
      p = make_shared<TBinaryProtocol>(transport, 0, 0, protocol != "old", protocol != "old");
  }
  p->getTransport()->open();
  shared_ptr<TProtocol> out = p;
  if (multiplexed)
    out = make_shared<TMultiplexedProtocol>(p, "Shop");
  ShopClient c(p, out);
  for (int i = 0; i < 20; i++)
    check(c.add(i, -7) == i - 7, "add");
  Order back;
  Order want = order();
  c.echo(back, want);
  // The library writes a reference that is null as an empty struct.
  check(back.parent && back.parent->parent && back.parent->id == 1 && back.parent->payment == want.parent->payment, "echo of the parent");
  back.parent = want.parent;
  check(back == want, "echo");
  c.find(back, 7);
  check(back.name == "seven", "find");
  try {
    c.find(back, 8);
    check(false, "find what is missing");
  } catch (const NotFound& e) {
    check(e.id == 8, "the exception");
  }
  try {
    c.find(back, -1);
    check(false, "find what cannot be");
  } catch (const TApplicationException& e) {
    check(string(e.what()) == "InvalidArgument: the number -1 is negative", e.what());
  }
  std::set<OrderState::type> states;
  c.states(states);
  check(states == std::set<OrderState::type>{OrderState::OPEN, OrderState::SENT}, "states");
  c.log("from C++");
  c.ping();
  p->getTransport()->close();
}

class Handler : public ShopIf {
 public:
  int32_t add(const int32_t a, const int32_t b) override { return a + b; }
  void echo(Order& back, const Order& o) override { back = o; }
  void find(Order& back, const int64_t id) override {
    if (id != 7) {
      NotFound e;
      e.id = id;
      throw e;
    }
    back.id = 7;
    back.name = "seven";
    back.payment.__set_cents(1);
  }
  void states(std::set<OrderState::type>& all) override { all = {OrderState::OPEN}; }
  void log(const string&) override {}
  void ping() override {}
};

// Announce prints the port when the server listens.
class Announce : public TServerEventHandler {
 public:
  explicit Announce(std::function<int()> port) : port_(port) {}
  void preServe() override { std::cout << port_() << std::endl; }

 private:
  std::function<int()> port_;
};

static void serve(const string& kind, const string& framing, const string& protocol, bool multiplexed) {
  shared_ptr<TProcessor> processor = make_shared<ShopProcessor>(make_shared<Handler>());
  if (multiplexed) {
    auto many = make_shared<TMultiplexedProcessor>();
    many->registerProcessor("Shop", processor);
    processor = many;
  }
  shared_ptr<TTransportFactory> transports = make_shared<TBufferedTransportFactory>();
  if (framing == "framed")
    transports = make_shared<TFramedTransportFactory>();
  shared_ptr<TProtocolFactory> protocols = make_shared<TBinaryProtocolFactory>();
  if (framing == "theader")
    protocols = make_shared<THeaderProtocolFactory>();
  else if (protocol == "compact")
    protocols = make_shared<TCompactProtocolFactory>();
  else if (protocol == "json")
    protocols = make_shared<TJSONProtocolFactory>();
  if (kind == "nonblocking") {
    auto socket = make_shared<TNonblockingServerSocket>("127.0.0.1", 0);
    TNonblockingServer server(processor, protocols, socket);
    server.setServerEventHandler(make_shared<Announce>([socket] { return socket->getListenPort(); }));
    server.serve();
    return;
  }
  auto socket = make_shared<TServerSocket>("127.0.0.1", 0);
  TThreadedServer server(processor, socket, transports, protocols);
  server.setServerEventHandler(make_shared<Announce>([socket] { return socket->getPort(); }));
  server.serve();
}

int main(int argc, char** argv) {
  check(argc == 6, "expected five arguments");
  try {
    if (string(argv[1]) == "client")
      client(std::stoi(argv[2]), argv[3], argv[4], string(argv[5]) == "multiplexed");
    else
      serve(argv[2], argv[3], argv[4], string(argv[5]) == "multiplexed");
  } catch (const TException& e) {
    check(false, e.what());
  }
}
