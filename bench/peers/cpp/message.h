// The published message, what a server answers, and what a caller checks.
#pragma once

#include <string>

#include "generated/benchmark_types.h"

enum class Method { say, slow, sleep, medium, large, add };

// The published message with every field set.
wire::BenchmarkMessage publishedMessage();

// What a server does with a decoded request, after the time the method takes.
void answer(Method method, wire::BenchmarkMessage& message);

// Throws std::runtime_error when reply is not the answer to the message.
void check(Method method, const wire::BenchmarkMessage& reply);
void checkSum(int32_t a, int32_t b, int32_t x);
