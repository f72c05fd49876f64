// The peers of this program: Apache Thrift with three of its servers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "options.h"

namespace apache::thrift {
namespace protocol { class TProtocolFactory; }
namespace transport { class TTransport; }
}

struct Peer {
  std::string name, settings;
  std::vector<std::string> workloads;
  int maxCallers = 0;  // 0 for any number
  std::string maxCallersWhy;
  bool framed = false;  // what its server wants on the wire
};

const std::vector<Peer>& peers();

// The peer of that name, or std::runtime_error.
const Peer& findPeer(const std::string& name);

// Serves until standard input ends. Does not return.
[[noreturn]] void serve(const Peer& peer, const Options& options);

// The factory of a codec, "compact" or "binary", or std::runtime_error.
std::shared_ptr<apache::thrift::protocol::TProtocolFactory> protocolOf(const std::string& codec);
