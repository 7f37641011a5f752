#!/bin/sh
# Runs the commands hadoop, hdfs, yarn and mapred of a Hadoop distribution on the
# lab <<.Lab>>. A command called on a node of the lab runs there; one called from
# outside runs on the master.
node=
for n in <<.Nodes>>; do
	[ /proc/self/ns/net -ef <<.Namespaces>>$n ] && node=$n
done
if [ -z "$node" ]; then
	[ "$(id -u)" = 0 ] || { echo "${0##*/}: the lab's network is entered as root; run this with sudo" >&2; exit 1; }
	[ -e <<.Namespaces>>master ] || { echo "${0##*/}: lab <<.Lab>> is not up; 'heddle lab up --name <<.Lab>>' starts it" >&2; exit 1; }
	exec <<.Root>>/nodes/master/enter "$0" "$@"
fi

conf=${HADOOP_CONF_DIR:-<<.Root>>/conf}
while :; do
	case ${1-} in
	--config) conf=$2; shift 2 ;;
	--loglevel) shift 2 ;;
	*) break ;;
	esac
done
classpath="<<.Classpath>>:$conf${HADOOP_CLASSPATH:+:$HADOOP_CLASSPATH}"
[ -n "${HADOOP_USER_CLASSPATH_FIRST-}" ] && classpath="${HADOOP_CLASSPATH:+$HADOOP_CLASSPATH:}<<.Classpath>>:$conf"

cli=org.apache.hadoop.yarn.client.cli
command=${1-}
[ $# -gt 0 ] && shift
case $command in
fs | dfs) main=org.apache.hadoop.fs.FsShell ;;
jar) main=org.apache.hadoop.util.RunJar ;;
version) main=org.apache.hadoop.util.VersionInfo ;;
classpath) echo "$classpath"; exit ;;
getconf) main=org.apache.hadoop.hdfs.tools.GetConf ;;
haadmin) main=org.apache.hadoop.hdfs.tools.DFSHAAdmin ;;
fsck) main=org.apache.hadoop.hdfs.tools.DFSck ;;
balancer) main=org.apache.hadoop.hdfs.server.balancer.Balancer ;;
dfsadmin) main=org.apache.hadoop.hdfs.tools.DFSAdmin ;;
cacheadmin) main=org.apache.hadoop.hdfs.tools.CacheAdmin ;;
node) main=$cli.NodeCLI ;;
application | app | applicationattempt | container) main=$cli.ApplicationCLI; set -- "$command" "$@" ;;
logs) main=$cli.LogsCLI ;;
cluster) main=$cli.ClusterCLI ;;
rmadmin) main=$cli.RMAdminCLI ;;
job) main=org.apache.hadoop.mapred.JobClient ;;
queue)
	case ${0##*/} in
	yarn) main=$cli.QueueCLI ;;
	*) main=org.apache.hadoop.mapred.JobQueueClient ;;
	esac ;;
*.*) main=$command ;;
*)
	echo "usage: ${0##*/} [--config DIR] fs|jar|version|classpath|getconf|haadmin|fsck|balancer|dfsadmin|cacheadmin|node|application|container|logs|cluster|rmadmin|job|queue|CLASS [ARGUMENTS]" >&2
	exit 1 ;;
esac

<<if .Kerberos>># Without a ticket that is still valid, one of the lab's user is taken.
export KRB5CCNAME="${KRB5CCNAME:-<<.Root>>/tickets}"
klist -s || kinit -k -t <<.Root>>/user.keytab <<.User>> || exit 1
<<end>>export HADOOP_CONF_DIR="$conf" HADOOP_USER_NAME="${HADOOP_USER_NAME:-<<.User>>}"
# shellcheck disable=SC2086 # options are lists
exec <<.Java>>/bin/java -Xmx256m <<.JVM>> -Djava.net.preferIPv4Stack=true \
	-Djava.io.tmpdir=<<.Root>>/nodes/$node/clients -Dlab.node=$node -Dlab.nm.mb=0 -Dlab.nm.vcores=0 -Dhadoop.home.dir=<<.Root>>/home \
	${HADOOP_OPTS-} ${HADOOP_CLIENT_OPTS-} -cp "$classpath" $main "$@"
