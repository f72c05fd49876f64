#!/bin/sh
# Runs the tests of every module, each alone, with the race detector and in a
# random order, and closes with one line for each module. The exit code is 1
# when a module failed.
set -eu
cd "$(dirname "$0")/.."
export GOWORK=off

log=$(mktemp)
trap 'rm -f "$log"' EXIT
summary= code=0
for module in $(scripts/modules.sh); do
	printf '== %s: go test -race -shuffle=on ./...\n' "$module"
	began=$(date +%s) result=ok
	# A pipe would hide the exit code of go test, so it leaves a mark in the log.
	{ (cd "$module" && go test -race -shuffle=on ./...) 2>&1 || echo 'go test failed'; } | tee "$log"
	if [ "$(tail -n 1 "$log")" = 'go test failed' ]; then
		result=FAIL code=1
	fi
	passed=$(grep -c '^ok  	' "$log" || true)
	failed=$(grep -c '^FAIL	' "$log" || true)
	summary="$summary$(printf '%-4s  %-24s %3d packages passed, %d failed, %d s' \
		"$result" "$module" "$passed" "$failed" $(($(date +%s) - began)))
"
done
printf '== all modules\n%s' "$summary"
exit $code
