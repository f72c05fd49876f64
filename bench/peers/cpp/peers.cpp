#include "peers.h"

#include <stdexcept>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/transport/TBufferTransports.h>

using apache::thrift::protocol::TBinaryProtocolFactoryT;
using apache::thrift::protocol::TCompactProtocolFactoryT;
using apache::thrift::transport::TBufferBase;

const std::vector<Peer>& peers() {
  static const std::vector<Peer> all = {
      {"thrift-cpp-simple",
       "TSimpleServer, buffered transport",
       {"echo", "slow", "delay", "math", "math-new"},
       1,
       "TSimpleServer serves one connection at a time",
       false},
      {"thrift-cpp-pool",
       "TThreadPoolServer, buffered transport, a worker for each open connection, a thread for each caller",
       {"echo", "slow", "delay", "mixed", "large", "math", "math-new"},
       0,
       "",
       false},
      {"thrift-cpp-nonblocking",
       "TNonblockingServer, framed transport, one I/O thread that runs the handlers itself: handing each call to a "
       "thread manager costs half as much again; a handler that sleeps would stop it, so slow and delay are left out",
       {"echo", "mixed", "large", "math", "math-new"},
       0,
       "",
       true},
  };
  return all;
}

const Peer& findPeer(const std::string& name) {
  for (const Peer& peer : peers()) {
    if (peer.name == name) return peer;
  }
  throw std::runtime_error("unknown peer \"" + name + "\"");
}

std::shared_ptr<apache::thrift::protocol::TProtocolFactory> protocolOf(const std::string& codec) {
  // The templates spare a virtual call for each byte that is read or written.
  if (codec == "compact") return std::make_shared<TCompactProtocolFactoryT<TBufferBase>>();
  if (codec == "binary") return std::make_shared<TBinaryProtocolFactoryT<TBufferBase>>();
  throw std::runtime_error("unknown codec \"" + codec + "\"");
}
