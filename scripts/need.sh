#!/bin/sh
# Makes sure that commands and libraries are there, and installs what is missing with
# apt-get, which needs root. Does nothing when all are there. What would begin a service
# of the system is installed and not started.
#
#	scripts/need.sh gcc python3
set -eu

packages=
for name in "$@"; do
	case $name in
	python3) python3 -c 'import ensurepip, venv' 2>/dev/null || packages="$packages python3 python3-venv" ;;
	lib*)    dpkg -s "$name" >/dev/null 2>&1 || packages="$packages $name" ;;
	*)
		command -v "$name" >/dev/null && continue
		case $name in
		gcc)          packages="$packages gcc libc6-dev" ;;
		java)         packages="$packages default-jre-headless" ;;
		javac)        packages="$packages openjdk-17-jdk-headless" ;;
		mvn)          packages="$packages maven" ;;
		node)         packages="$packages nodejs" ;;
		ip)           packages="$packages iproute2" ;;
		thrift)       packages="$packages thrift-compiler" ;;
		etcd)         packages="$packages etcd-server" ;;
		knotd)        packages="$packages knot" ;;
		avahi-browse) packages="$packages avahi-utils" ;;
		*)            packages="$packages $name" ;;
		esac
		;;
	esac
done
[ -n "$packages" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
	printf 'These packages are missing:%s. Install them, or run this as root on Debian.\n' "$packages" >&2
	exit 1
fi
printf 'Installing%s\n' "$packages"
# While this program says so, dpkg starts no service.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	trap 'rm -f $policy' EXIT
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod +x $policy
fi
export DEBIAN_FRONTEND=noninteractive
apt-get -o Acquire::Retries=3 update -qq
# The list is split into words on purpose.
# shellcheck disable=SC2086
apt-get -o Acquire::Retries=3 install -y -qq --no-install-recommends $packages >/dev/null
