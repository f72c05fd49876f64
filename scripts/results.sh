#!/bin/sh
# Measures all that the documents show of the call path, and writes
# bench/results/core.jsonl.gz anew: the plain calls, a connection per caller beside
# plain TCP, a connection for each call, and the calls that sleep, are slow or are
# large beside others. Flags are passed on to compare. With its own defaults it
# takes some twenty minutes, on a machine that should do nothing else.
#
#	scripts/results.sh
#	scripts/results.sh -rounds=1 -seconds=1
set -eu
cd "$(dirname "$0")/../bench"
export GOWORK=off

new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
go build -o "$new/compare" ./compare
measure() { "$new/compare" -plan=core -out="$new/core.jsonl" "$@" >/dev/null; }

measure "$@"
measure "$@" -peers=tcp,weft:each -codecs=raw -callers=100,1000
# The plain calls are those that the others are compared with.
measure "$@" -peers=grpc-go,weft -codecs=vtproto -workloads=echo,slow -callers=100,1000
measure "$@" -peers=grpc-go,floor,weft -codecs=vtproto -workloads=echo,delay -callers=1000,5000
measure "$@" -peers=grpc-go,weft -codecs=vtproto -workloads=echo,large -callers=1,100
measure "$@" -peers=tcp,weft -codecs=raw,vtproto -workloads=math-new -callers=1 -calls=10000

mkdir -p results
gzip -9n <"$new/core.jsonl" >results/core.jsonl.gz
