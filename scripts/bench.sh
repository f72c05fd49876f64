#!/bin/sh
# The comparison: builds the peers, measures them in turns, and writes
# bench/results/<date>.jsonl with one line for each run, beside it the report in
# <date>.html, and the plots in the folder <date>. Flags are those of bench/compare
# and are passed on; -h lists them. The exit code is 1 when a call failed.
#
#	scripts/bench.sh
#	scripts/bench.sh -plan=full
#	scripts/bench.sh -peers=weft,grpc-go -callers=100,1000 -rounds=3
set -eu
cd "$(dirname "$0")/.."
export GOWORK=off

# absolute makes the paths between commas absolute; names are looked up in $PATH.
absolute() {
	printf '%s\n' "$1" | tr , '\n' | while read -r program; do
		case $program in
		*/*) realpath -m "$program" ;;
		*)   printf '%s\n' "$program" ;;
		esac
	done | paste -s -d , -
}

programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
(cd bench && go build -o "$programs" ./compare ./codecs ./report)

names() { "$@" describe | sed 's/.*"peer": *"\([^"]*\)".*/ \1 /'; }

# Peers of other languages are built when all are wanted, or one that neither the
# peers of Go nor the programs of -with have. It goes on without those that cannot
# be built.
plan=quick peers= asked= known=$(names "$programs/compare" peer)
for flag; do
	shift
	case $flag in
	-plan=*)  plan=${flag#*=} ;;
	-peers=*) peers=${flag#*=} ;;
	-with=*)
		flag=-with=$(absolute "${flag#*=}")
		for program in $(printf %s "${flag#*=}" | tr , ' '); do
			known=$known$(names "$program")
		done
		;;
	-callers=* | -workloads=* | -codecs=* | -calls=*) asked=yes ;;
	esac
	set -- "$@" "$flag"
done
others=
for peer in $(printf %s "${peers:-every}" | tr , ' '); do
	case $known in
	*" ${peer%%:*} "*) ;;
	*) others=yes ;;
	esac
done
if [ -n "$others" ] && [ "$plan" != core ]; then
	scripts/bench-peers.sh || true
fi

date=$(date -u +%Y-%m-%d)
[ ! -e "bench/results/$date.jsonl" ] || date=$date-$(date -u +%H%M%S)
out=results/$date.jsonl
cd bench
code=0
"$programs/compare" -out="$out" "$@" || code=$?
# A comparison that was narrowed is not about codecs.
if [ -e "$out" ] && [ "$plan" != core ] && [ -z "$peers$asked" ]; then
	"$programs/codecs" -rounds=1 -out="$out" || code=$?
fi
if [ ! -e "$out" ]; then
	exit $code
fi
"$programs/report" -comparison="$out" -html="results/$date.html" -svg="results/$date" || code=1
printf 'The records are in bench/%s, the report in bench/results/%s.html, the plots in bench/results/%s\n' "$out" "$date" "$date"
exit $code
