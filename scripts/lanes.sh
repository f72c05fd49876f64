#!/usr/bin/env bash
# Runs targets of the Makefile in lanes: the lanes side by side, the targets of a lane one
# after the other. Each argument is a lane; what follows -- begins when all before it has
# ended. The first lane is that of the tests, which wait much; the others run at a lower
# priority, and get the processor time that it leaves. The output of a target comes in one
# piece when the target ends; that of a target whose name begins with race, for each module.
# At the end stands how long each target took, and what failed. The exit code is 1 when a
# target failed, or has no result. A signal ends all lanes.
#
#	scripts/lanes.sh 'race-beside test-386' 'vet lint' -- race-alone
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
make=${MAKE:-make}

work=$(mktemp -d) || exit 1
# What prints a piece holds WEFT_PRINTING while it does, and WEFT_FAILURES collects a line
# for everything that failed; see scripts/print.sh.
export WEFT_PRINTING=$work/printing WEFT_FAILURES=$work/failures
: >"$WEFT_PRINTING"
: >"$WEFT_FAILURES"
: >"$work/times"

# end ends what still runs of lanes: each is a group of processes. They have ten seconds
# together.
end() {
	local lane left
	for lane; do
		kill -TERM -- "-$lane" 2>/dev/null
	done
	for _ in {1..100}; do
		left=
		for lane; do
			kill -0 -- "-$lane" 2>/dev/null && left=yes
		done
		[ -n "$left" ] || return 0
		sleep 0.1
	done
	for lane; do
		kill -KILL -- "-$lane" 2>/dev/null
	done
}

lanes=()
end_lanes() {
	end ${lanes[@]+"${lanes[@]}"}
	lanes=()
}
trap 'end_lanes; rm -rf "$work"' EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

# step runs a target, with the command that is given before it.
step() {
	local target=${!#} began=$SECONDS result=ok
	local out=$work/$target
	case $target in
	race*) "${@:1:$#-1}" "$make" --no-print-directory "$target" || result=FAIL ;;
	*)
		printf '== make %s\n' "$target" >"$out"
		"${@:1:$#-1}" "$make" --no-print-directory "$target" >>"$out" 2>&1 || result=FAIL
		scripts/print.sh "$out"
		[ $result = ok ] || scripts/failures.sh "$target: " "$out" >>"$WEFT_FAILURES"
		;;
	esac
	printf '%-4s  %-14s %5d s\n' $result "$target" $((SECONDS - began)) >>"$work/times"
}

# run_lane runs the targets of a lane, with the command that is given before them.
run_lane() {
	# The lane is split into its targets on purpose.
	# shellcheck disable=SC2086
	for target in ${!#}; do
		step "${@:1:$#-1}" "$target"
	done
}

await_lanes() {
	for lane in ${lanes[@]+"${lanes[@]}"}; do
		wait "$lane"
		if kill -0 -- "-$lane" 2>/dev/null; then
			printf '== a target has left processes behind, which are ended now\n'
			end "$lane"
		fi
	done
	lanes=()
}

set -m # makes each lane a group of processes
for lane; do
	case $lane:${#lanes[@]} in
	--:*)
		await_lanes
		continue
		;;
	*:0) run_lane env "$lane" </dev/null & ;;
	*)   run_lane nice -n 10 "$lane" </dev/null & ;;
	esac
	lanes+=($!)
done
await_lanes

printf '== all targets, in %d s\n' $SECONDS
cat "$work/times"
code=0
if grep -q '^FAIL' "$work/times"; then
	code=1
fi
# A target without a line has not come to its end.
for lane; do
	[ "$lane" != -- ] || continue
	for target in $lane; do
		awk -v "target=$target" '$2 == target { found = 1 } END { exit !found }' "$work/times" && continue
		code=1
		printf 'FAIL  %s has no result\n' "$target" >>"$WEFT_FAILURES"
	done
done
if [ $code -ne 0 ]; then
	printf '== what failed\n'
	cat "$WEFT_FAILURES"
fi
exit $code
