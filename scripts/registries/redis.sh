#!/bin/sh
# Installs Redis, whose processes the tests of registry/redis start themselves.
exec "$(dirname "$0")/../need.sh" redis-server
