// The flags of serve and load.
#pragma once

#include <string>
#include <vector>

#include "message.h"

struct Address {
  std::string host;
  int port = 0;
};

struct Options {
  std::string peer, codec, workload = "echo";
  std::vector<Address> addresses{{"127.0.0.1", 0}};
  int callers = 1;
  double warmup = 1, seconds = 3, rate = 0;
  int64_t calls = 0;

  // Reads "-name value" pairs. Throws std::runtime_error.
  static Options parse(const std::vector<std::string>& args);

  Method mainMethod() const;
  Method sideMethod() const;

  // One call in so many is a side call, or 0; how many callers make side calls
  // only; whether every call has a connection of its own.
  int sideEvery() const;
  int sideCallers() const;
  bool connectionPerCall() const;
};
