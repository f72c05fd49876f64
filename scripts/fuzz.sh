#!/bin/sh
# Fuzzes every target for a while, or those below some folders. The targets of a package
# run one after the other, with one worker each; $JOBS packages run side by side (2). The
# exit code is 1 when an input fails, and when the targets of a package have no result.
#
#	scripts/fuzz.sh 3s
#	scripts/fuzz.sh 5m door registry/dns
#
# An input that fails is printed, and written below testdata/fuzz beside its test; there it
# is a case of every later run of the test.
set -eu
cd "$(dirname "$0")/.."
export GOWORK=off

# fuzz runs one target of the package here. Until Go 1.27 the end of the time can come out
# as a failure with the text of a deadline and without an input (go.dev/issue/75804); that
# is no finding. The only worker shall not shorten inputs for a minute each, which is the
# default.
fuzz() {
	"$binary" -test.run '^$' -test.fuzz "^$1\$" -test.fuzztime "$time" -test.fuzzminimizetime 1s -test.parallel 1 \
		-test.fuzzcachedir "$cache" >"$log" 2>&1 && return 0
	grep -q '^    context deadline exceeded$' "$log" && ! grep -q 'Failing input written' "$log"
}

# fuzz_package fuzzes every target of a package, from one binary. When all of them are good
# and their output is written, it leaves a file that says so.
fuzz_package() {
	folder=$1 binary=$2 cache=$3 log=$2.log out=$2.part passed=yes
	cd "$folder"
	targets=$("$binary" -test.list '^Fuzz')
	for target in $targets; do
		if fuzz "$target"; then
			printf 'ok    %s %s: %s\n' "$folder" "$target" "$(grep -o 'execs: [0-9]*' "$log" | tail -n 1)" >>"$out"
		else
			cat "$log" >>"$out"
			for input in $(sed -n 's/^ *Failing input written to //p' "$log"); do
				printf 'The input:\n' >>"$out"
				cat "$input" >>"$out"
			done
			passed=
			printf 'FAIL  %s %s\n' "$folder" "$target" >>"$out"
		fi
	done
	mv "$out" "$binary.out"
	"$here/print.sh" "$binary.out"
	[ -z "$passed" ] || printf 'passed\n' >"$binary.passed"
	rm -f "$binary" "$log" # they are large
}

here=$PWD/scripts
if [ "${1-}" = -package ]; then # in one of the jobs below
	shift
	fuzz_package "$@"
	exit
fi
time=${1:?how long for each target, for example 3s}
shift

work=$(mktemp -d)
export work time
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# binary_of prints where the program of a folder lies. The prefix keeps the name of the
# folder "." from beginning with a dot.
binary_of() { printf '%s/package-%s.test' "$work" "$(printf %s "$1" | tr / _)"; }

# The folders with targets.
folders=$(grep -rlE --include='*_test.go' --exclude-dir=testdata --exclude-dir=node_modules '^func Fuzz[A-Z]' "${@:-.}" |
	sed -e 's|/[^/]*$||' -e 's|^\./||' | LC_ALL=C sort -u)
[ -n "$folders" ] || { printf 'There are no fuzz targets below: %s\n' "${*:-.}" >&2 && exit 1; }
# One program with the counters of the fuzzing engine is built for each package, while those
# before it run.
caches=$(go env GOCACHE)/fuzz
for folder in $folders; do
	binary=$(binary_of "$folder")
	if (cd "$folder" && go test -c -fuzz=. -o "$binary" . && go list .) >"$binary.built" 2>&1; then
		printf '%s %s %s\n' "$folder" "$binary" "$caches/$(tail -n 1 "$binary.built")"
	else
		{ cat "$binary.built"; printf 'FAIL  %s does not build\n' "$folder"; } >"$binary.out"
		scripts/print.sh "$binary.out" >&2
	fi
done | xargs -P "${JOBS:-2}" -n 3 sh -c '"$@" || true' - "$here/fuzz.sh" -package

cat "$work"/package-*.out >"$work/all" 2>/dev/null || true
failed=$(grep -c '^FAIL  ' "$work/all" || true)
printf 'fuzzed %d targets for %s each, %d failed\n' "$(grep -cE '^(ok  |FAIL)  ' "$work/all" || true)" "$time" "$failed"
code=0
for folder in $folders; do
	binary=$(binary_of "$folder")
	[ ! -s "$binary.passed" ] || continue
	code=1
	grep -qs '^FAIL  ' "$binary.out" || printf 'FAIL  %s has no result\n' "$folder"
done
exit $code
