// The lines of JSON that a parent reads.
#pragma once

#include <string>

// text as a JSON string, quotes included.
std::string quoted(const std::string& text);

// Prints one line and flushes it.
void say(const std::string& line);
