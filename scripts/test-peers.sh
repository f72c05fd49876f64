#!/bin/sh
# The smoke of the peers that are not written in Go: builds them and makes a few
# hundred calls with each codec, in every workload that it has, through the processes
# of a real comparison. Every reply is checked. The exit code is 1 when a call failed
# or a peer could not be built.
#
#	scripts/test-peers.sh          # both
#	scripts/test-peers.sh cpp
set -eu
cd "$(dirname "$0")/.."
export GOWORK=off

languages=${*:-java cpp}
# The list is split into words on purpose.
# shellcheck disable=SC2086
scripts/bench-peers.sh $languages
case " $languages " in *" cpp "*) make -s -C bench/peers/cpp check ;; esac

programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd bench
go build -o "$programs" ./compare
names=
for language in $languages; do
	described=$("peers/$language/peer" describe)
	names=$names$(printf '%s\n' "$described" | sed 's/.*"peer": *"\([^"]*\)".*/\1,/' | tr -d '\n')
done
# A JVM is not warm after so short a time, which does not matter here. One caller
# is for those that can serve no more.
smoke() {
	"$programs/compare" -plan=full -peers="$names" -calls=300 -rounds=1 -warmup=50ms "$@" >/dev/null
}
smoke -callers=1 -workloads=echo,math
smoke -callers=4 -workloads=echo,slow,delay,mixed,large,math,math-new
