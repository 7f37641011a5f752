#!/bin/sh
# Runs the commands hadoop, hdfs, yarn and mapred of a Hadoop distribution on the
# lab lab. A command called on a node of the lab runs there; one called from
# outside runs on the master.
node=
for n in master r1n1 r1n2 r2n1 r2n2; do
	[ /proc/self/ns/net -ef /run/netns/heddle.lab.$n ] && node=$n
done
if [ -z "$node" ]; then
	[ "$(id -u)" = 0 ] || { echo "${0##*/}: the lab's network is entered as root; run this with sudo" >&2; exit 1; }
	[ -e /run/netns/heddle.lab.master ] || { echo "${0##*/}: lab lab is not up; 'heddle lab up --name lab' starts it" >&2; exit 1; }
	exec /state/lab/nodes/master/enter "$0" "$@"
fi

conf=${HADOOP_CONF_DIR:-/state/lab/conf}
while :; do
	case ${1-} in
	--config) conf=$2; shift 2 ;;
	--loglevel) shift 2 ;;
	*) break ;;
	esac
done
classpath="/jars/*:$conf${HADOOP_CLASSPATH:+:$HADOOP_CLASSPATH}"
[ -n "${HADOOP_USER_CLASSPATH_FIRST-}" ] && classpath="${HADOOP_CLASSPATH:+$HADOOP_CLASSPATH:}/jars/*:$conf"

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

# Without a ticket that is still valid, one of the lab's user is taken.
export KRB5CCNAME="${KRB5CCNAME:-/state/lab/tickets}"
klist -s || kinit -k -t /state/lab/user.keytab root || exit 1
export HADOOP_CONF_DIR="$conf" HADOOP_USER_NAME="${HADOOP_USER_NAME:-root}"
# shellcheck disable=SC2086 # options are lists
exec /java/bin/java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -XX:SharedArchiveFile=/cache/classes.jsa -Xshare:auto --add-opens=java.base/java.io=ALL-UNNAMED --add-opens=java.base/java.lang=ALL-UNNAMED --add-opens=java.base/java.lang.reflect=ALL-UNNAMED --add-opens=java.base/java.math=ALL-UNNAMED --add-opens=java.base/java.net=ALL-UNNAMED --add-opens=java.base/java.nio=ALL-UNNAMED --add-opens=java.base/java.text=ALL-UNNAMED --add-opens=java.base/java.util=ALL-UNNAMED --add-opens=java.base/java.util.concurrent=ALL-UNNAMED --add-opens=java.base/java.util.zip=ALL-UNNAMED --add-opens=java.base/sun.nio.ch=ALL-UNNAMED --add-opens=java.base/sun.security.util=ALL-UNNAMED --add-opens=java.base/sun.security.x509=ALL-UNNAMED --add-opens=java.base/sun.net.dns=ALL-UNNAMED --add-opens=java.base/sun.net.util=ALL-UNNAMED -Djava.net.preferIPv4Stack=true \
	-Djava.io.tmpdir=/state/lab/nodes/$node/clients -Dlab.node=$node -Dlab.nm.mb=0 -Dlab.nm.vcores=0 -Dhadoop.home.dir=/state/lab/home \
	${HADOOP_OPTS-} ${HADOOP_CLIENT_OPTS-} -cp "$classpath" $main "$@"
