#!/bin/sh
# Builds the peers of the comparison that are not written in Go: bench/peers/java
# with Maven and bench/peers/cpp with make. Toolchains that are missing are
# installed with apt-get when this runs as root on Debian. What cannot be built is
# left out, with the reason; the exit code is 1 when something was left out.
#
#	scripts/bench-peers.sh         # both
#	scripts/bench-peers.sh cpp
set -u
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
left_out=0

# build LANGUAGE COMMAND... builds in the language's folder, and leaves nothing
# behind that could be taken for a program when that fails.
build() {
	language=$1
	shift
	printf 'Building the peers of %s\n' "$language" >&2
	if (cd "bench/peers/$language" && "$@") >"$log" 2>&1; then
		return
	fi
	tail -n 20 "$log" >&2
	leave_out "$language" "'$*' failed in bench/peers/$language"
}

leave_out() {
	printf 'WITHOUT THE PEERS OF %s: %s\n' "$1" "$2" >&2
	left_out=1
}

for language in ${*:-java cpp}; do
	case $language in
	java)
		if scripts/need.sh javac mvn thrift >&2; then
			build java mvn -q -B package
		else
			leave_out java 'needs a JDK (17 or newer) and Maven'
		fi
		;;
	cpp)
		if scripts/need.sh g++ make thrift libthrift-dev libboost-dev libevent-dev >&2; then
			build cpp make -s
		else
			leave_out cpp 'needs g++, make, the Thrift compiler, libthrift, Boost and libevent'
		fi
		;;
	*)
		printf 'unknown language %s; there are java and cpp\n' "$language" >&2
		exit 2
		;;
	esac
done
exit $left_out
