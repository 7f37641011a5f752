#!/bin/sh
# Java for the containers of lab <<.Lab>>: starts ApplicationMasters and tasks
# from the class-data archive. That needs Hadoop's jars first on the class path,
# and MapReduce puts only the container's working folder before them, so the two
# change places. A job with another class path, such as one that wants its own
# classes first, gets what it asked for.
case ${CLASSPATH-} in
"$PWD:<<.Classpath>>:"*)
	CLASSPATH="<<.Classpath>>:$PWD:${CLASSPATH#"$PWD:<<.Classpath>>:"}"
	export CLASSPATH
	exec <<.Java>>/bin/java <<.Archive>> "$@"
	;;
esac
exec <<.Java>>/bin/java "$@"
