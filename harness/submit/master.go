package submit

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"heddle/collectors/yarn"
	"heddle/yarnclient"
)

// master returns the submission of a job's ApplicationMaster, as the class
// YARNRunner of Hadoop's client makes it.
func (s *Submitter) master(j Job, job Submitted, files staged) (yarnclient.Submission, error) {
	conf := s.conf(j)
	priority, err := priorityOf(text(conf, "mapreduce.job.priority", ""))
	if err != nil {
		return yarnclient.Submission{}, err
	}
	var tags []string
	for tag := range strings.SplitSeq(text(conf, "mapreduce.job.tags", ""), ",") {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	return yarnclient.Submission{
		ID: job.App, Name: j.Name, Type: "MAPREDUCE",
		Queue:       text(conf, "mapreduce.job.queuename", "default"),
		Priority:    priority,
		Tags:        tags,
		MaxAttempts: int(conf.Int("mapreduce.am.max-attempts", 2)),
		Label:       text(conf, "mapreduce.job.node-label-expression", ""),
		AMLabel:     text(conf, "mapreduce.job.am.node-label-expression", ""),
		AM: yarnclient.Resource{
			MemoryMB: conf.Int("yarn.app.mapreduce.am.resource.mb", 1536),
			VCores:   int(conf.Int("yarn.app.mapreduce.am.resource.cpu-vcores", 1)),
		},
		Command: command(conf, s.opens),
		Env:     environment(conf),
		Files:   s.localFiles(files),
		Secrets: map[string][]byte{"MapReduceShuffleToken": shuffleSecret()},
		ViewACL: text(conf, "mapreduce.job.acl-view-job", " "), ModifyACL: text(conf, "mapreduce.job.acl-modify-job", " "),
	}, nil
}

// priorityOf returns YARN's priority for a value of mapreduce.job.priority:
// MapReduce's name of a priority, or a number.
func priorityOf(value string) (int, error) {
	named := map[string]int{"": 0, "DEFAULT": 0, "VERY_LOW": 1, "LOW": 2, "NORMAL": 3, "HIGH": 4, "VERY_HIGH": 5, "UNDEFINED_PRIORITY": 0}
	if n, ok := named[strings.ToUpper(value)]; ok {
		return n, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return 0, fmt.Errorf("mapreduce.job.priority: %q: want a number, or VERY_LOW to VERY_HIGH", value)
	}
	return n, nil
}

// localFiles returns the files in the working folder of the ApplicationMaster,
// by their names there.
func (s *Submitter) localFiles(f staged) map[string]yarnclient.LocalFile {
	local := func(c cacheFile, kind, otherwise string) yarnclient.LocalFile {
		visibility := otherwise
		if c.public {
			visibility = "PUBLIC"
		}
		return yarnclient.LocalFile{URL: s.URL(c.path), Type: kind, Visibility: visibility, Size: c.bytes, TimestampMs: c.modifiedMs}
	}
	// Hadoop's client adds a pattern that says which part of the jar is unpacked.
	// REST cannot carry it, so the ApplicationMaster's node unpacks the whole jar.
	// It keeps that copy for later jobs, beside the one that tasks use.
	out := map[string]yarnclient.LocalFile{"job.jar": local(s.jar, "PATTERN", "APPLICATION")}
	for _, c := range f.files {
		out[c.link] = local(c, "FILE", "PRIVATE")
	}
	for _, c := range f.own {
		link := c.link
		if link != "job.xml" {
			link = path.Join("jobSubmitDir", link)
		}
		out[link] = local(c, "FILE", "APPLICATION")
	}
	return out
}

// command returns the command that starts the ApplicationMaster. opens says
// whether NodeManagers replace <ADD_OPENS>, the options with which Java 17 lets
// Hadoop use its insides.
func command(conf yarn.Conf, opens bool) string {
	java, pwd := "$JAVA_HOME", "$PWD"
	if crossPlatform(conf) {
		java, pwd = "{{JAVA_HOME}}", "{{PWD}}"
	}
	logBytes := conf.Int("yarn.app.mapreduce.am.container.log.limit.kb", 0) << 10
	backups := conf.Int("yarn.app.mapreduce.am.container.log.backups", 0)
	args := []string{
		java + "/bin/java", "-Djava.io.tmpdir=" + pwd + "/tmp",
		"-Dlog4j.configuration=container-log4j.properties", "-Dyarn.app.container.log.dir=<LOG_DIR>",
		"-Dyarn.app.container.log.filesize=" + strconv.FormatInt(logBytes, 10),
	}
	appender := "CLA"
	if logBytes > 0 && backups > 0 { // the log is rolled
		args, appender = append(args, "-Dyarn.app.container.log.backups="+strconv.FormatInt(backups, 10)), "CRLA"
	}
	args = append(args,
		"-Dhadoop.root.logger="+text(conf, "yarn.app.mapreduce.am.log.level", "INFO")+","+appender, "-Dhadoop.root.logfile=syslog",
		text(conf, "yarn.app.mapreduce.am.admin-command-opts", ""), text(conf, "yarn.app.mapreduce.am.command-opts", "-Xmx1024m"))
	if opens && conf.Bool("mapreduce.jvm.add-opens-as-default", true) {
		args = append(args, "<ADD_OPENS>")
	}
	args = append(args, "org.apache.hadoop.mapreduce.v2.app.MRAppMaster", "1><LOG_DIR>/stdout", "2><LOG_DIR>/stderr")
	return strings.Join(args, " ") + " "
}

// knowsAddOpens reports whether a version of Hadoop replaces <ADD_OPENS> in
// commands. An older one would leave it for the shell, as a redirection.
func knowsAddOpens(version string) bool {
	var major, minor int
	_, err := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return err == nil && (major > 3 || major == 3 && minor >= 4)
}

func crossPlatform(conf yarn.Conf) bool {
	return conf.Bool("mapreduce.app-submission.cross-platform", false)
}

// Hadoop's class path if the site configuration does not set one.
const (
	yarnClasspath = "$HADOOP_CONF_DIR,$HADOOP_COMMON_HOME/share/hadoop/common/*,$HADOOP_COMMON_HOME/share/hadoop/common/lib/*," +
		"$HADOOP_HDFS_HOME/share/hadoop/hdfs/*,$HADOOP_HDFS_HOME/share/hadoop/hdfs/lib/*," +
		"$HADOOP_YARN_HOME/share/hadoop/yarn/*,$HADOOP_YARN_HOME/share/hadoop/yarn/lib/*"
	mapredClasspath = "$HADOOP_MAPRED_HOME/share/hadoop/mapreduce/*,$HADOOP_MAPRED_HOME/share/hadoop/mapreduce/lib/*"
)

// environment returns the environment variables of the ApplicationMaster.
// Later values of a variable that is a path are appended to earlier ones.
func environment(conf yarn.Conf) map[string]string {
	pwd, separator := "$PWD", ":"
	if crossPlatform(conf) {
		pwd, separator = "{{PWD}}", "<CPS>"
	}
	env := map[string]string{}
	add := func(name, value string) {
		if was, set := env[name]; set {
			value = was + separator + value
		}
		env[name] = value
	}
	framework := func() {
		for _, list := range []string{
			classpath(conf, "yarn.application.classpath", yarnClasspath),
			classpath(conf, "mapreduce.application.classpath", mapredClasspath),
		} {
			for entry := range strings.SplitSeq(list, ",") {
				if entry = strings.TrimSpace(entry); entry != "" {
					add("CLASSPATH", entry)
				}
			}
		}
	}
	mine := "CLASSPATH"
	if conf.Bool("mapreduce.job.classloader", false) {
		mine = "APP_CLASSPATH"
	}
	jobFirst := conf.Bool("mapreduce.job.user.classpath.first", false)
	add(mine, pwd)
	if !jobFirst {
		framework()
	}
	for _, entry := range []string{"job.jar/*", "job.jar/classes/", "job.jar/lib/*", pwd + "/*"} {
		add(mine, entry)
	}
	if jobFirst {
		framework()
	}
	add("SHELL", text(conf, "mapreduce.admin.user.shell", "/bin/bash"))
	add("LD_LIBRARY_PATH", pwd)
	setEnv(conf, add, "yarn.app.mapreduce.am.admin.user.env", "LD_LIBRARY_PATH={{HADOOP_COMMON_HOME}}/lib/native")
	setEnv(conf, add, "yarn.app.mapreduce.am.env", "")
	return env
}

// classpath returns the comma-separated entries of a class path property. A
// property that is set to nothing means the default, as Hadoop's own files do.
func classpath(conf yarn.Conf, name, otherwise string) string {
	list := strings.TrimSpace(text(conf, name, otherwise))
	if list == "" {
		list = otherwise
	}
	if crossPlatform(conf) {
		for _, home := range []string{
			"HADOOP_CONF_DIR", "HADOOP_COMMON_HOME", "HADOOP_HDFS_HOME", "HADOOP_YARN_HOME",
			"HADOOP_MAPRED_HOME",
		} {
			list = strings.ReplaceAll(list, "$"+home, "{{"+home+"}}")
		}
	}
	return list
}

// setEnv adds the variables that a property lists as NAME=VALUE,…, and those
// of properties whose names have the variable's name after a dot.
func setEnv(conf yarn.Conf, add func(name, value string), property, otherwise string) {
	for pair := range strings.SplitSeq(text(conf, property, otherwise), ",") {
		if name, value, ok := strings.Cut(strings.TrimSpace(pair), "="); ok && name != "" {
			add(name, value)
		}
	}
	for key := range conf {
		if name, ok := strings.CutPrefix(key, property+"."); ok && name != "" {
			add(name, conf.Expand(conf[key]))
		}
	}
}
