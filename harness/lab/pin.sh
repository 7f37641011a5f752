#!/bin/sh
# Writes hadoop/jars.sha256 and hadoop/tools.sha256 after a change of
# hadoop/pom.xml: lets Maven fetch the jars and writes their SHA-256 sums. Read the diff before you commit it: each
# changed line is a jar that labs will run from then on.
set -e
cd "$(dirname "$0")/hadoop"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cp pom.xml "$tmp"
mvn -B -q -C -f "$tmp/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$tmp/jars"
(cd "$tmp/jars" && LC_ALL=C sha256sum -- *.jar) >"$tmp/sums"
version=$(sed -n 's|.*<hadoop>\(.*\)</hadoop>.*|\1|p' pom.xml)
mvn -B -q -C -f "$tmp/pom.xml" dependency:copy -Dartifact="org.apache.hadoop:hadoop-streaming:$version" -DoutputDirectory="$tmp/tools"
(cd "$tmp/tools" && LC_ALL=C sha256sum -- *.jar) >"$tmp/toolsums"
cp "$tmp/sums" jars.sha256
cp "$tmp/toolsums" tools.sha256
