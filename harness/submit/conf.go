package submit

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"heddle/collectors/yarn"
)

// readSite reads the files of a client configuration folder in the order in
// which Hadoop's client does. It fails if HDFS is not the default file system.
func readSite(folder string) (yarn.Conf, error) {
	site := yarn.Conf{}
	for _, name := range []string{"core-site.xml", "mapred-site.xml", "yarn-site.xml", "hdfs-site.xml"} {
		file := filepath.Join(folder, name)
		f, err := os.Open(file)
		if errors.Is(err, fs.ErrNotExist) && name != "core-site.xml" {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("submit: client configuration (hadoop.conf of the cluster file): %w", err)
		}
		part, err := yarn.ParseConf(f)
		f.Close()
		if err != nil && !errors.Is(err, yarn.ErrNoProperty) {
			return nil, fmt.Errorf("submit: %s: %w", file, err)
		}
		maps.Copy(site, part)
	}
	if u, err := url.Parse(site.Expand(site["fs.defaultFS"])); err != nil || u.Scheme != "hdfs" || u.Host == "" {
		return nil, fmt.Errorf("submit: %s: fs.defaultFS is %q; want hdfs://host:port, as jobs' files are staged in HDFS",
			filepath.Join(folder, "core-site.xml"), site["fs.defaultFS"])
	}
	return site, nil
}

// text returns the value of a property of the job, with its references
// expanded. If the property is not set, the result is the parameter otherwise.
func text(c yarn.Conf, name, otherwise string) string {
	if v, set := c[name]; set {
		return c.Expand(v)
	}
	return otherwise
}

// unsupported are settings that change which files a job needs or how its
// ApplicationMaster starts, in ways that this package does not know.
var unsupported = []string{
	"mapreduce.application.framework.path",
	"mapreduce.job.log4j-properties-file",
	"mapreduce.job.cache.archives",
	"mapreduce.job.classpath.files",
	"mapreduce.job.classpath.archives",
	"mapreduce.job.reservation.id",
}

// check refuses a job that cannot be submitted whatever the cluster.
func (s *Submitter) check(j Job) error {
	conf := s.conf(j)
	for _, name := range unsupported {
		if conf[name] != "" {
			return fmt.Errorf("%s is set to %q, which heddle cannot submit; unset it for this job", name, conf[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(j.Settings)) {
		if slices.Contains(derived, name) {
			return fmt.Errorf("setting %s: its value follows from the job; it cannot be set", name)
		}
	}
	if j.Mapper == "" || j.Reduces < 0 || j.Reduces > 0 && j.Reducer == "" {
		return fmt.Errorf("mapper %q, reducer %q, %d reduces: want a mapper, and a reducer if there are reduces", j.Mapper, j.Reducer,
			j.Reduces)
	}
	links := map[string]bool{}
	for _, f := range j.Files {
		if f.Link == "" || strings.ContainsAny(f.Link, "/,#") || links[f.Link] || !path.IsAbs(f.Path) {
			return fmt.Errorf("file %q with link %q: want an absolute path and an own name without / , #", f.Path, f.Link)
		}
		links[f.Link] = true
	}
	if j.Output != "" && !path.IsAbs(j.Output) {
		return fmt.Errorf("output folder %q: want an absolute path in HDFS", j.Output)
	}
	return nil
}

// conf returns the cluster's client configuration with the settings that every
// Streaming job has, and over both the job's own settings.
func (s *Submitter) conf(j Job) yarn.Conf {
	conf := maps.Clone(s.site)
	maps.Copy(conf, streaming(j))
	maps.Copy(conf, j.Settings)
	return conf
}

// streaming returns the settings by which Hadoop Streaming runs a job's
// commands, as the class StreamJob of Hadoop sets them. The names of classes are
// of the streaming jar.
func streaming(j Job) map[string]string {
	const pkg = "org.apache.hadoop.streaming."
	set := map[string]string{
		"mapred.input.format.class":         "org.apache.hadoop.mapred.TextInputFormat",
		"mapred.output.format.class":        "org.apache.hadoop.mapred.TextOutputFormat",
		"mapred.map.runner.class":           pkg + "PipeMapRunner",
		"mapred.mapper.class":               pkg + "PipeMapper",
		"mapred.mapper.new-api":             "false",
		"mapred.reducer.new-api":            "false",
		"mapreduce.job.output.key.class":    "org.apache.hadoop.io.Text",
		"mapreduce.job.output.value.class":  "org.apache.hadoop.io.Text",
		"mapreduce.map.output.key.class":    "org.apache.hadoop.io.Text",
		"mapreduce.map.output.value.class":  "org.apache.hadoop.io.Text",
		"stream.map.input.writer.class":     pkg + "io.TextInputWriter",
		"stream.map.output.reader.class":    pkg + "io.TextOutputReader",
		"stream.reduce.input.writer.class":  pkg + "io.TextInputWriter",
		"stream.reduce.output.reader.class": pkg + "io.TextOutputReader",
		"stream.map.streamprocessor":        url.QueryEscape(j.Mapper),
		"stream.addenvironment":             "HADOOP_ROOT_LOGGER=",
	}
	if j.Output == "" {
		set["mapred.output.format.class"] = "org.apache.hadoop.mapred.lib.NullOutputFormat"
	}
	if j.Reducer != "" {
		set["mapred.reducer.class"] = pkg + "PipeReducer"
		set["stream.reduce.streamprocessor"] = url.QueryEscape(j.Reducer)
	}
	return set
}

// derived are the properties that follow from a Job, and so cannot be set for
// it.
var derived = []string{
	"mapreduce.job.name", "mapreduce.job.dir", "mapreduce.job.jar", "mapreduce.job.jobjar.visibility",
	"mapreduce.job.maps", "mapreduce.job.reduces",
	"mapreduce.job.user.name", "mapreduce.job.working.dir", "mapreduce.output.fileoutputformat.outputdir",
	"mapreduce.job.cache.files", "mapreduce.job.cache.files.timestamps", "mapreduce.job.cache.files.filesizes",
	"mapreduce.job.cache.files.visibilities",
	"stream.map.streamprocessor", "stream.reduce.streamprocessor", "fs.defaultFS", "yarn.app.mapreduce.am.staging-dir",
}

// jobConf returns the content of a job's file job.xml as a configuration. It
// lacks Hadoop's own defaults: the ApplicationMaster and the tasks have them in
// their jars.
func (s *Submitter) jobConf(j Job, job Submitted, files []cacheFile) yarn.Conf {
	conf := s.conf(j)
	maps.Copy(conf, map[string]string{
		"mapreduce.job.name":              j.Name,
		"mapreduce.job.maps":              strconv.Itoa(len(j.Splits)),
		"mapreduce.job.reduces":           strconv.Itoa(j.Reduces),
		"mapreduce.job.dir":               job.Folder,
		"mapreduce.job.jar":               s.URL(s.jar.path),
		"mapreduce.job.jobjar.visibility": strconv.FormatBool(s.jar.public),
		"mapreduce.job.user.name":         s.user,
		"mapreduce.job.working.dir":       s.URL("/user/" + s.user),
		// The ApplicationMaster's web pages are shown through the
		// ResourceManager's proxy, and this filter sends visitors there.
		"hadoop.http.filter.initializers": "org.apache.hadoop.yarn.server.webproxy.amfilter.AmFilterInitializer",
	})
	conf["mapred.queue."+text(conf, "mapreduce.job.queuename", "default")+".acl-administer-jobs"] = "*"
	if host, err := os.Hostname(); err == nil {
		conf["mapreduce.job.submithostname"] = host
	}
	if j.Output != "" {
		conf["mapreduce.output.fileoutputformat.outputdir"] = s.URL(j.Output)
	}
	var urls, times, sizes, public []string
	for _, f := range files {
		urls = append(urls, s.URL(f.path)+"#"+url.PathEscape(f.link))
		times = append(times, strconv.FormatInt(f.modifiedMs, 10))
		sizes = append(sizes, strconv.FormatInt(f.bytes, 10))
		public = append(public, strconv.FormatBool(f.public))
	}
	if len(files) > 0 {
		conf["mapreduce.job.cache.files"] = strings.Join(urls, ",")
		conf["mapreduce.job.cache.files.timestamps"] = strings.Join(times, ",")
		conf["mapreduce.job.cache.files.filesizes"] = strings.Join(sizes, ",")
		conf["mapreduce.job.cache.files.visibilities"] = strings.Join(public, ",")
	}
	return conf
}

// URL returns the URL of a path in the cluster's HDFS, as Job.Splits has them.
func (s *Submitter) URL(name string) string {
	root, _ := url.Parse(s.site.Expand(s.site["fs.defaultFS"])) // readSite has checked it
	return (&url.URL{Scheme: root.Scheme, Host: root.Host, Path: name}).String()
}

// StagingFolder returns the HDFS folder that has the staging folders of a user's jobs,
// by the client configuration in a folder of this machine.
func StagingFolder(conf, user string) (string, error) {
	site, err := readSite(conf)
	if err != nil {
		return "", err
	}
	return yarn.StagingFolder(stagingRoot(site), user, ""), nil
}

// stagingRoot returns the HDFS folder below which each user has a staging
// folder.
func stagingRoot(site yarn.Conf) string {
	return text(site, "yarn.app.mapreduce.am.staging-dir", "/tmp/hadoop-yarn/staging")
}
