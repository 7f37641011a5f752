#!/bin/sh
# Java for the containers of lab lab: starts ApplicationMasters and tasks
# from the class-data archive. That needs Hadoop's jars first on the class path,
# and MapReduce puts only the container's working folder before them, so the two
# change places. A job with another class path, such as one that wants its own
# classes first, gets what it asked for.
case ${CLASSPATH-} in
"$PWD:/jars/*:"*)
	CLASSPATH="/jars/*:$PWD:${CLASSPATH#"$PWD:/jars/*:"}"
	export CLASSPATH
	exec /java/bin/java -XX:SharedArchiveFile=/cache/classes.jsa -Xshare:auto "$@"
	;;
esac
exec /java/bin/java "$@"
