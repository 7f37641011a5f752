package submit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/traces/errtest"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

func TestSubmit(t *testing.T) {
	f := newFixture(t)
	done := must(f.Submit(t.Context(), job("one")))
	app, err := f.rm.App(t.Context(), done.App)
	if err != nil || app.Name != "one" || app.Queue != "replay" || app.Tags != "a,b" || app.Ended() {
		t.Errorf("application %+v, %v", app, err)
	}
	if want := []string{
		done.Folder, done.Folder + "/job.split", done.Folder + "/job.splitmetainfo",
		done.Folder + "/job.xml",
	}; !cmp.Equal(f.hdfs.left(stagingOfAnn), want) {
		t.Errorf("staged %v, want %v", f.hdfs.left(stagingOfAnn), want)
	}
	for name, mode := range map[string]fs.FileMode{
		stagingOfAnn: 0o700, done.Folder: 0o700, done.Folder + "/job.xml": 0o644,
		done.Folder + "/job.split": 0o644,
	} {
		if got := f.hdfs.entries[name].Mode; got != mode {
			t.Errorf("%s has mode %v, want %v", name, got, mode)
		}
	}
	metas, err := jobsplit.ParseMeta(strings.NewReader(f.hdfs.content[done.Folder+"/job.splitmetainfo"]))
	if err != nil || len(metas) != 2 || metas[1].Hosts[0] != "r1n2" {
		t.Errorf("job.splitmetainfo: %+v, %v", metas, err)
	}
	conf := must(yarn.ParseConf(strings.NewReader(f.hdfs.content[done.Folder+"/job.xml"])))
	for name, want := range map[string]string{
		"stream.map.streamprocessor": "%2Fbin%2Fcat+-n", "mapreduce.job.maps": "2", "mapreduce.job.reduces": "2",
		"mapreduce.job.dir":                           done.Folder,
		"mapreduce.output.fileoutputformat.outputdir": "hdfs://master:8020/out/one", "mapreduce.job.jobjar.visibility": "true",
		"mapreduce.job.tags": "a,b", "mapred.queue.replay.acl-administer-jobs": "*",
	} {
		if conf[name] != want {
			t.Errorf("job.xml: %s is %q, want %q", name, conf[name], want)
		}
	}
	mustDo(t, f.Kill(t.Context(), done))
	if left, states := f.hdfs.left(stagingOfAnn), f.apps(t); len(left) > 0 || states[0] != "KILLED" {
		t.Errorf("after the kill: files %v, application %v", left, states)
	}
	if err := f.Kill(t.Context(), done); err != nil {
		t.Errorf("killed again: %v", err)
	}
}

// Whatever fails, the error says what, and no file and no running application
// is left.
func TestNothingIsLeft(t *testing.T) {
	failing := func(call, name string) func(*fixture, *Job) {
		return func(f *fixture, _ *Job) {
			f.hdfs.fail = func(c, n string) error {
				if c == call && strings.Contains(n, name) {
					return errFull
				}
				return nil
			}
		}
	}
	setting := func(name, value string) func(*fixture, *Job) {
		return func(_ *fixture, j *Job) { j.Settings[name] = value }
	}
	for name, test := range map[string]struct {
		change func(*fixture, *Job)
		want   string
	}{
		"no folder":      {failing("mkdir", "job_"), "make staging folder hdfs " + stagingOfAnn + "/job_"},
		"no staging":     {failing("mkdir", stagingOfAnn), "make staging folder"},
		"no job.split":   {failing("write", "job.split"), "stage job.split: write"},
		"no metainfo":    {failing("write", "job.splitmetainfo"), "stage job.splitmetainfo: write"},
		"no job.xml":     {failing("write", "job.xml"), errFull.Error()},
		"replicas":       {failing("setReplication", "job.split"), "stage job.split"},
		"output there":   {func(f *fixture, _ *Job) { f.hdfs.Mkdir(t.Context(), "/out/one", 0o755) }, "output folder hdfs /out/one exists"},
		"file not there": {func(_ *fixture, j *Job) { j.Files = []File{{"/none", "x"}} }, "file of the tasks: stat /none"},
		"unknown queue":  {setting("mapreduce.job.queuename", "nope"), `refused application application_`},
		"queue in words": {setting("mapreduce.job.queuename", "nope"), `unknown queue: nope`},
		"too large":      {setting("yarn.app.mapreduce.am.resource.mb", "99999"), "more memory than configured max"},
		"unknown label":  {setting("mapreduce.job.am.node-label-expression", "a99"), "label= a99"},
		"long tag":       {setting("mapreduce.job.tags", strings.Repeat("x", 101)), "too long"},
		"priority":       {setting("mapreduce.job.priority", "urgent"), `mapreduce.job.priority: "urgent": want`},
		"unsupported":    {setting("mapreduce.application.framework.path", "/mr.tar.gz"), "mapreduce.application.framework.path is set"},
		"own setting":    {setting("mapreduce.job.jar", "/x.jar"), "setting mapreduce.job.jar: its value follows from the job"},
		"not XML":        {setting("x", "\x01"), `property "x": XML cannot have`},
		"no mapper":      {func(_ *fixture, j *Job) { j.Mapper = "" }, "want a mapper"},
		"no reducer":     {func(_ *fixture, j *Job) { j.Reducer = "" }, "a reducer if there are reduces"},
		"split":          {func(_ *fixture, j *Job) { j.Splits[1].Length = -1 }, "map 1: offset 7, length -1"},
		"link":           {func(_ *fixture, j *Job) { j.Files = []File{{"/x", "a#b"}} }, `link "a#b": want`},
		"other's folder": {func(f *fixture, _ *Job) { f.hdfs.user = "bob" }, `belongs to "bob"; want a folder of user "ann"`},
		"REST switched off": {func(f *fixture, _ *Job) {
			f.yarn.Inject(yarntest.Fault{
				Method: "POST", Path: "/apps", Status: http.StatusForbidden, Body: "App submission via REST is disabled.",
				Times: -1,
			})
		}, "App submission via REST is disabled."},
		"refused at once": {func(f *fixture, _ *Job) {
			f.yarn.Inject(yarntest.Fault{Method: "POST", Path: "/apps", Skip: 1, Status: http.StatusBadRequest, Body: "no"})
		}, "status 400: no"},
	} {
		t.Run(name, func(t *testing.T) {
			f, j := newFixture(t), job("one")
			test.change(f, &j)
			_, err := f.Submit(t.Context(), j)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "submit one: ") {
				t.Errorf("error %v; want one with %q", err, test.want)
			}
			if left := f.hdfs.left(stagingOfAnn); len(left) > 0 {
				t.Errorf("left in the staging folder: %v", left)
			}
			for _, state := range f.apps(t) {
				if state != "FAILED" && state != "KILLED" {
					t.Errorf("an application is %s", state)
				}
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for _, x := range []struct{ name, setting, value, state, reason string }{
		{"by its queue", "mapreduce.job.queuename", "nope", "FAILED", "unknown queue"},
		{"before it is stored", "yarn.app.mapreduce.am.resource.mb", "99999", "REFUSED", "more memory than configured max"},
	} {
		t.Run(x.name, func(t *testing.T) {
			f, j := newFixture(t), job("one")
			j.Settings[x.setting] = x.value
			_, err := f.Submit(t.Context(), j)
			var refused *RefusedError
			if !errors.As(err, &refused) || refused.State != x.state || refused.App == "" || !strings.Contains(refused.Reason, x.reason) {
				t.Errorf("error %v; want a RefusedError with state %s that says %q", err, x.state, x.reason)
			}
		})
	}
}

// A ResourceManager that is away for a moment, or answers to nobody that it has
// started the application, makes no second application and no error.
func TestResourceManagerComesBack(t *testing.T) {
	for name, fault := range map[string]yarntest.Fault{
		"answer lost":     {Method: "POST", Path: "/apps", Skip: 1, Apply: true, Drop: true},
		"not there":       {Method: "POST", Path: "/apps", Skip: 1, Times: 2, Drop: true},
		"no id":           {Method: "POST", Path: "/new-application", Times: 2, Status: http.StatusServiceUnavailable},
		"state not told":  {Method: "GET", Path: "/state", Times: 2, Drop: true},
		"forgets the app": {Method: "GET", Path: "/state", Times: 2, Status: http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.yarn.Inject(fault)
			must(f.Submit(t.Context(), job("one")))
			if states := f.apps(t); len(states) != 1 || states[0] == "FAILED" {
				t.Errorf("applications %v, want one that is not refused", states)
			}
		})
	}
}

// Wait outlasts a ResourceManager that restarts, reports a job that was killed,
// and kills the job when it is given up.
func TestWait(t *testing.T) {
	for name, test := range map[string]struct {
		happens func(t *testing.T, f *fixture, app string, stop func())
		want    string // in the error; empty means none
		state   string
	}{
		"restart": {func(_ *testing.T, f *fixture, _ string, _ func()) { f.yarn.RestartRM(10*time.Second, time.Second) }, "", "FINISHED"},
		"killed": {func(t *testing.T, f *fixture, app string, _ func()) {
			if err := f.rm.KillApp(t.Context(), app); err != nil {
				t.Error(err)
			}
		}, "ended as KILLED", "KILLED"},
		"given up":  {func(_ *testing.T, _ *fixture, _ string, stop func()) { stop() }, "context canceled", "KILLED"},
		"forgotten": {func(_ *testing.T, f *fixture, app string, _ func()) { f.yarn.Forget(app) }, "wait for application_", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t)
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				done, err := f.Submit(ctx, job("one"))
				if err != nil {
					t.Fatal(err)
				}
				test.happens(t, f, done.App, stop)
				err = f.Wait(ctx, done)
				wantError(t, err, test.want)
				if failed := errors.As(err, new(*FailedError)); failed != (name == "killed") {
					t.Errorf("error %v is a FailedError: %v", err, failed)
				}
				if states := strings.Join(f.apps(t), " "); states != test.state {
					t.Errorf("applications %q, want %q", states, test.state)
				}
			})
		})
	}
}

// A submission that is given up leaves nothing either, though its context has
// ended.
func TestGivenUp(t *testing.T) {
	f := newFixture(t)
	ctx, stop := context.WithCancel(t.Context())
	f.hdfs.fail = func(call, name string) error {
		if call == "write" && strings.HasSuffix(name, "job.xml") {
			stop()
		}
		return nil
	}
	errtest.Is(t, errOf(f.Submit(ctx, job("one"))), context.Canceled)
	for _, state := range f.apps(t) {
		if state != "KILLED" {
			t.Errorf("an application is %s", state)
		}
	}
	if left := f.hdfs.left(stagingOfAnn); len(left) > 0 {
		t.Errorf("left in the staging folder: %v", left)
	}
}

// What cannot be undone is in the error.
func TestSaysWhatIsLeft(t *testing.T) {
	f := newFixture(t)
	f.hdfs.fail = func(call, name string) error {
		if call == "remove" || call == "write" && strings.HasSuffix(name, "job.xml") {
			return errFull
		}
		return nil
	}
	_, err := f.Submit(t.Context(), job("one"))
	if left := f.hdfs.left(stagingOfAnn); err == nil || !strings.Contains(err.Error(), "hdfs "+left[0]+" is left, remove it") {
		t.Errorf("error %v; want one that names %v", err, left)
	}
}

func TestManyAtOnce(t *testing.T) {
	f := newFixture(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	ids := map[string]bool{}
	for i := range 60 {
		all.Go(func() {
			done, err := f.Submit(t.Context(), job(fmt.Sprint(i)))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			ids[done.App] = true
		})
	}
	all.Wait()
	if states := f.apps(t); len(states) != 60 || len(ids) != 60 {
		t.Errorf("%d applications, %d ids; want 60 each", len(states), len(ids))
	}
}

// Two processes that share a file at the same time upload one file, and none
// of them changes it after the other has it.
func TestShareIsOneFile(t *testing.T) {
	one := newFixture(t)
	two := newSubmitter(one.rm, one.hdfs, "ann", one.site)
	local := filepath.Join(t.TempDir(), "replay")
	mustDo(t, os.WriteFile(local, []byte("content"), 0o755))
	var both sync.WaitGroup
	var got [2]cacheFile
	for i, s := range []*Submitter{one.Submitter, two} {
		both.Go(func() {
			var err error
			if got[i], err = s.share(t.Context(), local); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if got[0] != got[1] || !got[0].public || got[0].bytes != 7 {
		t.Errorf("shared as %+v and %+v; want one public file", got[0], got[1])
	}
	if left := one.hdfs.left(sharedFolder); !cmp.Equal(left, []string{got[0].path}) || one.hdfs.entries[got[0].path].Mode != 0o755 {
		t.Errorf("in the shared folder: %v", left)
	}
	writes := one.hdfs.writes
	three := newSubmitter(one.rm, one.hdfs, "ann", one.site)
	reads := one.hdfs.reads
	for range 2 {
		if again, err := three.share(t.Context(), local); err != nil || again != got[0] || one.hdfs.writes != writes {
			t.Errorf("shared again as %+v, %v, with %d more writes", again, err, one.hdfs.writes-writes)
		}
	}
	if n := one.hdfs.reads - reads; n != 1 {
		t.Errorf("the content was read %d times, want once", n)
	}
}

// A file below a folder that others may not enter is no public file, which
// NodeManagers would refuse.
func TestVisibility(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		folder, file fs.FileMode
		public       bool
	}{{0o755, 0o644, true}, {0o711, 0o644, true}, {0o750, 0o644, false}, {0o755, 0o640, false}} {
		folder := fmt.Sprintf("/x/%o-%o", c.folder, c.file)
		f.hdfs.Mkdir(t.Context(), folder, c.folder)
		f.hdfs.Write(t.Context(), folder+"/f", strings.NewReader("x"), c.file)
		if got, err := f.cacheFile(t.Context(), folder+"/f", "f"); err != nil || got.public != c.public {
			t.Errorf("%s: %+v, %v; want public %v", folder, got, err, c.public)
		}
	}
}

func TestMaster(t *testing.T) {
	f := newFixture(t)
	j := job("one")
	j.Settings = map[string]string{
		"mapreduce.job.queuename": "q", "mapreduce.job.priority": "HIGH", "mapreduce.job.tags": " A , b,,", "mapreduce.am.max-attempts": "3",
		"mapreduce.job.node-label-expression": "x", "mapreduce.job.am.node-label-expression": "y",
		"yarn.app.mapreduce.am.resource.mb": "700", "yarn.app.mapreduce.am.resource.cpu-vcores": "2",
		"yarn.app.mapreduce.am.command-opts": "-Xmx${heap}m", "heap": "300", "yarn.app.mapreduce.am.admin-command-opts": "-server",
		"yarn.app.mapreduce.am.env": "A=1,LD_LIBRARY_PATH=/l", "yarn.app.mapreduce.am.env.B": "2,3",
		"mapreduce.job.acl-view-job": "ann", "mapreduce.job.acl-modify-job": "bob",
		"yarn.application.classpath": "/a/*, /b", "mapreduce.application.classpath": "",
	}
	files := staged{
		files: []cacheFile{
			{path: "/p/bin", link: "bin", bytes: 1, modifiedMs: 2},
			{path: "/s/b i", link: "pub", bytes: 3, modifiedMs: 4, public: true},
		},
		own: []cacheFile{
			{path: "/j/job.split", link: "job.split", bytes: 5, modifiedMs: 6},
			{path: "/j/job.xml", link: "job.xml", bytes: 7, modifiedMs: 8},
		},
	}
	got := must(f.master(j, Submitted{App: "application_1_0001"}, files))
	if len(got.Secrets["MapReduceShuffleToken"]) == 0 {
		t.Error("no secret for the shuffle")
	}
	got.Secrets = nil
	want := yarnclient.Submission{
		ID: "application_1_0001", Name: "one", Type: "MAPREDUCE", Queue: "q", Priority: 4, Tags: []string{"A", "b"}, MaxAttempts: 3,
		Label: "x", AMLabel: "y", AM: yarnclient.Resource{MemoryMB: 700, VCores: 2}, ViewACL: "ann", ModifyACL: "bob",
		Command: "$JAVA_HOME/bin/java -Djava.io.tmpdir=$PWD/tmp -Dlog4j.configuration=container-log4j.properties " +
			"-Dyarn.app.container.log.dir=<LOG_DIR> -Dyarn.app.container.log.filesize=0 -Dhadoop.root.logger=INFO,CLA -Dhadoop.root.logfile=syslog " +
			"-server -Xmx300m <ADD_OPENS> org.apache.hadoop.mapreduce.v2.app.MRAppMaster 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr ",
		Env: map[string]string{
			"A": "1", "B": "2,3", "SHELL": "/bin/bash", "LD_LIBRARY_PATH": "$PWD:{{HADOOP_COMMON_HOME}}/lib/native:/l",
			"CLASSPATH": "$PWD:/a/*:/b:$HADOOP_MAPRED_HOME/share/hadoop/mapreduce/*:$HADOOP_MAPRED_HOME/share/hadoop/mapreduce/lib/*:job.jar/*:job.jar/classes/:job.jar/lib/*:$PWD/*",
		},
		Files: map[string]yarnclient.LocalFile{
			"job.jar": {
				URL: "hdfs://master:8020/heddle/shared/0-hadoop-streaming-3.4.2.jar", Type: "PATTERN", Visibility: "PUBLIC",
				Size: 5, TimestampMs: 6,
			},
			"bin":                    {URL: "hdfs://master:8020/p/bin", Type: "FILE", Visibility: "PRIVATE", Size: 1, TimestampMs: 2},
			"pub":                    {URL: "hdfs://master:8020/s/b%20i", Type: "FILE", Visibility: "PUBLIC", Size: 3, TimestampMs: 4},
			"jobSubmitDir/job.split": {URL: "hdfs://master:8020/j/job.split", Type: "FILE", Visibility: "APPLICATION", Size: 5, TimestampMs: 6},
			"job.xml":                {URL: "hdfs://master:8020/j/job.xml", Type: "FILE", Visibility: "APPLICATION", Size: 7, TimestampMs: 8},
		},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestMasterVariants(t *testing.T) {
	for name, test := range map[string]struct {
		conf    yarn.Conf
		opens   bool
		command string            // part of the command
		env     map[string]string // some of the variables
	}{
		"defaults":  {command: "-Xmx1024m org.apache", env: map[string]string{"LD_LIBRARY_PATH": "$PWD:{{HADOOP_COMMON_HOME}}/lib/native"}},
		"opens off": {conf: yarn.Conf{"mapreduce.jvm.add-opens-as-default": "false"}, opens: true, command: "-Xmx1024m org.apache"},
		"log is rolled": {
			conf: yarn.Conf{
				"yarn.app.mapreduce.am.container.log.limit.kb": "2",
				"yarn.app.mapreduce.am.container.log.backups":  "3", "yarn.app.mapreduce.am.log.level": "WARN",
			},
			command: "log.filesize=2048 -Dyarn.app.container.log.backups=3 -Dhadoop.root.logger=WARN,CRLA",
		},
		"class loader": {
			conf: yarn.Conf{
				"mapreduce.job.classloader": "true", "yarn.application.classpath": "/y",
				"mapreduce.application.classpath": "/m",
			},
			env: map[string]string{"CLASSPATH": "/y:/m", "APP_CLASSPATH": "$PWD:job.jar/*:job.jar/classes/:job.jar/lib/*:$PWD/*"},
		},
		"job first": {
			conf: yarn.Conf{
				"mapreduce.job.user.classpath.first": "true", "yarn.application.classpath": "/y",
				"mapreduce.application.classpath": "/m",
			},
			env: map[string]string{"CLASSPATH": "$PWD:job.jar/*:job.jar/classes/:job.jar/lib/*:$PWD/*:/y:/m"},
		},
		"cross platform": {
			conf: yarn.Conf{
				"mapreduce.app-submission.cross-platform": "true", "yarn.application.classpath": "$HADOOP_CONF_DIR",
				"mapreduce.application.classpath": "/m",
			}, command: "{{JAVA_HOME}}/bin/java -Djava.io.tmpdir={{PWD}}/tmp",
			env: map[string]string{"CLASSPATH": "{{PWD}}<CPS>{{HADOOP_CONF_DIR}}<CPS>/m<CPS>job.jar/*<CPS>job.jar/classes/<CPS>job.jar/lib/*<CPS>{{PWD}}/*"},
		},
	} {
		if got := command(test.conf, test.opens); !strings.Contains(got, test.command) {
			t.Errorf("%s: command %q, want %q in it", name, got, test.command)
		}
		env := environment(test.conf)
		for variable, want := range test.env {
			if env[variable] != want {
				t.Errorf("%s: %s is %q, want %q", name, variable, env[variable], want)
			}
		}
	}
	for version, want := range map[string]bool{"3.3.6": false, "3.4.2": true, "3.5.0-SNAPSHOT": true, "4.0": true, "": false, "x": false} {
		if knowsAddOpens(version) != want {
			t.Errorf("Hadoop %q replaces <ADD_OPENS>: %v, want %v", version, !want, want)
		}
	}
}

func TestSite(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		mustDo(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	want := func(part string) {
		t.Helper()
		wantError(t, errOf(readSite(folder)), part)
	}
	want("core-site.xml")
	write("core-site.xml", "<configuration/>")
	want(`fs.defaultFS is ""`)
	write("core-site.xml", "<configuration><property><name>fs.defaultFS</name><value>hdfs://${nn}:1</value></property></configuration>")
	write("hdfs-site.xml", "<configuration><property><name>nn</name><value>host</value></property></configuration>")
	site, err := readSite(folder)
	if err != nil || len(site) != 2 {
		t.Fatalf("site %v, %v", site, err)
	}
	if got := newSubmitter(nil, nil, "ann", site).URL("/a b"); got != "hdfs://host:1/a%20b" {
		t.Errorf("URL %s", got)
	}
	write("yarn-site.xml", "<configuration><property>")
	want("yarn-site.xml")
}

func TestStreamingJar(t *testing.T) {
	home := t.TempDir()
	wantError(t, errOf(streamingJar(home)), "hadoop.home of the cluster file")
	lib := filepath.Join(home, "share/hadoop/tools/lib")
	jar := filepath.Join(lib, "hadoop-streaming-3.4.2.jar")
	mustDo(t, errors.Join(os.MkdirAll(lib, 0o755), os.WriteFile(jar, nil, 0o644)))
	if got, err := streamingJar(home); err != nil || got != jar {
		t.Errorf("jar %q, %v", got, err)
	}
}

// TestSlowDataNode: a staged file is written again if a DataNode was too late,
// but not for ever, and not after other errors.
func TestSlowDataNode(t *testing.T) {
	for _, c := range []struct {
		late  int // writes of job.xml that fail
		err   error
		tried int
		fails bool
	}{
		{hdfs.WriteTries - 1, os.ErrDeadlineExceeded, hdfs.WriteTries, false},
		{hdfs.WriteTries, os.ErrDeadlineExceeded, hdfs.WriteTries, true},
		{1, errFull, 1, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, tried := newFixture(t), 0
			f.hdfs.fail = func(call, name string) error {
				if call != "write" || path.Base(name) != JobXML {
					return nil
				}
				if tried++; tried <= c.late {
					return c.err
				}
				return nil
			}
			_, err := f.Submit(t.Context(), job("one"))
			if failed := errors.Is(err, c.err); failed != c.fails || tried != c.tried {
				t.Errorf("%d late writes: error %v after %d tries; want failure %v after %d", c.late, err, tried, c.fails, c.tried)
			}
		})
	}
}
