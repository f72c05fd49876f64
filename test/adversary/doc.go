// Package adversary attacks servers and clients of weft with programs that are made for it, and checks
// what must hold meanwhile and afterwards. It has only tests, and a program of its own in the folder soak:
//
//	go test ./test/adversary                                 # some seconds
//	go test -run TestServer -duration=10s -v ./test/adversary # longer, with the figures
//	make adversary DURATION=10s                              # the same, and writes them into docs/RELIABILITY.md
//
// A server, and what attacks it, are processes of their own on the loopback. The test itself is the
// neighbour: callers whose goodput beside an attack is compared with their goodput beside
// an honest busy client, both in the same run. After each attack the server must have
// given back its connections and goroutines, and answer.
package adversary
