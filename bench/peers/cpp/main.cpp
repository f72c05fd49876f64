// The program that CONTRACT.md of the bench module describes, for the C++ peers.
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <thrift/TOutput.h>
#include <thrift/config.h>

#include "lines.h"
#include "load.h"

namespace {

void describe() {
  for (const Peer& peer : peers()) {
    std::string line = "{\"peer\":" + quoted(peer.name) + ",\"language\":\"C++\",\"version\":" +
                       quoted(std::string("Thrift ") + PACKAGE_VERSION + ", g++ " + __VERSION__) +
                       ",\"settings\":" + quoted(peer.settings) + ",\"codecs\":[\"compact\",\"binary\"],\"workloads\":[";
    const char* comma = "";
    for (const auto& workload : peer.workloads) {
      line += comma + quoted(workload);
      comma = ",";
    }
    line += "]";
    if (peer.maxCallers > 0) {
      line += ",\"max_callers\":" + std::to_string(peer.maxCallers) + ",\"max_callers_why\":" + quoted(peer.maxCallersWhy);
    }
    say(line + "}");
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  // Drop the messages of Thrift: calls that fail are counted.
  apache::thrift::GlobalOutput.setOutputFunction([](const char*) {});
  const std::vector<std::string> args(argv + 1, argv + argc);
  try {
    if (args.empty()) throw std::runtime_error("want describe, serve or load");
    if (args[0] == "describe") {
      describe();
      return 0;
    }
    const Options options = Options::parse({args.begin() + 1, args.end()});
    const Peer& peer = findPeer(options.peer);
    if (args[0] == "serve") serve(peer, options);
    if (args[0] != "load") throw std::runtime_error("unknown command " + args[0]);
    load(peer, options);
  } catch (const std::exception& e) {
    say("{\"event\":\"failed\",\"error\":" + quoted(e.what()) + "}");
    std::_Exit(1);
  }
  std::cout.flush();
  std::_Exit(0);  // callers may still wait for a phase
}
