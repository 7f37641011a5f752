#!/bin/sh
# Writes jars.sha256 in the given folder after a change of pom.xml there: lets
# Maven fetch the jars and writes their SHA-256 sums. Read the diff before you
# commit it: each changed line is a jar that heddle will run from then on.
set -e
cd "$1"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cp pom.xml "$tmp"
mvn -B -q -C -f "$tmp/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$tmp/jars"
(cd "$tmp/jars" && LC_ALL=C sha256sum -- *.jar) >"$tmp/sums"
cp "$tmp/sums" jars.sha256
