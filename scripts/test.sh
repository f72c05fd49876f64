#!/bin/sh
# Runs the tests of every module, each alone, with the race detector and in a
# random order, and closes with one line for each module. The exit code is 1
# when a module failed.
set -eu
cd "$(dirname "$0")/.."
export GOWORK=off

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# crashed prints the packages in whose tests the race detector itself broke down,
# which says nothing about them: it does so now and then.
crashed() {
	awk '/^ThreadSanitizer: CHECK failed/ { broke = 1 }
	     /^--- FAIL|^WARNING: DATA RACE|^panic:/ { found = 1 }
	     /^(ok  |FAIL)\t/ { if ($1 == "FAIL" && broke && !found) print $2; broke = found = 0 }' "$log"
}

summary= code=0
for module in $(scripts/modules.sh); do
	printf '== %s: go test -race -shuffle=on ./...\n' "$module"
	began=$(date +%s) result=ok
	# A pipe would hide the exit code of go test, so it leaves a mark in the log.
	{ (cd "$module" && go test -race -shuffle=on ./...) 2>&1 || echo 'go test failed'; } | tee "$log"
	passed=$(grep -c '^ok  	' "$log" || true)
	failed=$(grep -c '^FAIL	' "$log" || true)
	if [ "$(tail -n 1 "$log")" = 'go test failed' ]; then
		result=FAIL
		again=$(crashed)
		if [ -n "$again" ] && [ "$(echo "$again" | wc -l)" = "$failed" ]; then
			printf '== the race detector broke down; once more: %s\n' "$again"
			# shellcheck disable=SC2086 # one word for each package
			if (cd "$module" && go test -race -shuffle=on $again) 2>&1; then
				passed=$((passed + failed)) failed=0 result=ok
			fi
		fi
	fi
	[ "$result" = ok ] || code=1
	summary="$summary$(printf '%-4s  %-24s %3d packages passed, %d failed, %d s' \
		"$result" "$module" "$passed" "$failed" $(($(date +%s) - began)))
"
done
printf '== all modules\n%s' "$summary"
exit $code
