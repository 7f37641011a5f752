#!/bin/sh
# pin.sh DIR FILE GOAL... writes DIR/FILE after a change of DIR/pom.xml: lets Maven
# fetch jars by the given goal and writes their SHA-256 sums. Read the diff before
# you commit it: each changed line is a jar that heddle will run from then on.
set -e
cd "$1"
file=$2
shift 2
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cp pom.xml "$tmp"
mvn -B -q -C -f "$tmp/pom.xml" -DoutputDirectory="$tmp/jars" "$@"
(cd "$tmp/jars" && LC_ALL=C sha256sum -- *.jar) >"$tmp/sums"
cp "$tmp/sums" "$file"
