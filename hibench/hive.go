package hibench

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"heddle/hibench/tables"
)

// Hive runs each query as MapReduce jobs, one after the other. Each run has a
// folder of its own: a start script, Hive's configuration, and a metastore in an
// embedded Derby database, which only one process can use. So runs may overlap.
// HiBench's scripts get the same start script as ours.

// Names of the input's tables, which are folders below the input's folder.
const (
	rankingsTable = "rankings"
	visitsTable   = "uservisits"
)

// query is how a query runs.
type query struct {
	table   string // that it writes, as in HiBench: a folder below the run's output
	columns string // of that table
	text    string // our own; HiBench's text says the same in another way
	checked check  // what is compared of its result
}

var queries = map[string]query{
	"join": {
		"rankings_uservisits_join", "sourceIP STRING, avgPageRank DOUBLE, totalRevenue DOUBLE",
		`SELECT v.sourceIP, AVG(r.pageRank), SUM(v.adRevenue) AS totalRevenue
FROM uservisits v JOIN rankings r ON r.pageURL = v.destURL
WHERE v.visitDate BETWEEN '1999-01-01' AND '2000-01-01'
GROUP BY v.sourceIP
ORDER BY totalRevenue DESC`,
		check{"number of rows", "order of revenues", "sums of revenues and page ranks"},
	},
	"aggregation": {
		"uservisits_aggre", "sourceIP STRING, sumAdRevenue DOUBLE",
		"SELECT sourceIP, SUM(adRevenue) FROM uservisits GROUP BY sourceIP",
		check{"number of rows", "sums of revenues"},
	},
	"scan": {"uservisits_copy", tables.VisitsColumns, "SELECT * FROM uservisits", check{"number of rows", "all rows"}},
}

// checkHive returns an error if Hive's folder lacks a jar.
func (r *Runner) checkHive() error {
	if r.env.Hive == "" {
		return fmt.Errorf("hibench: %s needs Hive, and no folder with its jars is given", r.spec)
	}
	for _, p := range []string{r.env.RunDir, r.env.HadoopHome, r.env.Hive} {
		if !plainPath.MatchString(p) {
			return fmt.Errorf("hibench: path %q: Hive's start does not support blanks and special characters; want letters, digits and "+
				"_./:@%%+,=~-", p)
		}
	}
	for _, name := range []string{"hive-exec-*.jar", "hive-cli-*.jar"} {
		if _, err := oneFile(r.env.Hive, name); err != nil {
			return fmt.Errorf("hibench: Hive's jars, as in the folder lib of Hive 4.0: %w", err)
		}
	}
	return nil
}

// openPackages are the packages of the Java library whose private parts Hive's
// client and tasks use. Java 17 forbids this unless it is told otherwise.
const openPackages = "java.io java.lang java.lang.invoke java.lang.reflect java.math java.net java.nio java.text java.time java.util " +
	"java.util.concurrent java.util.concurrent.atomic java.util.regex"

// javaOptions returns the value of the environment variable JDK_JAVA_OPTIONS
// for processes that run Hive. Java 8, which knows no such options, does not
// read this variable, and the cluster's own options of tasks stay as they are.
func javaOptions() string {
	var options []string
	for name := range strings.FieldsSeq(openPackages) {
		options = append(options, "--add-opens=java.base/"+name+"=ALL-UNNAMED")
	}
	return strings.Join(options, " ")
}

// hiveTaskSettings returns the Hadoop properties with which tasks run Hive's
// code.
func (r *Runner) hiveTaskSettings() []Setting {
	if !slices.Contains(r.uses, Hive) {
		return nil
	}
	var s []Setting
	for _, name := range []string{"mapreduce.map.env", "mapreduce.reduce.env", "yarn.app.mapreduce.am.env"} {
		s = append(s, Setting{name + ".JDK_JAVA_OPTIONS", javaOptions()})
	}
	return s
}

// writeHive writes into the folder of a run what Hive needs: a start script and
// its configuration.
func (r *Runner) writeHive(folder *os.Root, tag string, settings []Setting) error {
	if err := folder.RemoveAll("hive"); err != nil {
		return fmt.Errorf("folder for Hive: %w", err)
	}
	dir := filepath.Join(r.env.tagDir(tag), "hive")
	for _, name := range []string{"bin", "conf", "tmp"} {
		if err := folder.MkdirAll(filepath.Join("hive", name), 0o700); err != nil {
			return fmt.Errorf("folder for Hive: %w", err)
		}
	}
	site, err := r.hiveSite(tag, dir, settings)
	if err != nil {
		return err
	}
	exec, err := oneFile(r.env.Hive, "hive-exec-*.jar")
	if err != nil {
		return err
	}
	script := "#!/bin/sh\n# Starts Hive's command line for this run.\n"
	for _, v := range []Setting{
		{"HADOOP_HOME", r.env.HadoopHome},
		{"HADOOP_CONF_DIR", filepath.Join(r.env.tagDir(tag), confName)},
		{"HADOOP_CLASSPATH", strings.Join([]string{filepath.Join(dir, "conf"), exec, filepath.Join(r.env.Hive, "*")}, ":")},
		{"HADOOP_USER_CLASSPATH_FIRST", "true"},
		{"JDK_JAVA_OPTIONS", javaOptions()},
	} {
		script += "export " + v.Name + "=" + quote(v.Value) + "\n"
	}
	own := "-Xmx512m -Djava.io.tmpdir=" + filepath.Join(dir, "tmp") + " -Dhive.log.dir=" + dir + " -Dderby.stream.error.file=" +
		filepath.Join(dir, "derby.log")
	script += `export HADOOP_CLIENT_OPTS="${HADOOP_CLIENT_OPTS-} "` + quote(own) + "\n"
	script += "exec " + quote(filepath.Join(r.env.HadoopHome, "bin", "hadoop")) +
		` --config "$HADOOP_CONF_DIR" org.apache.hadoop.hive.cli.CliDriver "$@"` + "\n"
	// HiBench's scripts call schematool if Hadoop's path looks like that of a
	// release from 3.0 to 3.2. The metastore here needs none.
	for name, text := range map[string]string{"bin/hive": script, "bin/schematool": "#!/bin/sh\n", "conf/hive-site.xml": string(site)} {
		if err := folder.WriteFile(filepath.Join("hive", filepath.FromSlash(name)), []byte(text), 0o700); err != nil {
			return fmt.Errorf("folder for Hive: %w", err)
		}
	}
	return nil
}

// hiveSite returns Hive's configuration for a run. The run's settings are in it
// too, since Hive reads this file last.
func (r *Runner) hiveSite(tag, dir string, settings []Setting) ([]byte, error) {
	// Hadoop from 3.4 lacks commons-collections, which Hive's tasks need.
	collections, err := filepath.Glob(filepath.Join(r.env.Hive, "commons-collections-3*.jar"))
	if err != nil {
		return nil, fmt.Errorf("jars of Hive: %w", err)
	}
	for i := range collections {
		collections[i] = "file://" + collections[i]
	}
	hdfsDir := r.hivePath(tag)
	own := []Setting{
		{"hive.execution.engine", "mr"},
		{"hive.query.tag", tag}, // Hive replaces mapreduce.job.tags by tags of its own and this one
		// One split is a part of one file, as in HiBench's own queries. So it is
		// known which blocks a map reads. Hive's default combines files.
		{"hive.input.format", "org.apache.hadoop.hive.ql.io.HiveInputFormat"},
		{"hive.stats.autogather", "false"},
		{"hive.aux.jars.path", strings.Join(collections, ",")},
		{"hive.exec.submit.local.task.via.child", "false"}, // one JVM less
		{"hive.metastore.schema.verification", "false"},
		{"datanucleus.schema.autoCreateAll", "true"},
		{"javax.jdo.option.ConnectionURL", "jdbc:derby:;databaseName=" + filepath.Join(dir, "metastore_db") + ";create=true"},
		{"javax.jdo.option.ConnectionDriverName", "org.apache.derby.jdbc.EmbeddedDriver"},
		{"hive.metastore.warehouse.dir", path.Join(hdfsDir, "warehouse")},
		{"hive.exec.scratchdir", path.Join(hdfsDir, "scratch")},
		{"hive.exec.local.scratchdir", filepath.Join(dir, "tmp")},
		{"hive.downloaded.resources.dir", filepath.Join(dir, "tmp", "resources")},
		{"hive.querylog.location", filepath.Join(dir, "tmp", "querylog")},
	}
	return siteXML("", append(own, settings...)), nil
}

// queryCommand sets up a process that runs our own text of the workload's query.
func (r *Runner) queryCommand(c *client, output string) error {
	q := queries[r.spec.Workload]
	text := fmt.Sprintf(`SET mapreduce.job.maps=%d;
SET mapreduce.job.reduces=%d;
`, r.spec.Maps, r.spec.Reduces)
	for _, t := range []struct{ name, columns, folder, format string }{
		{rankingsTable, tables.RankingsColumns, path.Join(r.inputPath(), rankingsTable), " ROW FORMAT DELIMITED FIELDS TERMINATED BY ','"},
		{visitsTable, tables.VisitsColumns, path.Join(r.inputPath(), visitsTable), " ROW FORMAT DELIMITED FIELDS TERMINATED BY ','"},
		{q.table, q.columns, path.Join(output, q.table), ""},
	} {
		text += fmt.Sprintf("CREATE EXTERNAL TABLE %s (%s)%s STORED AS SEQUENCEFILE LOCATION '%s';\n", t.name, t.columns, t.format,
			t.folder)
	}
	text += fmt.Sprintf("INSERT OVERWRITE TABLE %s\n%s;\n", q.table, q.text)
	if err := c.folder.WriteFile("query.sql", []byte(text), 0o600); err != nil {
		return fmt.Errorf("write query: %w", err)
	}
	c.argv = []string{filepath.Join(c.dir, "hive", "bin", "hive"), "-f", filepath.Join(c.dir, "query.sql")}
	return nil
}

// ErrFailedQuery is wrapped in the error of Runner.Run if the output says that a
// query, or a program of HiBench's scripts, failed. HiBench's scripts do not look, and
// report it like one that succeeded.
var ErrFailedQuery = errors.New("it failed")

// Lines of Hive's output.
var (
	stageStarts = regexp.MustCompile(`^Starting Job = (job_\S+),`)
	stageEnds   = regexp.MustCompile(`^Ended Job = (job_\S+)(.*)$`)
	queryFails  = regexp.MustCompile(`^(FAILED: |Execution failed with exit status|Exception in thread "main")`)
	triesAgain  = regexp.MustCompile(`^ATTEMPT: Execute BackupTask`)
)

// failure returns why a client failed, or nil if it did not. err is the client's own
// error: HiBench's scripts may end without one when a program of theirs fails, and Hive
// ends with a status that names no job.
func (r *Runner) failure(c *client, err error) error {
	ended := (*ClientError)(nil)
	if err != nil && !(errors.As(err, &ended) && ended.Code > 0) || r.w.program != Scripts && !SQL(r.spec.Workload) {
		return err
	}
	failed := checkLog(c.log, slices.Contains(r.uses, Hive))
	switch {
	case failed == nil:
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", failed, err)
	}
	return fmt.Errorf("%w; output in %s", failed, c.log)
}

// checkLog returns an error if the output of a client says that a program failed. Output
// of Hive's must also say of each stage of the query that it ended. If a join that
// keeps one table in memory fails, Hive tries another way to join, which is no
// failure.
func checkLog(name string, hive bool) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read the output: %w", err)
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	running, ended, failure := "", 0, ""
	for {
		line, err := lines.ReadString('\n')
		line = strings.TrimSpace(line)
		switch {
		case queryFails.MatchString(line):
			if failure == "" {
				failure = line
			}
		case triesAgain.MatchString(line):
			failure = ""
		default:
			if m := stageStarts.FindStringSubmatch(line); m != nil {
				running = m[1]
			}
			if m := stageEnds.FindStringSubmatch(line); m != nil {
				if running, ended = "", ended+1; m[2] != "" {
					failure = fmt.Sprintf("its job %d, %s, ended%s", ended, m[1], m[2])
				}
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read the output: %w", err)
		}
	}
	switch {
	case failure != "":
		return fmt.Errorf("%w: %s", ErrFailedQuery, failure)
	case !hive:
	case running != "":
		return fmt.Errorf("%w: Hive does not say that %s ended", ErrFailedQuery, running)
	case ended == 0:
		return fmt.Errorf("%w: Hive started no job", ErrFailedQuery)
	}
	return nil
}
