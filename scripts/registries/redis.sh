#!/bin/sh
# Installs redis-server for the tests of registry/redis. Does nothing when it is
# there. The tests start it themselves, so no system service is left running.
set -eu

if command -v redis-server >/dev/null; then
	exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
	echo 'The package redis-server is missing. Install it, or run this as root on Debian.' >&2
	exit 1
fi
echo 'Installing redis-server'
# While this program says so, dpkg starts no service.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
	trap 'rm -f $policy' EXIT
	printf '#!/bin/sh\nexit 101\n' >$policy
	chmod +x $policy
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends redis-server >/dev/null
