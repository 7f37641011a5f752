#!/bin/sh
# Java for the containers of lab lab. It starts ApplicationMasters and tasks
# from the class-data archive, for which Hadoop's jars must come first on the
# class path. MapReduce puts the container's working folder before them, so this
# script swaps the two. It leaves any other class path as it is, such as that of
# a job that wants its own classes first.
case ${CLASSPATH-} in
"$PWD:/jars/*:"*)
	CLASSPATH="/jars/*:$PWD:${CLASSPATH#"$PWD:/jars/*:"}"
	export CLASSPATH
	exec /java/bin/java -XX:SharedArchiveFile=/cache/classes.jsa -Xshare:auto "$@"
	;;
esac
exec /java/bin/java "$@"
