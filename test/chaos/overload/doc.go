// The command overload shows what servers do under more calls than they can answer: a server
// process, and another one that calls it, first in a closed loop, which finds its capacity,
// and then in an open loop: calls are made when they are due, whatever became of those before,
// and their latency is counted from then.
//
//	go run ./overload                            # every scenario, 3 s for each load
//	go run ./overload -seconds 30 -only compute  # one of them, longer
//	go run ./overload -wire grpc,off             # grpc-go, and weft without protection
//	go run ./overload -only compute -pin         # each process on a processor of its own
//
// Each process has one processor of Go's (GOMAXPROCS=1), so that two are enough for both. The
// goodput is given for each second, and for each second of processor time that the server has
// used: on a machine that is busy with other things the latter is what can be compared. A generator
// that has too little of the machine begins its calls late, which the tables and the verdicts tell.
//
// Of handlers that compute it tells besides where the slowest 1 % were: how long they waited in the server from when they were read, how
// long the handler ran, and how long they were elsewhere, in the generator and in the network.
//
// At the end it prints what is asked for beside what was measured, and whether that was met.
//
// Its test runs a short form, and holds the ratios within one run to what the protection
// promises.
package main
