#!/bin/sh
# Prints what an output says of failures: the tests and subtests that have failed, and their
# messages, each with at most four lines that continue it, and of a panic the first four places
# in its stacks that are not of the runtime and of package testing. What a server program wrote is
# left out. That is at most 40 lines of at most 500 characters; the last five lines of an output that
# names no failure. Each line begins with the prefix.
#
#	scripts/failures.sh PREFIX FILE
set -eu
awk -v prefix="$1" '
	function note(line) {
		if (++n <= 40) print prefix substr(line, 1, 500)
	}
	{ last[NR % 5] = $0 }
	/^ *--- FAIL/ || /^(FAIL.|WITHOUT|panic:|fatal error:|WARNING: DATA RACE|ThreadSanitizer:)/ {
		note($0)
		places = /^(panic|fatal)/ ? 4 : 0
		follow = places
		next
	}
	/^(Write|Read|Previous write|Previous read) at 0x/ {
		note($0)
		follow = 4
		next
	}
	places > 0 && /^\t[^ ]+\.go:[0-9]+/ {
		if (/\/src\/(runtime|testing)\//) next
		note($0)
		places--
		follow = 0
		next
	}
	/^ *[A-Za-z0-9_.\/-]+\.(go|py|sh|java):[0-9]+/ {
		note($0)
		follow = / wrote:$/ ? 0 : 4
		next
	}
	follow > 0 && /^[ \t]/ {
		note($0)
		follow--
		next
	}
	{ follow = 0 }
	END {
		if (n > 40) print prefix "and " n - 40 " lines more"
		for (i = NR - 4; n == 0 && i <= NR; i++) if (i > 0) print prefix substr(last[i % 5], 1, 500)
	}' "$2"
