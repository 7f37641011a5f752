package runs

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/harness/internal/golden"
	"heddle/traces/errtest"
)

var plan = Manifest{
	Command:  []string{"heddle", "run", "first.yaml", "--token", "c2VjcmV0", "--user=bench"},
	Seed:     7,
	Versions: map[string]string{"hadoop": "3.4.2", "kernel": "Linux 6.1"},
	Settings: map[string]string{"classDataSharing": "on"},
	Trials:   []TrialRecord{{Name: "r01-wordcount-yarn"}, {Name: "r01-sort-yarn"}},
}

func create(t *testing.T, root string) *Run {
	t.Helper()
	r := must(Create(root, "first", plan))
	t.Cleanup(r.Close)
	return r
}

// do carries out a trial that writes one file.
func do(t *testing.T, r *Run, name string) {
	t.Helper()
	trial := must(r.Begin(name))
	mustDo(t, trial.WriteFile("jobs/job_1_0001/job.xml", []byte("<configuration/>")))
	mustDo(t, trial.Done())
}

func open(t *testing.T, dir string) *Run {
	t.Helper()
	r := must(Open(dir))
	return r
}

func wantState(t *testing.T, dir string, want State) Manifest {
	t.Helper()
	m := open(t, dir).Manifest()
	if m.State != want {
		t.Fatalf("state of %s is %s (%s), want %s", filepath.Base(dir), m.State, m.Error, want)
	}
	return m
}

func TestWholeRun(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir()) // with the key of marks
	r := create(t, t.TempDir())
	wantState(t, r.Dir, Running)
	mustDo(t, r.WriteFile("experiment.yaml", []byte("workloads: []\n")))
	mustDo(t, r.Update(func(m *Manifest) { m.Versions["java"] = "17.0.15" }))
	do(t, r, "r01-wordcount-yarn")
	if diff := cmp.Diff([]string{"r01-sort-yarn"}, r.Todo()); diff != "" {
		t.Errorf("todo (-want +got):\n%s", diff)
	}
	do(t, r, "r01-sort-yarn")
	mustDo(t, r.End(nil))
	wantState(t, r.Dir, Finished)
	if err := open(t, r.Dir).Verify("trace.heddle", "jobs/job_1_0001/job.xml"); err != nil {
		t.Error(err)
	}
	checkManifest(t, r.Dir)
}

// checkManifest compares the manifest, without what differs from day to day, with
// the one in testdata: other programs read these keys.
func checkManifest(t *testing.T, dir string) {
	t.Helper()
	data := must(os.ReadFile(filepath.Join(dir, manifestFile)))
	var m map[string]any
	mustDo(t, json.Unmarshal(data, &m))
	text := string(data)
	owner, build := thisProcess(), ThisBuild()
	for _, r := range [][2]string{
		{`"[0-9]{4}-[0-9]{2}-[0-9]{2}T[^"]*"`, `"TIME"`},
		{`"pid": [0-9]+`, `"pid": 1`},
		{regexp.QuoteMeta(owner.Host), "HOST"},
		{`"heddle": \{[^}]*\}`, `"heddle": {BUILD}`},
		{`"mark": "[0-9a-f]{64}"`, `"mark": "MARK"`},
	} {
		text = regexp.MustCompile(r[0]).ReplaceAllString(text, r[1])
	}
	if build.Go == "" || build.Version == "" {
		t.Errorf("build %+v: want a version and Go's", build)
	}
	golden.Check(t, "testdata/manifest.golden", text)
}

func TestCreateRefuses(t *testing.T) {
	root := t.TempDir()
	r := create(t, root)
	expect := func(what string, m Manifest, want error, next string) {
		t.Helper()
		_, err := Create(root, "first", m)
		if !errors.Is(err, want) || !strings.Contains(err.Error(), next) {
			t.Errorf("%s: error %v, want %v with %q", what, err, want, next)
		}
	}
	expect("while it is under way", plan, ErrRunning, "wait for it")
	do(t, r, "r01-wordcount-yarn")
	mustDo(t, r.End(context.Canceled))
	wantState(t, r.Dir, Interrupted)
	other := plan
	other.Trials = plan.Trials[:1]
	expect("another plan", other, ErrExists, "choose another name")

	same, err := Create(root, "first", plan)
	if err != nil {
		t.Fatalf("the same plan on an interrupted run: %v, want it continued", err)
	}
	if diff := cmp.Diff([]string{"r01-sort-yarn"}, same.Todo()); diff != "" {
		t.Errorf("todo of the continued run (-want +got):\n%s", diff)
	}
	do(t, same, "r01-sort-yarn")
	mustDo(t, same.End(nil))
	expect("a finished run", plan, ErrExists, "finished run")
	errtest.Is(t, open(t, same.Dir).Resume(), ErrExists)

	mustDo(t, os.Mkdir(filepath.Join(root, "photos"), 0o755))
	mustDo(t, os.WriteFile(filepath.Join(root, "photos", "cat.jpg"), []byte("cat"), 0o644))
	errtest.Is(t, errtest.Of(Create(root, "photos", plan)), ErrExists)
	mustDo(t, os.WriteFile(filepath.Join(root, "plain"), nil, 0o644))
	if _, err := Create(root, "plain", plan); err == nil {
		t.Error("create over a plain file: no error")
	}
	for _, name := range []string{"", "..", "a/b", ".hidden"} {
		if _, err := Create(root, name, plan); err == nil {
			t.Errorf("create %q: no error", name)
		}
	}
	mustDo(t, os.MkdirAll(filepath.Join(root, "empty", "trials"), 0o755))
	if r, err := Create(root, "empty", plan); err != nil {
		t.Errorf("create in an empty folder: %v", err)
	} else {
		r.Close()
	}
}

func TestStates(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*Run) error
		want State
	}{
		{"no end", func(r *Run) error { r.Close(); return nil }, Interrupted},
		{"ctrl-C", func(r *Run) error { return r.End(context.Canceled) }, Interrupted},
		{"a failure", func(r *Run) error { return r.End(errors.New("no room")) }, Failed},
		{"success with trials left", func(r *Run) error { return r.End(nil) }, Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := create(t, t.TempDir())
			mustDo(t, c.end(r))
			wantState(t, r.Dir, c.want)
			// Whoever still has it may not write any more.
			if _, err := r.Begin("r01-sort-yarn"); err == nil {
				t.Error("begin after the end: no error")
			}
			if err := r.WriteFile("summary.json", nil); err == nil {
				t.Error("write after the end: no error")
			}
		})
	}
}

func TestFailedTrialIsStillToDo(t *testing.T) {
	r := create(t, t.TempDir())
	trial := must(r.Begin("r01-sort-yarn"))
	mustDo(t, trial.Failed(errors.New("job killed")))
	if !slices.Contains(r.Todo(), "r01-sort-yarn") {
		t.Errorf("todo %v, want the failed trial in it", r.Todo())
	}
	if got := r.Manifest().Trials[1]; got.State != TrialFailed || got.Error != "job killed" {
		t.Errorf("record %+v, want failed and why", got)
	}
}

// TestKilledBeforeItBegan: a file that was written and not recorded, before any trial began, is
// none of a damaged run: it is as if it were not there. Later it is damage.
func TestKilledBeforeItBegan(t *testing.T) {
	r := create(t, t.TempDir())
	r.Close()
	mustDo(t, os.WriteFile(filepath.Join(r.Dir, "experiment.yaml"), []byte("models: [fifo]\n"), 0o600))
	if _, err := open(t, r.Dir).ReadFile("experiment.yaml"); !errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrDamaged) {
		t.Errorf("error %v, want that there is none", err)
	}
	r = open(t, r.Dir)
	mustDo(t, r.Resume())
	do(t, r, plan.Trials[0].Name)
	r.Close()
	errtest.Is(t, errtest.Of(open(t, r.Dir).ReadFile("experiment.yaml")), ErrDamaged)
}

// A process may end after a trial's folder got its name and before the
// manifest says so.
func TestTrialFolderIsTheTruth(t *testing.T) {
	r := create(t, t.TempDir())
	before := must(os.ReadFile(filepath.Join(r.Dir, manifestFile)))
	do(t, r, "r01-wordcount-yarn")
	r.Close()
	mustDo(t, os.WriteFile(filepath.Join(r.Dir, manifestFile), before, 0o644))
	again := open(t, r.Dir)
	if diff := cmp.Diff([]string{"r01-sort-yarn"}, again.Todo()); diff != "" {
		t.Errorf("todo (-want +got):\n%s", diff)
	}
	if got := again.Manifest().Trials[0].Files; len(got) != 1 {
		t.Errorf("files of the trial: %v, want one", got)
	}
}

func TestCheckFindsChanges(t *testing.T) {
	r := create(t, t.TempDir())
	mustDo(t, r.WriteFile("cluster.yaml", []byte("name: lab\n")))
	do(t, r, "r01-wordcount-yarn")
	do(t, r, "r01-sort-yarn")
	mustDo(t, r.End(nil))
	write := func(name, content string) {
		t.Helper()
		mustDo(t, os.WriteFile(filepath.Join(r.Dir, name), []byte(content), 0o644))
	}
	write("cluster.yaml", "name: lob\n")
	write("trials/r01-wordcount-yarn/jobs/job_1_0001/job.xml", "<configuration>")
	write("trials/r01-wordcount-yarn/notes.txt", "later")
	mustDo(t, os.RemoveAll(r.TrialDir("r01-sort-yarn")))
	err := open(t, r.Dir).Verify("jobs/job_1_0001/job.xml", "notes.txt")
	if !errors.Is(err, ErrDamaged) {
		t.Fatalf("error %v, want %v", err, ErrDamaged)
	}
	unverified := open(t, r.Dir)
	unverified.Unverified = true
	if err := unverified.Verify("jobs/job_1_0001/job.xml", "notes.txt"); err != nil {
		t.Error(err)
	}
	if data, err := unverified.ReadFile("cluster.yaml"); err != nil || string(data) != "name: lob\n" {
		t.Errorf("cluster.yaml unverified: %q, error %v", data, err)
	}
	if _, rerr := open(t, r.Dir).ReadFile("cluster.yaml"); !errors.Is(rerr, ErrDamaged) || !strings.Contains(rerr.Error(), "cluster.yaml") {
		t.Errorf("cluster.yaml: error %v, want one that names it", rerr)
	}
	for _, want := range []string{
		"trials/r01-wordcount-yarn/jobs/job_1_0001/job.xml",
		"trials/r01-wordcount-yarn/notes.txt",
		"trials/r01-sort-yarn",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
		if !slices.ContainsFunc(unverified.Warnings(), func(w string) bool { return strings.Contains(w, want) }) {
			t.Errorf("warnings %q do not say %q", unverified.Warnings(), want)
		}
	}
	mustDo(t, os.Remove(filepath.Join(r.Dir, "trials/r01-wordcount-yarn/notes.txt")))
	mustDo(t, os.Symlink("/dev/zero", filepath.Join(r.Dir, "trials/r01-wordcount-yarn/notes.txt")))
	unverified = open(t, r.Dir)
	unverified.Unverified = true
	if err := unverified.Verify("notes.txt"); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a link to a device: error %v, want it refused", err)
	}
}

// Neither a name nor a link in the run folder leads what is written out of it.
func TestNothingIsWrittenOutside(t *testing.T) {
	const name = "r01-sort-yarn"
	begin := func(t *testing.T, r *Run) *Active {
		t.Helper()
		trial := must(r.Begin(name))
		return trial
	}
	t.Run("names", func(t *testing.T) {
		r := create(t, t.TempDir())
		trial := begin(t, r)
		for _, bad := range []string{"../x", "..", ".", "", "a/b", "/x", "-x", "x\n", "x\x1b[2J"} {
			if _, err := Create(t.TempDir(), bad, plan); err == nil {
				t.Errorf("run %q is made, want an error", bad)
			}
			if _, err := Create(t.TempDir(), "first", Manifest{Trials: []TrialRecord{{Name: bad}}}); err == nil {
				t.Errorf("a run with trial %q is made, want an error", bad)
			}
		}
		for _, bad := range []string{"../x", "jobs/../../x", "/etc/x", "", "..", "a/../../../x", "x\x00"} {
			if err := trial.WriteFile(bad, nil); err == nil {
				t.Errorf("file %q is written, want an error", bad)
			}
			if folder, err := trial.Folder(bad); err == nil {
				t.Errorf("folder %q is %s, want an error", bad, folder.Name())
			}
			if err := r.WriteFile(bad, nil); err == nil {
				t.Errorf("file %q of the run is written, want an error", bad)
			}
		}
	})
	// A link is planted in the place of what is written, to a folder or to a file
	// that is not there.
	for _, c := range []struct {
		link  string
		file  bool
		begun bool // the trial, before the link is planted
		write func(*Run, *Active)
	}{
		{"trials", false, false, func(r *Run, _ *Active) { _, _ = r.Begin(name) }},
		{"trials", false, true, func(_ *Run, a *Active) { _ = a.WriteFile("x", nil); _ = a.Done() }},
		{"trials/" + name + partial + "/jobs", false, true, func(_ *Run, a *Active) { _ = a.WriteFile("jobs/x", nil) }},
		{"trials/" + name + partial + "/jobs", false, true, func(_ *Run, a *Active) { _ = a.Done() }},
		{"trials/" + name + partial + "/logs", false, true, func(_ *Run, a *Active) {
			if logs, err := a.Folder("logs"); err == nil {
				_ = logs.WriteFile("x", nil, 0o600)
			}
		}},
		{"trials/" + name + partial + "/result.json", true, true, func(_ *Run, a *Active) { _ = a.WriteFile("result.json", nil) }},
		{"trials/" + name + partial + "/" + trialFile, true, true, func(_ *Run, a *Active) { _ = a.Done() }},
		{"experiment.yaml", true, false, func(r *Run, _ *Active) { _ = r.WriteFile("experiment.yaml", nil) }},
		{manifestFile, true, false, func(r *Run, _ *Active) { _ = r.Update(func(*Manifest) {}) }},
		{lockFile, true, false, func(r *Run, _ *Active) { r.Close(); _ = r.Resume() }},
	} {
		t.Run("link "+filepath.Base(c.link), func(t *testing.T) {
			r, outside := create(t, t.TempDir()), t.TempDir()
			mustDo(t, os.WriteFile(filepath.Join(outside, "kept"), []byte("kept"), 0o644))
			var trial *Active
			if c.begun {
				trial = begin(t, r)
			}
			path, target := filepath.Join(r.Dir, c.link), outside
			if c.file {
				target = filepath.Join(outside, "new")
			}
			mustDo(t, errors.Join(os.RemoveAll(path), os.Symlink(target, path)))
			c.write(r, trial)
			entries, err := os.ReadDir(outside)
			kept, kerr := os.Stat(filepath.Join(outside, "kept"))
			if err != nil || kerr != nil || len(entries) != 1 || kept.Mode() != 0o644 {
				t.Errorf("outside the run folder: %v, %v, %v, %v; want one file as it was", entries, err, kept, kerr)
			}
		})
	}
}

// Whatever the umask is, and whoever has made the files: those of a run are for
// its owner alone.
func TestFilesAreTheOwnersAlone(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "first"), 0o755); err != nil { // as a command that was killed left it
		t.Fatal(err)
	}
	r := create(t, root)
	mustDo(t, r.WriteFile("experiment.yaml", []byte("workloads: []\n")))
	do(t, r, "r01-wordcount-yarn")
	trial, err := r.Begin("r01-sort-yarn")
	mustDo(t, err)
	logs := must(trial.Folder("logs"))
	defer logs.Close()
	// As another program makes them.
	mustDo(t, errors.Join(os.MkdirAll(filepath.Join(trial.Dir, "logs", "t1", "conf"), 0o777),
		os.WriteFile(filepath.Join(trial.Dir, "logs", "t1", "conf", "core-site.xml"), nil, 0o666),
		os.WriteFile(filepath.Join(trial.Dir, "logs", "t1", "run.sh"), nil, 0o755)))
	mustDo(t, errors.Join(trial.Done(), r.End(nil)))
	files := 0
	err = filepath.WalkDir(r.Dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if e.IsDir() {
			want = os.ModeDir | 0o700
		} else {
			files++
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
		}
		return nil
	})
	if err != nil || files < 7 {
		t.Errorf("%d files, %v; want those of two trials", files, err)
	}
}

// A run folder as heddle made it before, for everybody to read, still opens and
// is taken up.
func TestOldFolderOpens(t *testing.T) {
	r := create(t, t.TempDir())
	do(t, r, "r01-wordcount-yarn")
	r.Close()
	err := filepath.WalkDir(r.Dir, func(path string, e os.DirEntry, err error) error {
		mode := os.FileMode(0o644)
		if err == nil && e.IsDir() {
			mode = 0o755
		}
		return errors.Join(err, os.Chmod(path, mode))
	})
	mustDo(t, err)
	again := open(t, r.Dir)
	mustDo(t, again.Resume())
	do(t, again, "r01-sort-yarn")
	mustDo(t, again.End(nil))
	if err := open(t, r.Dir).Verify("trace.heddle"); err != nil {
		t.Error(err)
	}
}

func TestBrokenManifests(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{
		"cut": `{"format":1,"sta`, "empty": "", "list": "[]", "new": `{"format":99}`, "none": `{}`,
		"escape": `{"format":1,"trials":[{"name":"../../etc"}]}`,
	} {
		dir := filepath.Join(root, name)
		mustDo(t, os.Mkdir(dir, 0o755))
		mustDo(t, os.WriteFile(filepath.Join(dir, manifestFile), []byte(content), 0o644))
		if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, manifestFile)) {
			t.Errorf("%s: error %v, want one that names the file", name, err)
		}
		if _, err := Create(root, name, plan); err == nil {
			t.Errorf("%s: create over it gave no error", name)
		}
	}
}

func TestList(t *testing.T) {
	root := t.TempDir()
	create(t, root)
	mustDo(t, os.Mkdir(filepath.Join(root, "other"), 0o755))
	list, err := List(root)
	if err != nil || len(list) != 1 || list[0].Manifest().Name != "first" {
		t.Errorf("list %v, error %v; want the one run", list, err)
	}
	if list, err := List(filepath.Join(root, "none")); err != nil || len(list) != 0 {
		t.Errorf("list of no folder: %v, %v; want nothing", list, err)
	}
	mustDo(t, os.WriteFile(filepath.Join(root, "other", manifestFile), []byte("{"), 0o644))
	if list, err := List(root); err == nil || len(list) != 1 {
		t.Errorf("list with a broken run: %d runs, error %v; want the good one and an error", len(list), err)
	}
}

func TestBlotSecrets(t *testing.T) {
	got := blotSecrets([]string{"heddle", "--token", "x", "--rm-password=y", "--token-file", "f", "http://u:p@h/", "-Dfs.secret=z"})
	want := []string{"heddle", "--token", "***", "--rm-password=***", "--token-file", "f", "http://***@h/", "-Dfs.secret=***"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
}

func TestDefaultRoot(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "/srv/state")
	if got, err := DefaultRoot(); err != nil || got != "/srv/state/heddle/runs" {
		t.Errorf("root %s, error %v", got, err)
	}
	t.Setenv("XDG_STATE_HOME", "relative")
	t.Setenv("HOME", "/home/u")
	if got, err := DefaultRoot(); err != nil || got != "/home/u/.local/state/heddle/runs" {
		t.Errorf("root %s, error %v", got, err)
	}
}

func TestName(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if got := Name(at, "first"); got != "20260102-030405-first" || !plainName.MatchString(got) {
		t.Errorf("name %q", got)
	}
}

// must returns x, and panics with the error if there is one.
func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

var mustDo = errtest.None
