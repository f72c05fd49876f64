#!/bin/sh
# Measures all that the documents show and writes bench/results/core.jsonl anew:
# the plain calls, a connection per caller beside plain TCP, and the calls that
# sleep, are slow or are large beside others. Flags are passed on to core. With
# its own defaults it takes some twenty minutes, on a machine that should do
# nothing else.
#
#	scripts/results.sh
#	scripts/results.sh -rounds 1 -seconds 1
set -eu
cd "$(dirname "$0")/../bench"
export GOWORK=off

new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
go build -o "$new/core" ./core
measure() { "$new/core" -out "$new/core.jsonl" "$@" >/dev/null; }

measure "$@"
measure "$@" -peers tcp,weft:each -codecs raw -callers 100,1000
measure "$@" -peers grpc,weft -codecs vtproto -workload slow
measure "$@" -peers grpc,weft -codecs vtproto -workload sleep
measure "$@" -peers grpc,weft -codecs vtproto -workload large

mkdir -p results
mv "$new/core.jsonl" results/core.jsonl
