#!/bin/sh
# Java for the containers of lab <<.Lab>>. It starts ApplicationMasters and tasks
# from the class-data archive, for which Hadoop's jars must come first on the
# class path. MapReduce puts the container's working folder before them, so this
# script swaps the two. It leaves any other class path as it is, such as that of
# a job that wants its own classes first.
case ${CLASSPATH-} in
"$PWD:<<.Classpath>>:"*)
	CLASSPATH="<<.Classpath>>:$PWD:${CLASSPATH#"$PWD:<<.Classpath>>:"}"
	export CLASSPATH
	exec <<.Java>>/bin/java <<.Archive>> "$@"
	;;
esac
exec <<.Java>>/bin/java "$@"
