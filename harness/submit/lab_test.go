package submit

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/harness/clients"
	"heddle/harness/lab/labtest"
	"heddle/yarnclient"
)

// lab is the shared lab with a Submitter and an HDFS folder of the test's own.
type lab struct {
	*Submitter
	*clients.Clients
	folder string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	c := labtest.Shared(t).Cluster()
	cs := must(clients.To(&c, clients.Patience{}))
	t.Cleanup(func() { cs.Close() })
	s := must(New(t.Context(), cs))
	l := &lab{s, cs, fmt.Sprintf("/submit-test/%d-%s", os.Getpid(), t.Name())}
	t.Cleanup(func() { l.files.RemoveAll(context.Background(), l.folder) })
	return l
}

// hadoop makes a command of Hadoop's own client.
func (l *lab) hadoop(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(l.Config.Hadoop.Home, "bin/hadoop"), args...)
	cmd.Env = append(os.Environ(), "HADOOP_CONF_DIR="+l.Config.Hadoop.Conf)
	return cmd
}

// until asks every 100 ms whether something has come true.
func until(t *testing.T, ctx context.Context, what string, done func() bool) {
	t.Helper()
	for tick := time.Tick(100 * time.Millisecond); !done(); {
		select {
		case <-tick:
		case <-ctx.Done():
			t.Fatalf("waiting for %s: %v", what, context.Cause(ctx))
		}
	}
}

// ended waits for an application's end, which must be a success.
func (l *lab) ended(t *testing.T, ctx context.Context, app string) {
	t.Helper()
	var got yarnclient.App
	until(t, ctx, "the end of "+app, func() bool {
		var err error
		if got, err = l.RM.App(ctx, app); err != nil {
			t.Fatal(err)
		}
		return got.Ended()
	})
	if got.FinalStatus != "SUCCEEDED" {
		t.Fatalf("%s: %s, %s", app, got.FinalStatus, got.Diagnostics)
	}
}

// seen is what a job gave to its ApplicationMaster and what it did.
type seen struct {
	yarn.Staged
	app      yarnclient.App
	conf     yarn.Conf
	defaults map[string]bool // properties of job.xml that come from Hadoop's own defaults
	launch   []string        // lines of the script that starts the ApplicationMaster
	counters yarnclient.Counters
}

// see watches an application from its submission to its end.
func (l *lab) see(t *testing.T, ctx context.Context, app yarnclient.App) seen {
	t.Helper()
	id := "job_" + strings.TrimPrefix(app.ID, "application_")
	folder := yarn.StagingFolder(stagingRoot(l.site), app.User, id)
	s := seen{app: app}
	var err error
	if s.Staged, err = yarn.ReadStaged(ctx, l.HDFS, folder); err != nil {
		t.Fatal(err)
	}
	if s.conf, err = s.Conf(); err != nil {
		t.Fatal(err)
	}
	s.defaults = defaults(t, s.JobXML)
	l.ended(t, ctx, app.ID)
	if s.app, err = l.RM.App(ctx, app.ID); err != nil {
		t.Fatal(err)
	}
	attempts, err := l.RM.Attempts(ctx, app.ID)
	if err != nil || len(attempts) != 1 {
		t.Fatalf("attempts of %s: %+v, %v", app.ID, attempts, err)
	}
	s.launch = l.launchScript(t, ctx, s.app, attempts[0].ContainerID, id)
	until(t, ctx, "the history of "+id, func() bool {
		s.counters, err = l.History.Job(id).Counters(ctx)
		return err == nil
	})
	return s
}

// defaults lists the properties in a job.xml of Hadoop's client that come from
// the files of defaults in Hadoop's jars.
func defaults(t *testing.T, jobXML []byte) map[string]bool {
	t.Helper()
	var file struct {
		Properties []struct {
			Name   string   `xml:"name"`
			Source []string `xml:"source"`
		} `xml:"property"`
	}
	mustDo(t, xml.Unmarshal(jobXML, &file))
	names := map[string]bool{}
	for _, p := range file.Properties {
		names[p.Name] = len(p.Source) > 0 && strings.HasSuffix(p.Source[0], "-default.xml")
	}
	return names
}

var (
	numbers  = regexp.MustCompile(`/filecache/[0-9]+/`)
	volatile = regexp.MustCompile(`^export (LOCALIZATION_COUNTERS|APP_SUBMIT_TIME_ENV)=.*`)
)

// launchScript returns the lines of an ApplicationMaster's launch script that
// set variables, link files and start the program, with all ids replaced.
func (l *lab) launchScript(t *testing.T, ctx context.Context, app yarnclient.App, container, job string) []string {
	t.Helper()
	url := "http://" + app.AMHost + "/ws/v1/node/containerlogs/" + container + "/launch_container.sh"
	client := http.Client{Transport: &http.Transport{DialContext: l.Config.DialContext(), DisableKeepAlives: true}}
	req := must(http.NewRequestWithContext(ctx, "GET", url, nil))
	resp := must(client.Do(req))
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s: status %d, %v", url, resp.StatusCode, err)
	}
	script := strings.NewReplacer(container, "CONTAINER", app.ID, "APPLICATION", job, "JOB").Replace(string(text))
	var lines []string
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "export ") || strings.HasPrefix(line, "ln ") || strings.HasPrefix(line, "exec /bin/bash") {
			line = volatile.ReplaceAllString(numbers.ReplaceAllString(line, "/filecache/N/"), "export $1")
			lines = append(lines, line)
		}
	}
	slices.Sort(lines)
	return lines
}

// TestSameAsHadoopsClient runs one Streaming job twice: submitted by the
// command hadoop jar and by a Submitter. What both stage, how their
// ApplicationMasters start, and what they do must be the same but for the
// differences listed here.
func TestSameAsHadoopsClient(t *testing.T) {
	l := newLab(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	in, out := l.folder+"/in/text", l.folder+"/out"
	var text bytes.Buffer
	for i := range 20_000 {
		fmt.Fprintf(&text, "key%d\tvalue %d\n", i*7919%1000, i)
	}
	mustDo(t, l.files.Write(ctx, in, &text, 0o644))
	shared, err := l.Share(ctx, "/bin/cat")
	if err != nil {
		t.Fatal(err)
	}
	tag := fmt.Sprintf("submit-test-%d", os.Getpid())
	settings := map[string]string{"mapreduce.job.priority": "HIGH", "mapreduce.task.io.sort.mb": "20"}

	args := []string{
		"jar", streamingJarOf(t, l), "-Dmapreduce.job.tags=" + tag, "-Dmapreduce.job.name=same", "-Dmapreduce.job.maps=2",
		"-Dmapreduce.job.reduces=2",
	}
	for name, value := range settings {
		args = append(args, "-D"+name+"="+value)
	}
	args = append(args, "-files", l.URL(shared)+"#mycat", "-input", in, "-output", out+"1", "-mapper", "./mycat -u", "-reducer", "/bin/cat")
	client := l.hadoop(ctx, args...)
	var log bytes.Buffer
	client.Stdout, client.Stderr = &log, &log
	mustDo(t, client.Start())
	var apps []yarnclient.App
	until(t, ctx, "Hadoop's client", func() bool {
		apps = must(l.RM.Apps(ctx, yarnclient.AppFilter{Tags: []string{tag}}))
		return len(apps) > 0
	})
	theirs := l.see(t, ctx, apps[0])

	metas, splits, err := theirs.Splits()
	if err != nil {
		t.Fatal(err)
	}
	job := Job{
		Name: "same", Splits: splits, Reduces: 2, Mapper: "./mycat -u", Reducer: "/bin/cat",
		Files: []File{{shared, "mycat"}}, Output: out + "2", Settings: map[string]string{"mapreduce.job.tags": tag + ",B"},
	}
	maps.Copy(job.Settings, settings)
	for _, m := range metas {
		job.Hosts = append(job.Hosts, m.Hosts)
	}
	done := must(l.Submit(ctx, job))
	app := must(l.RM.App(ctx, done.App))
	ours := l.see(t, ctx, app)

	if !bytes.Equal(ours.JobSplit, theirs.JobSplit) || !bytes.Equal(ours.SplitMetaInfo, theirs.SplitMetaInfo) {
		t.Errorf("splits differ:\n%q %q\n%q %q", ours.JobSplit, ours.SplitMetaInfo, theirs.JobSplit, theirs.SplitMetaInfo)
	}
	compareConf(t, ours, theirs)
	compareLaunch(t, ours.launch, theirs.launch)
	compareCounters(t, ours.counters, theirs.counters)
	if want := tag + ",b"; !slices.Contains([]string{want, "b," + tag}, ours.app.Tags) {
		t.Errorf("tags %q, want %q", ours.app.Tags, want)
	}
	if ours.app.Priority != theirs.app.Priority || ours.app.Queue != theirs.app.Queue || ours.app.AMLabel != theirs.app.AMLabel ||
		ours.app.Type != theirs.app.Type || ours.app.User != theirs.app.User || ours.app.Name != theirs.app.Name {
		t.Errorf("application\n%+v\nby Hadoop's client\n%+v", ours.app, theirs.app)
	}
	compareOutput(t, l, out+"2", out+"1")
	until(t, ctx, "removal of the staging folder", func() bool { // the ApplicationMaster removes it after the job's end
		_, err := l.files.Stat(ctx, done.Folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		return err != nil
	})
	if err := client.Wait(); err != nil {
		t.Errorf("Hadoop's client: %v\n%s", err, log.Bytes())
	}
	used := client.ProcessState.SysUsage().(*syscall.Rusage)
	t.Logf("Hadoop's client for one job: %s", cost(used))
	t.Logf("job.xml: %d bytes with %d properties, %d bytes with %d by Hadoop's client", len(ours.JobXML), len(ours.conf), len(theirs.JobXML),
		len(theirs.conf))
}

func rusage(t *testing.T) syscall.Rusage {
	t.Helper()
	var u syscall.Rusage
	mustDo(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u
}

// cost tells the CPU time and the memory of a process.
func cost(u *syscall.Rusage) string {
	cpu := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	return fmt.Sprintf("%.2f s of CPU time, at most %d MiB resident", cpu.Seconds(), u.Maxrss>>10)
}

func streamingJarOf(t *testing.T, l *lab) string {
	t.Helper()
	jar := must(streamingJar(l.Config.Hadoop.Home))
	return jar
}

// confDifferences are the properties of job.xml that may differ from those of
// Hadoop's client, each with the reason. Properties with Hadoop's own default
// value may be missing, too: every ApplicationMaster has them in its jars.
var confDifferences = map[string]string{
	"mapreduce.job.dir":                                       "each job has its own folder",
	"mapreduce.output.fileoutputformat.outputdir":             "the two jobs write to two folders",
	"mapreduce.job.tags":                                      "the test gives our job one more",
	"mapreduce.job.jar":                                       "jobs share one jar, and do not upload it again each",
	"mapreduce.job.jobjar.visibility":                         "so nodes keep one copy of the shared jar for all jobs",
	"mapreduce.job.submithostname":                            "Hadoop's client runs in the lab's network, under another name",
	"mapreduce.job.submithostaddress":                         "information about the client only; an address would have to be chosen",
	"mapreduce.input.fileinputformat.inputdir":                "read only by a client, to make splits",
	"mapreduce.input.fileinputformat.numinputfiles":           "written only by a client, when it makes splits",
	"mapreduce.job.cache.files.sharedcache.uploadpolicies":    "of YARN's shared cache, which is not used; it is empty",
	"mapreduce.job.cache.archives.sharedcache.uploadpolicies": "of YARN's shared cache, which is not used; it is empty",
	"mapreduce.client.genericoptionsparser.used":              "says how Hadoop's client read its command line",
	"tmpfiles": "the client's option -files, as it was given",
	"rpc.engine.org.apache.hadoop.hdfs.protocolPB.ClientNamenodeProtocolPB": "set by the client's own connection to HDFS",
}

func compareConf(t *testing.T, ours, theirs seen) {
	t.Helper()
	for name, value := range theirs.conf {
		mine, set := ours.conf[name]
		if confDifferences[name] == "" && (set && mine != value || !set && !theirs.defaults[name]) {
			t.Errorf("job.xml: %s is %q (set: %v), by Hadoop's client %q", name, mine, set, value)
		}
	}
	for name, value := range ours.conf {
		if _, set := theirs.conf[name]; !set && confDifferences[name] == "" {
			t.Errorf("job.xml: %s is %q, not set by Hadoop's client", name, value)
		}
	}
}

// launchDifferences are the lines of the launch script that only one of the two
// jobs may have, each with the reason.
var launchDifferences = []struct{ only, pattern, why string }{
	{"ours", `^ln -sf -- ".*/nm-local/filecache/N/[0-9a-f]{16}-hadoop-streaming-.*\.jar" "job.jar"$`, "the shared jar, a copy of the node's"},
	{"theirs", `^ln -sf -- ".*/appcache/APPLICATION/filecache/N/job.jar" "job.jar"$`, "the jar of this job, a copy of the job's"},
}

func compareLaunch(t *testing.T, ours, theirs []string) {
	t.Helper()
	only := func(who string, lines, other []string) {
		for _, line := range lines {
			allowed := slices.Contains(other, line)
			for _, d := range launchDifferences {
				allowed = allowed || d.only == who && regexp.MustCompile(d.pattern).MatchString(line)
			}
			if !allowed {
				t.Errorf("launch script: only %s: %s", who, line)
			}
		}
	}
	only("ours", ours, theirs)
	only("theirs", theirs, ours)
	if len(ours) < 20 {
		t.Errorf("launch script has only %d lines: %q", len(ours), ours)
	}
}

func compareCounters(t *testing.T, ours, theirs yarnclient.Counters) {
	t.Helper()
	compared := 0
	for _, c := range []struct{ group, name string }{
		{"FileSystemCounter", "HDFS_BYTES_READ"},
		{"FileSystemCounter", "HDFS_BYTES_WRITTEN"},
		{"FileSystemCounter", "FILE_BYTES_READ"},
		{"TaskCounter", "MAP_INPUT_RECORDS"},
		{"TaskCounter", "MAP_OUTPUT_RECORDS"},
		{"TaskCounter", "MAP_OUTPUT_BYTES"},
		{"TaskCounter", "MAP_OUTPUT_MATERIALIZED_BYTES"},
		{"TaskCounter", "SPLIT_RAW_BYTES"},
		{"TaskCounter", "REDUCE_SHUFFLE_BYTES"},
		{"TaskCounter", "REDUCE_INPUT_RECORDS"},
		{"TaskCounter", "REDUCE_INPUT_GROUPS"},
		{"TaskCounter", "REDUCE_OUTPUT_RECORDS"},
		{"TaskCounter", "SPILLED_RECORDS"},
		{"TaskCounter", "SHUFFLED_MAPS"},
		{"JobCounter", "TOTAL_LAUNCHED_MAPS"},
		{"JobCounter", "TOTAL_LAUNCHED_REDUCES"},
	} {
		mine, found := ours.Get(c.group, c.name)
		want, _ := theirs.Get(c.group, c.name)
		if found {
			compared++
		}
		if mine.Total != want.Total {
			t.Errorf("%s is %d, by Hadoop's client %d", c.name, mine.Total, want.Total)
		}
	}
	if compared < 14 {
		t.Errorf("Hadoop reported only %d of the counters", compared)
	}
}

func compareOutput(t *testing.T, l *lab, ours, theirs string) {
	t.Helper()
	hdfs := must(l.HDFS.Files(t.Context()))
	for _, part := range []string{"part-00000", "part-00001", "_SUCCESS"} {
		mine, err := hdfs.ReadFile(ours + "/" + part)
		want, err2 := hdfs.ReadFile(theirs + "/" + part)
		if err != nil || err2 != nil || len(mine) != len(want) { // values of one key come in any order
			t.Errorf("%s: %d bytes, %v; by Hadoop's client %d bytes, %v", part, len(mine), err, len(want), err2)
		}
	}
}

// waiting is a job whose ApplicationMaster waits for a node with a label that no
// node has, so it is accepted and never starts.
func waiting(name string) Job {
	return Job{Name: name, Mapper: "/bin/cat", Splits: make([]jobsplit.Split, 0), Settings: map[string]string{
		"mapreduce.job.am.node-label-expression": "a15",
	}}
}

// jobsLeft are the folders of jobs in the user's staging folder, which a new
// cluster does not have.
func (l *lab) jobsLeft(t *testing.T) []string {
	t.Helper()
	names, err := l.HDFS.Names(t.Context(), yarn.StagingFolder(stagingRoot(l.site), l.user, ""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return names
}

// wantNothingNew fails if there are folders of jobs that were not there before.
// The ApplicationMaster of an earlier job may remove its own meanwhile.
func (l *lab) wantNothingNew(t *testing.T, before []string) {
	t.Helper()
	left := slices.DeleteFunc(l.jobsLeft(t), func(name string) bool { return slices.Contains(before, name) })
	if len(left) > 0 {
		t.Errorf("new in the staging folder: %v", left)
	}
}

func TestLabRefusals(t *testing.T) {
	l := newLab(t)
	before := l.jobsLeft(t)
	for name, test := range map[string]struct{ setting, value, want string }{
		"queue":    {"mapreduce.job.queuename", "nope", "unknown queue: nope"},
		"memory":   {"yarn.app.mapreduce.am.resource.mb", "999999", "more memory than configured max"},
		"cores":    {"yarn.app.mapreduce.am.resource.cpu-vcores", "9999", "more cores than configured max"},
		"label":    {"mapreduce.job.am.node-label-expression", "nosuchlabel", "nosuchlabel"},
		"no label": {"mapreduce.job.queuename", "default", "label"},
		"long tag": {"mapreduce.job.tags", strings.Repeat("x", 101), "too long"},
		"not root": {"mapreduce.job.queuename", "root", "non-leaf queue : root"},
	} {
		t.Run(name, func(t *testing.T) {
			j := waiting("refused " + name)
			j.Settings[test.setting] = test.value
			done, err := l.Submit(t.Context(), j)
			if err == nil {
				err = l.Kill(t.Context(), done)
				t.Fatalf("accepted as %s; killed: %v", done.App, err)
			}
			t.Log(err)
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v; want one with %q", err, test.want)
			}
		})
	}
	l.wantNothingNew(t, before)
	apps := must(l.RM.Apps(t.Context(), yarnclient.AppFilter{States: []string{"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"}}))
	for _, app := range apps {
		if strings.HasPrefix(app.Name, "refused") {
			t.Errorf("%s is %s", app.ID, app.State)
		}
	}
}

// TestLabHDFSRefuses submits while HDFS takes no more bytes in the staging
// folder, and while it is read-only.
func TestLabHDFSRefuses(t *testing.T) {
	l := newLab(t)
	staging := yarn.StagingFolder(stagingRoot(l.site), l.user, "")
	mustDo(t, l.haveStaging(t.Context()))
	admin := func(args ...string) {
		t.Helper()
		cmd := l.hadoop(context.Background(), append([]string{"dfsadmin"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("dfsadmin %v: %v\n%s", args, err, out)
		}
	}
	for _, test := range []struct {
		name       string
		begin, end []string
		want       string
	}{
		{"full", []string{"-setSpaceQuota", "1m", staging}, []string{"-clrSpaceQuota", staging}, "quota"},
		{"read-only", []string{"-safemode", "enter"}, []string{"-safemode", "leave"}, "safe mode"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := l.jobsLeft(t)
			func() {
				defer admin(test.end...)
				admin(test.begin...)
				done, err := l.Submit(t.Context(), waiting(test.name))
				t.Log(err)
				if err == nil {
					t.Fatalf("accepted as %s", done.App)
				}
				if !strings.Contains(strings.ToLower(err.Error()), test.want) || strings.Contains(err.Error(), "is left") {
					t.Errorf("error %v; want one with %q that leaves nothing", err, test.want)
				}
			}()
			l.wantNothingNew(t, before)
			done, err := l.Submit(t.Context(), waiting("after "+test.name))
			if err == nil {
				err = l.Kill(t.Context(), done)
			}
			if err != nil {
				t.Errorf("submitted again: %v", err)
			}
		})
	}
}

// TestLabManyJobs submits jobs all at once: 20, or 200 if HEDDLE_LONG=1. The
// time is reported; it is the machine's.
func TestLabManyJobs(t *testing.T) {
	l := newLab(t)
	n := 20
	if os.Getenv("HEDDLE_LONG") == "1" {
		n = 200
	}
	left, before := l.jobsLeft(t), rusage(t)
	began := time.Now()
	var all sync.WaitGroup
	jobs := make([]Submitted, n)
	for i := range n {
		all.Go(func() {
			var err error
			if jobs[i], err = l.Submit(t.Context(), waiting(fmt.Sprintf("many %d", i))); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	used := rusage(t)
	used.Utime = syscall.NsecToTimeval(used.Utime.Nano() - before.Utime.Nano())
	used.Stime = syscall.NsecToTimeval(used.Stime.Nano() - before.Stime.Nano())
	t.Logf("%d jobs accepted in %.1f s: %s", n, took.Seconds(), cost(&used))
	if n == 200 && took > time.Minute {
		t.Errorf("%d jobs took %v; want a minute at most", n, took)
	}
	states := map[string]int{}
	for _, j := range jobs {
		if app, err := l.RM.App(t.Context(), j.App); err != nil {
			t.Error(err)
		} else {
			states[app.State]++
		}
	}
	if states["ACCEPTED"] != n {
		t.Errorf("states of the applications: %v, want %d ACCEPTED", states, n)
	}
	for _, j := range jobs {
		all.Go(func() {
			if err := l.Kill(t.Context(), j); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	l.wantNothingNew(t, left)
}
