#!/bin/sh
# Makes sure that commands and libraries are there, and installs what is missing with
# apt-get, which needs root. Does nothing when all are there. What would begin a service
# of the system is installed and not started. The versions are those of the system's
# release.
#
#	scripts/need.sh gcc python3
set -eu

packages=
for name in "$@"; do
	case $name in
	python3) python3 -c 'import ensurepip, venv' 2>/dev/null || packages="$packages python3 python3-venv" ;;
	lib*)    dpkg -s "$name" >/dev/null 2>&1 || packages="$packages $name" ;;
	bash-completion) # no command
		[ -e /usr/share/bash-completion/bash_completion ] || packages="$packages $name"
		;;
	ca-certificates) # without them nothing can be fetched by HTTPS; each system has its own place for them
		if command -v apt-get >/dev/null && [ ! -s /etc/ssl/certs/ca-certificates.crt ]; then
			packages="$packages $name"
		fi
		;;
	*)
		command -v "$name" >/dev/null && continue
		case $name in
		gcc)          packages="$packages gcc libc6-dev" ;;
		java)         packages="$packages default-jre-headless" ;;
		javac)        packages="$packages default-jdk-headless" ;;
		mvn)          packages="$packages maven" ;;
		node)         packages="$packages nodejs" ;;
		php)          packages="$packages php-cli" ;;
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
# One of these at a time: each would fail while another one installs.
if command -v flock >/dev/null; then
	exec 9>/var/lock/weft-need
	flock 9
fi
printf 'Installing%s\n' "$packages"
# While this program says so, dpkg starts no service.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	trap 'rm -f $policy' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod +x $policy
fi
export DEBIAN_FRONTEND=noninteractive
apt() { apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 -qq "$@"; }
# The list is split into words on purpose.
# shellcheck disable=SC2086
install() { apt install -y --no-install-recommends $packages >/dev/null; }

# The lists of packages of the last hour will do for the first try.
if [ -n "$(find /var/lib/apt/lists/partial -maxdepth 0 -mmin -60 2>/dev/null)" ] && install; then
	exit
fi
"$(dirname "$0")/retry.sh" apt-get -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 -qq update
install && exit
printf 'failed, and is tried once more: the installation of%s\n' "$packages" >&2
sleep 5
install || {
	printf 'apt-get cannot install%s; see above.\n' "$packages" >&2
	exit 1
}
