#include "options.h"

#include <sstream>
#include <stdexcept>

namespace {
std::vector<Address> parseAddresses(const std::string& text) {
  std::vector<Address> all;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const auto colon = word.rfind(':');
    if (colon == std::string::npos) throw std::runtime_error("-addr: \"" + word + "\" is not host:port");
    all.push_back({word.substr(0, colon), std::stoi(word.substr(colon + 1))});
  }
  if (all.empty()) throw std::runtime_error("-addr must not be empty");
  return all;
}
}  // namespace

Options Options::parse(const std::vector<std::string>& args) {
  Options o;
  for (size_t i = 0; i < args.size(); i += 2) {
    const std::string& name = args[i];
    if (i + 1 == args.size()) throw std::runtime_error(name + " has no value");
    const std::string& value = args[i + 1];
    try {
      if (name == "-peer") o.peer = value;
      else if (name == "-codec") o.codec = value;
      else if (name == "-workload") o.workload = value;
      else if (name == "-addr") o.addresses = parseAddresses(value);
      else if (name == "-callers") o.callers = std::stoi(value);
      else if (name == "-conns") std::stoi(value);  // always one for each caller
      else if (name == "-warmup") o.warmup = std::stod(value);
      else if (name == "-seconds") o.seconds = std::stod(value);
      else if (name == "-calls") o.calls = std::stoll(value);
      else if (name == "-rate") o.rate = std::stod(value);
      else throw std::runtime_error("unknown flag " + name);
    } catch (const std::logic_error&) {  // of stoi and its like
      throw std::runtime_error(name + ": \"" + value + "\" is not a number");
    }
  }
  if (o.callers < 1 || o.warmup < 0 || o.seconds <= 0 || o.calls < 0 || o.rate < 0) {
    throw std::runtime_error("-callers and -seconds must be positive, -warmup, -calls and -rate not negative");
  }
  return o;
}

Method Options::mainMethod() const {
  if (workload == "delay") return Method::sleep;
  if (workload == "math" || workload == "math-new") return Method::add;
  return Method::say;
}

Method Options::sideMethod() const {
  if (workload == "slow") return Method::slow;
  if (workload == "mixed") return Method::medium;
  if (workload == "large") return Method::large;
  return mainMethod();
}

int Options::sideEvery() const { return workload == "slow" ? 100 : 0; }
int Options::sideCallers() const { return workload == "mixed" || workload == "large" ? 1 : 0; }
bool Options::connectionPerCall() const { return workload == "math-new"; }
