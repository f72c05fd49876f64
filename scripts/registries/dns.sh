#!/bin/sh
# Installs Knot DNS, whose processes the tests of registry/dns start themselves.
exec "$(dirname "$0")/../need.sh" knotd
