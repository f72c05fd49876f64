#!/bin/sh
# Measures what the documents show beside the comparison, and writes it into bench/results anew.
# core is the call path: the plain calls, a connection per caller beside plain TCP, a connection
# for each call, and the calls that sleep, are slow or are large beside others; some twenty
# minutes. doors are stock clients with their own servers and with weft's; some fifteen minutes.
# Flags are passed on to compare. The machine should do nothing else.
#
#	scripts/results.sh
#	scripts/results.sh doors
#	scripts/results.sh core -rounds=1 -seconds=1
set -eu
what='core doors'
case ${1:-} in
core | doors)
	what=$1
	shift
	;;
esac
cd "$(dirname "$0")/../bench"
export GOWORK=off

new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
go build -o "$new/compare" ./compare
mkdir -p results
measure() { "$new/compare" -out="$new/$kind.jsonl" "$@" >/dev/null; }

for kind in $what; do
	measure -plan="$kind" "$@"
	if [ "$kind" = core ]; then
		measure "$@" -plan=core -peers=tcp,weft:each -codecs=raw -callers=100,1000
		# The plain calls are those that the others are compared with.
		measure "$@" -plan=core -peers=grpc-go,weft -codecs=vtproto -workloads=echo,slow -callers=100,1000
		measure "$@" -plan=core -peers=grpc-go,floor,weft -codecs=vtproto -workloads=echo,delay -callers=1000,5000
		measure "$@" -plan=core -peers=grpc-go,weft -codecs=vtproto -workloads=echo,large -callers=1,100
		measure "$@" -plan=core -peers=tcp,weft -codecs=raw,vtproto -workloads=math-new -callers=1 -calls=10000
	fi
	gzip -9n <"$new/$kind.jsonl" >"results/$kind.jsonl.gz"
done
