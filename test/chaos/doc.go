// Package chaos proves what weft promises about many servers, with real processes: an
// etcd, servers that register with it, and clients that call them while processes
// are stopped, killed, frozen and wiped. It has only tests:
//
//	go test ./test/chaos -v   # with the figures
//	make chaos                # the same, and the program in the folder overload
//
// Every call that is not idempotent has a number, which its server writes to a file
// before it runs. At the end the numbers are compared with what the clients were told:
// a call is lost when it was answered and not run, doubled when it ran twice, and a
// phantom when its client was told that it had not run and it had.
package chaos
