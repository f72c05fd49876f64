#!/bin/sh
# Fuzzes every target, or those below some folders, and keeps a small corpus of what was found, of
# inputs of at most 2 KiB: up to 20 for each target that reach code which neither the seeds nor the
# inputs kept before reach, the smallest first; and when these are less than 10, others that the
# fuzzing engine has found to differ, of all lengths. They are written below testdata/fuzz beside
# the test, to be looked at and committed.
#
#	scripts/corpus.sh 1m
#	scripts/corpus.sh 1m door/grpc registry/dns
#
# With the time 0s nothing is fuzzed: what earlier runs of scripts/fuzz.sh have found is used.
# The exit code is 1 when an input fails; it stays below testdata/fuzz.
set -eu
cd "$(dirname "$0")/.."
export GOWORK=off LC_ALL=C
time=${1:?how long for each target, for example 1m}
shift
most=20 least=10 size=2048 looks=150 # inputs that are kept, if there are as many; bytes; inputs that are looked at

work=$(mktemp -d)
tried= # the input that is being tried
trap 'rm -rf "$work"; [ -z "$tried" ] || rm -f "$tried"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# covered writes which blocks of code the cases of a test reach that match a pattern.
covered() {
	"$work/test" -test.run "$1" -test.timeout 60s -test.coverprofile "$work/profile" >/dev/null 2>&1 || return 1
	awk 'NR > 1 && $NF > 0 { print $1 }' "$work/profile" | sort -u >"$2"
}

# smallest lists the names of the files of a folder, the smallest first.
smallest() {
	find "$1" -type f -size "-$((size + 1))c" -exec wc -c {} + | grep -v ' total$' | sort -n | sed 's|.*/||' | head -n "$looks"
}

# keep chooses the corpus of one target of the package here from the inputs in a folder.
keep() {
	target=$1 corpus=$PWD/testdata/fuzz/$1 kept=0
	[ -d "$2" ] || return 0
	covered "^$target\$" "$work/seen" || { printf 'FAIL  %s %s: fails without a new input\n' "$folder" "$target"; return 1; }
	mkdir -p "$corpus"
	has=$(find "$corpus" -type f | wc -l)
	smallest "$2" >"$work/inputs"
	: >"$work/others"
	while read -r input; do
		[ $((has + kept)) -lt $most ] || break
		[ ! -e "$corpus/$input" ] || continue
		tried=$corpus/$input
		cp "$2/$input" "$tried"
		if ! covered "^$target\$/^$input\$" "$work/reached"; then
			printf 'FAIL  %s %s: %s\n' "$folder" "$target" "$tried"
			tried=
			return 1
		fi
		if [ -n "$(comm -13 "$work/seen" "$work/reached" | head -n 1)" ]; then
			sort -u -o "$work/seen" "$work/seen" "$work/reached"
			kept=$((kept + 1))
		else
			rm "$tried"
			printf '%s\n' "$input" >>"$work/others"
		fi
		tried=
	done <"$work/inputs"
	# Of the others, as many as are missing, evenly spread over their lengths.
	for input in $(awk -v want=$((least - has - kept)) '{ line[NR] = $0 }
		END { for (i = 0; i < want && i < NR; i++) print line[1 + int(i * NR / (want < NR ? want : NR))] }' "$work/others"); do
		cp "$2/$input" "$corpus/$input"
		kept=$((kept + 1))
	done
	[ $((has + kept)) -gt 0 ] || rmdir -p "testdata/fuzz/$target" 2>/dev/null || true
	printf 'ok    %s %s: %d inputs, %d of them new\n' "$folder" "$target" $((has + kept)) "$kept"
}

code=0
[ "$time" = 0s ] || scripts/fuzz.sh "$time" "$@" || code=1
folders=$(grep -rlE --include='*_test.go' --exclude-dir=testdata --exclude-dir=node_modules '^func Fuzz[A-Z]' "${@:-.}" |
	sed -e 's|/[^/]*$||' -e 's|^\./||' | sort -u)
cache=$(go env GOCACHE)/fuzz
for folder in $folders; do
	cd "$folder"
	name=$(go list .)
	# What the test can reach of the project.
	packages=$(go list -deps -test . | grep -E '^github\.com/weftrpc/weft(/[^ ]*)?$' | grep -v '\.test$' | paste -s -d , -)
	go test -c -cover -covermode=set -coverpkg="$packages" -o "$work/test" .
	for target in $(GOCOVERDIR=$work "$work/test" -test.list '^Fuzz'); do
		keep "$target" "$cache/$name/$target" || code=1
	done
	cd "$OLDPWD"
done
exit $code
