// The callers of a run.
#pragma once

#include "peers.h"

// Connects, warms up, waits for the order, measures and reports.
void load(const Peer& peer, const Options& options);
