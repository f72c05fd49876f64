#!/bin/sh
# Runs the tests of every module, each alone, with the race detector and in a random
# order. $JOBS modules run side by side (3), because much of their time is waiting. What
# measures the machine runs after them, by itself. The output of a module comes in one
# piece when it ends; at the end stands a line for each module, and what failed. The exit
# code is 1 when a module failed. go vet is left to 'make vet'.
#
#	scripts/test.sh           # all
#	scripts/test.sh beside    # without what measures
#	scripts/test.sh alone     # what measures
set -eu
cd "$(dirname "$0")/.."
export GOWORK=off
flags='-race -shuffle=on -vet=off -timeout=15m'

# crashed prints the packages in whose tests the race detector itself broke down,
# which says nothing about them: it does so now and then.
crashed() {
	awk '/^ThreadSanitizer: CHECK failed/ { broke = 1 }
	     /^--- FAIL|^WARNING: DATA RACE|^panic:/ { found = 1 }
	     /^(ok  |FAIL)\t/ { if ($1 == "FAIL" && broke && !found) print $2; broke = found = 0 }' "$1"
}

# packages prints which packages of a module to test. What measures are whole modules, and
# folders below test/chaos.
packages() {
	case $part:$1 in
	beside:test/chaos)
		all=$(cd "$1" && go list ./...) || return 1
		printf '%s\n' "$all" | grep -v /overload
		;;
	alone:test/chaos)  echo ./overload/... ;;
	*)                 echo ./... ;;
	esac
}

# name_of prints with what the names of the files of a module begin. The prefix keeps that of
# the root module from beginning with a dot.
name_of() { printf '%s/module-%s' "$work" "$(printf %s "$1" | tr / _)"; }

# test_module tests a module, prints the output, and leaves the closing line and the
# failures in $work.
test_module() {
	module=$1
	name=$(name_of "$module")
	log=$name.log began=$(date +%s) result=FAIL
	# shellcheck disable=SC2086 # one word for each package and flag
	if list=$(packages "$module" 2>"$log") && (cd "$module" && go test $flags $list) >"$log" 2>&1; then
		result=ok
	fi
	passed=$(grep -c '^ok  	' "$log" || true)
	failed=$(grep -c '^FAIL	' "$log" || true)
	if [ $result = FAIL ]; then
		again=$(crashed "$log")
		if [ -n "$again" ] && [ "$(echo "$again" | wc -l)" = "$failed" ]; then
			printf '== the race detector broke down; once more: %s\n' "$again" >>"$log"
			# shellcheck disable=SC2086
			if (cd "$module" && go test $flags $again) >"$log.again" 2>&1; then
				passed=$((passed + failed)) failed=0 result=ok
			fi
			cat "$log.again" >>"$log"
		fi
	fi
	took=$(($(date +%s) - began))
	{
		printf '== %s: go test %s\n' "$module" "$flags"
		grep -v '^?   	.*\[no test files\]$' "$log" || true
	} >"$name.out"
	"$here/print.sh" "$name.out"
	if [ $result = FAIL ]; then
		"$here/failures.sh" "race: $module: " "$log" >"$name.failed"
	fi
	printf '%-4s  %-29s %3d packages passed, %d failed, %d s\n' $result "$module" "$passed" "$failed" $took >"$name.line"
}

here=$PWD/scripts
if [ "${1-}" = -module ]; then # in one of the jobs below
	part=$2
	test_module "$3"
	exit
fi
part=${1:-all}
case $part in
all)
	code=0
	scripts/test.sh beside || code=1
	scripts/test.sh alone || code=1
	exit $code
	;;
beside)
	# The longest first, so that none of them is left over at the end.
	first='. test/chaos bench registry/nacos cmd/weft registry/consul'
	alone='examples/demo
test/adversary'
	modules=$({ printf '%s\n' $first; scripts/modules.sh; } | awk '!seen[$0]++' | grep -vxF "$alone")
	jobs=${JOBS:-3}
	# What most modules share is compiled once.
	go list -race -export ./... >/dev/null 2>&1 || true # its tests say what is wrong
	;;
alone)
	modules='examples/demo test/chaos test/adversary'
	jobs=1
	;;
*)
	printf 'There is no %s: want beside or alone\n' "$part" >&2
	exit 2
	;;
esac

work=$(mktemp -d)
export work
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
if [ -z "${WEFT_PRINTING-}" ]; then
	export WEFT_PRINTING="$work/printing"
	: >"$WEFT_PRINTING"
fi
# A job that a signal ends is no reason to begin no other.
printf '%s\n' $modules | xargs -P "$jobs" -n 1 sh -c '"$@" || true' - "$here/test.sh" -module "$part"

# A module without a line has not come to its end.
code=0
{
	printf '== the modules\n'
	for module in $modules; do
		name=$(name_of "$module")
		if [ -s "$name.line" ]; then
			cat "$name.line"
		else
			printf 'FAIL  %s has no result\n' "$module" >"$name.failed"
			cat "$name.failed"
		fi
		if [ -e "$name.failed" ]; then
			code=1
			cat "$name.failed" >>"${WEFT_FAILURES:-/dev/null}"
		fi
	done
	if [ $code -ne 0 ] && [ -z "${WEFT_FAILURES-}" ]; then
		printf '== what failed\n'
		cat "$work"/module-*.failed
	fi
} >"$work/closing"
scripts/print.sh "$work/closing"
exit $code
