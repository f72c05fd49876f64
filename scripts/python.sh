#!/bin/sh
# Runs the tests below test/compat that are written in Python (test_*.py, with
# the standard library's unittest), or those that take long (long_*.py). What they import is installed from
# test/compat/requirements.txt into an environment in the user's cache, which is
# made anew when that file changes. What their programs in JavaScript import is
# installed in the same way from test/compat/package-lock.json.
#
#	scripts/python.sh
#	scripts/python.sh long
set -eu
cd "$(dirname "$0")/.."

kind=${1:-test}
folders=$(find test/compat -name "${kind}_*.py" 2>/dev/null | sed 's|/[^/]*$||' | LC_ALL=C sort -u)
if [ -z "$folders" ]; then
	echo 'test/compat holds no Python tests'
	exit 0
fi
scripts/need.sh python3 thrift php
if [ "$kind" = long ]; then
	scripts/need.sh javac mvn g++ libthrift-dev libboost-dev libevent-dev
fi

python=python3
wanted=test/compat/requirements.txt
if [ -f "$wanted" ]; then
	venv=${XDG_CACHE_HOME:-$HOME/.cache}/weft/python-$(cksum <"$wanted" | cut -d ' ' -f 1)
	if [ ! -f "$venv/ready" ]; then
		rm -rf "$venv"
		python3 -m venv "$venv"
		scripts/retry.sh "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$wanted"
		touch "$venv/ready"
	fi
	python=$venv/bin/python
fi
locked=test/compat/package-lock.json
if [ -f "$locked" ]; then
	scripts/need.sh node npm
	modules=${XDG_CACHE_HOME:-$HOME/.cache}/weft/node-$(cksum <"$locked" | cut -d ' ' -f 1)
	if [ ! -f "$modules/ready" ]; then
		rm -rf "$modules"
		mkdir -p "$modules"
		cp test/compat/package.json "$locked" "$modules"
		scripts/retry.sh npm ci --prefix "$modules" --ignore-scripts --no-audit --no-fund --silent
		touch "$modules/ready"
	fi
	export NODE_PATH="$modules/node_modules"
fi
for folder in $folders; do
	printf '== %s: python3 -m unittest\n' "$folder"
	"$python" -m unittest discover -s "$folder" -t "$folder" -p "${kind}_*.py"
done
