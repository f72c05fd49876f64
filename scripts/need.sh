#!/bin/sh
# Makes sure that commands are there, and installs what is missing with
# apt-get, which needs root. Does nothing when all are there.
#
#	scripts/need.sh gcc python3
set -eu

packages=
for command in "$@"; do
	case $command in
	gcc)     command -v gcc >/dev/null || packages="$packages gcc libc6-dev" ;;
	python3) python3 -c 'import ensurepip, venv' 2>/dev/null || packages="$packages python3 python3-venv" ;;
	javac)   command -v javac >/dev/null || packages="$packages openjdk-17-jdk-headless" ;;
	mvn)     command -v mvn >/dev/null || packages="$packages maven" ;;
	ip)      command -v ip >/dev/null || packages="$packages iproute2" ;;
	thrift)  command -v thrift >/dev/null || packages="$packages thrift-compiler" ;;
	lib*)    dpkg -s "$command" >/dev/null 2>&1 || packages="$packages $command" ;;
	*)       command -v "$command" >/dev/null || packages="$packages $command" ;;
	esac
done
[ -n "$packages" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
	printf 'These packages are missing:%s. Install them, or run this as root on Debian.\n' "$packages" >&2
	exit 1
fi
printf 'Installing%s\n' "$packages"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# The list is split into words on purpose.
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $packages >/dev/null
