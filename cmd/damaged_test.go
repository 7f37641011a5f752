package cmd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// labRun is a finished run of wordcount under yarn and fifo.
const labRun = "../harness/fidelity/testdata/run"

// folder is a copy of a run for a test to damage.
type folder struct {
	*testing.T
	dir string
}

const aTrial = "trials/r01-wordcount-fifo/"

func (f folder) read(name string) string {
	f.Helper()
	data := must(os.ReadFile(filepath.Join(f.dir, name)))
	return string(data)
}

func (f folder) write(name, text string) {
	f.Helper()
	mustDo(f, os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600))
}

// change replaces a text in a file.
func (f folder) change(name, old, new string) {
	f.Helper()
	text := f.read(name)
	if !strings.Contains(text, old) {
		f.Fatalf("%s has no %q", name, old)
	}
	f.write(name, strings.Replace(text, old, new, 1))
}

// record makes the manifest say what a trial's file is now, as one who forges a
// run would.
func (f folder) record(trial, name string) {
	f.Helper()
	var m map[string]any
	mustDo(f, json.Unmarshal([]byte(f.read("manifest.json")), &m))
	data := f.read("trials/" + trial + "/" + name)
	sum := sha256.Sum256([]byte(data))
	for _, t := range m["trials"].([]any) {
		if t := t.(map[string]any); t["name"] == trial {
			for _, file := range t["files"].([]any) {
				if file := file.(map[string]any); file["name"] == name {
					file["bytes"], file["sha256"] = len(data), hex.EncodeToString(sum[:])
				}
			}
		}
	}
	text := must(json.Marshal(m))
	f.write("manifest.json", string(text))
}

// forge changes a trial's result and its record.
func (f folder) forge(old, new string) {
	f.Helper()
	f.change(aTrial+"result.json", old, new)
	f.record("r01-wordcount-fifo", "result.json")
}

func (f folder) remove(name string) {
	f.Helper()
	mustDo(f, os.RemoveAll(filepath.Join(f.dir, name)))
}

func (f folder) link(to, name string) {
	f.Helper()
	f.remove(name)
	mustDo(f, os.Symlink(to, filepath.Join(f.dir, name)))
}

func damagedCopy(t *testing.T, damage func(folder)) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	mustDo(t, os.CopyFS(dir, os.DirFS(labRun)))
	damage(folder{t, dir})
	return dir
}

// heddle runs a command line and returns what it prints, and its code.
func heddle(args ...string) (out string, code int, err error) {
	var b bytes.Buffer
	app := newApp()
	app.Writer = &b
	err = app.RunContext(context.Background(), append([]string{"heddle"}, args...))
	if err != nil {
		code = exitCode(context.Background(), err)
	}
	return b.String(), code, err
}

// damage is one way to damage a run, and what commands say of it.
type damage struct {
	what       string
	damage     func(folder)
	says       string
	unverified bool // goes on with --unverified
}

func damages() []damage {
	const empty = `{"format":1,"state":"finished","trials":[{}]}`
	return []damage{
		{"result changed", func(f folder) { f.change(aTrial+"result.json", "34957", "34958") }, "r01-wordcount-fifo/result.json", true},
		{"result longer", func(f folder) { f.change(aTrial+"result.json", "34957", "349570") }, "r01-wordcount-fifo/result.json", true},
		{"trace of another trial", func(f folder) {
			f.write(aTrial+"trace.heddle", f.read("trials/r03-wordcount-fifo/trace.heddle"))
		}, "r01-wordcount-fifo/trace.heddle", false},
		{"trace missing", func(f folder) { f.remove(aTrial + "trace.heddle") }, "r01-wordcount-fifo/trace.heddle", false},
		{"trial missing", func(f folder) { f.remove(aTrial) }, "trials/r01-wordcount-fifo", true},
		{"result added", func(f folder) {
			f.change("manifest.json", `"name": "result.json"`, `"name": "other.json"`)
		}, "result.json", true},
		{"trace is a device", func(f folder) { f.link("/dev/zero", aTrial+"trace.heddle") }, "trace.heddle is not a regular file", false},
		{"trial is elsewhere", func(f folder) {
			elsewhere := must(filepath.Abs(labRun))
			f.link(filepath.Join(elsewhere, aTrial), strings.TrimSuffix(aTrial, "/"))
		}, "escapes", false},
		{
			"trial of another name", func(f folder) { f.forge(`"trial": "r01-wordcount-fifo"`, `"trial": "../../../etc"`) },
			`result.json: trial: "../../../etc", but the folder is that of trial r01-wordcount-fifo`, false,
		},
		{"no number", func(f folder) { f.forge(`"makespanMs": 62820`, `"makespanMs": NaN`) }, "result.json: invalid character", false},
		{"huge number", func(f folder) { f.forge(`"makespanMs": 62820`, `"makespanMs": 1e999`) }, "makespanMs", false},
		{
			"deep", func(f folder) { f.forge(`"checked": [`, `"checked": [`+strings.Repeat("[", 1_000_000)) }, "result.json: invalid character",
			false,
		},
		{"foreign trace", func(f folder) {
			f.write(aTrial+"trace.heddle", f.read("trials/r03-wordcount-fifo/trace.heddle"))
			f.record("r01-wordcount-fifo", "trace.heddle")
		}, "r01-wordcount-fifo/trace.heddle belongs to another trial: its job", false},
		{"manifest with a path", func(f folder) {
			f.change("manifest.json", `"name": "r01-wordcount-fifo"`, `"name": "../../etc"`)
		}, `manifest.json: trials[1].name: "../../etc"`, false},
		{"manifest with a trial twice", func(f folder) {
			f.change("manifest.json", `"name": "r01-wordcount-fifo"`, `"name": "r01-wordcount-yarn"`)
		}, "manifest.json: trials[1].name: two trials are named r01-wordcount-yarn", false},
		{"manifest of nothing", func(f folder) { f.write("manifest.json", empty) }, `manifest.json: trials[0].name: ""`, false},
		{
			"manifest too large", func(f folder) { f.write("manifest.json", empty+strings.Repeat(" ", 65<<20)) }, "manifest.json is longer than",
			false,
		},
		{"manifest nested", func(f folder) { f.write("manifest.json", strings.Repeat("[", 1_000_000)) }, "manifest.json: ", false},
		{"manifest cut", func(f folder) { f.write("manifest.json", f.read("manifest.json")[:1000]) }, "manifest.json: unexpected end", false},
		{"manifest is a device", func(f folder) { f.link("/dev/zero", "manifest.json") }, "manifest.json is not a regular file", false},
		{"a trial's record is a device", func(f folder) { f.link("/dev/zero", aTrial+"trial.json") }, "trial.json is not a regular file", false},
	}
}

// TestDamagedRuns: what is not as heddle has written it is refused by every
// command that reads it, with the file and, of what is forged, the field. Package results
// tests what else of a result or a trace is refused.
func TestDamagedRuns(t *testing.T) {
	for _, c := range damages() {
		dir := damagedCopy(t, c.damage)
		for _, command := range [][]string{{"compare"}, {"compare", "--json"}, {"fidelity", "--seeds", "1"}} {
			t.Run(c.what+"/"+strings.Join(command, " "), func(t *testing.T) {
				if _, code, err := heddle(append(command, dir)...); code != exitUsage || !strings.Contains(fmt.Sprint(err), c.says) {
					t.Errorf("code %d, error %.500v; want code %d and %q", code, err, exitUsage, c.says)
				}
			})
		}
		for _, command := range []string{"compare", "fidelity"} {
			t.Run(c.what+"/"+command+" unverified", func(t *testing.T) {
				out, code, err := heddle(command, "--unverified", "--json", dir)
				if !c.unverified {
					if code != exitUsage {
						t.Errorf("code %d, error %.500v; want code %d", code, err, exitUsage)
					}
					return
				}
				var got struct{ Warnings []string }
				if err != nil || json.Unmarshal([]byte(out), &got) != nil {
					t.Fatalf("error %v, output %.200s; want JSON", err, out)
				}
				if all := fmt.Sprint(got.Warnings); !strings.Contains(all, "not verified: ") || !strings.Contains(all, c.says) {
					t.Errorf("warnings %s, want one that says %q", all, c.says)
				}
			})
		}
	}
}

// TestUnverifiedSaysSo: what people read, and what benchstat does, says it too.
func TestUnverifiedSaysSo(t *testing.T) {
	dir := damagedCopy(t, func(f folder) { f.change(aTrial+"result.json", "34957", "34958") })
	for _, args := range [][]string{
		{"compare", "--unverified", dir},
		{"compare", "--unverified", "--benchfmt", dir},
		{"fidelity", "--unverified", dir},
	} {
		out, _, err := heddle(args...)
		if text := strings.Join(strings.Fields(out), " "); err != nil || !strings.Contains(text, "not verified: ") ||
			!strings.Contains(text, "result.json") {
			t.Errorf("%q: error %v; the output does not say what was not verified:\n%s", args, err, out)
		}
	}
}

// TestDamagedResume: a run is taken up from files as they were recorded, before
// anything is asked of a cluster.
func TestDamagedResume(t *testing.T) {
	const cluster = "name: far\nresourceManagers: [\"http://127.0.0.1:9\"]\nnameNodes: [\"127.0.0.1:9\"]\nhistoryServer: http://127.0.0.1:9\n"
	for _, c := range []struct {
		what   string
		damage func(folder)
		args   []string
		code   int
		says   string
	}{
		{
			"whole, of somebody else", func(folder) {}, nil, exitUsage,
			"did not begin that run on this machine, and it would run programs of the folder's choice (on http://127.0.0.1:9)",
		},
		{
			"experiment", func(f folder) { f.write("experiment.yaml", f.read("experiment.yaml")+"repeats: 9\n") }, nil, exitUsage,
			"experiment.yaml",
		},
		{
			"experiment is a device", func(f folder) { f.link("/dev/zero", "experiment.yaml") }, nil, exitUsage,
			"experiment.yaml is not a regular file",
		},
		{"no experiment", func(f folder) { f.remove("experiment.yaml") }, nil, exitUsage, "experiment.yaml"},
		{
			"experiment, unverified", func(f folder) { f.write("experiment.yaml", f.read("experiment.yaml")+"# more\n") },
			[]string{"--unverified"},
			exitUsage, "did not begin that run",
		},
		{"another calibration", func(folder) {}, []string{"--calibration", "other.json"}, exitUsage, "both --resume and --calibration"},
		{"cluster", func(f folder) { f.write("cluster.yaml", cluster+"# more\n") }, nil, exitUsage, "cluster.yaml"},
	} {
		dir := damagedCopy(t, func(f folder) {
			f.write("cluster.yaml", cluster)
			sum := sha256.Sum256([]byte(cluster))
			f.change("manifest.json", `"files": [
    {
      "name": "experiment.yaml",`, fmt.Sprintf(`"files": [
    {
      "name": "cluster.yaml",
      "bytes": %d,
      "sha256": "%x"
    },
    {
      "name": "experiment.yaml",`, len(cluster), sum))
			c.damage(f)
		})
		if _, code, err := heddle(append([]string{"run", "--resume", dir}, c.args...)...); code != c.code ||
			!strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: code %d, error %v; want code %d and %q", c.what, code, err, c.code, c.says)
		}
	}
}

// TestDamagedJournal: restore does not act on a journal that was changed.
func TestDamagedJournal(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "cluster.yaml")
	mustDo(t, os.WriteFile(file, []byte("name: far\nresourceManagers: [\"http://127.0.0.1:9\"]\nnameNodes: [\"127.0.0.1:9\"]\nhistoryServer: http://127.0.0.1:9\n"), 0o600))
	restore := func(args ...string) (int, error) {
		_, code, err := heddle(append([]string{"restore", "--cluster", file, "--run", dir}, args...)...)
		return code, err
	}
	if code, err := restore(); code != exitUsage || !strings.Contains(fmt.Sprint(err), "steering.journal") {
		t.Errorf("no journal: code %d, error %v; want code %d", code, err, exitUsage)
	}
	mustDo(t, os.WriteFile(filepath.Join(dir, "steering.journal"), []byte("12345678 {\"kind\":\"settled\"}\n"), 0o600))
	if code, err := restore(); code != exitUsage || !strings.Contains(fmt.Sprint(err), "steering.journal: line 1 of 1") {
		t.Errorf("a damaged journal: code %d, error %v; want code %d", code, err, exitUsage)
	}
	if code, err := restore("--unverified"); code != exitCluster {
		t.Errorf("a damaged journal, unverified: code %d, error %v; want %d for want of a cluster", code, err, exitCluster)
	}
}

// TestUnfinishedRunIsRead: a run that was interrupted is not damaged.
func TestUnfinishedRunIsRead(t *testing.T) {
	dir := damagedCopy(t, func(f folder) {
		f.change("manifest.json", `"state": "finished"`, `"state": "running"`)
		f.remove(aTrial)
		before, after, _ := strings.Cut(f.read("manifest.json"), `"name": "r01-wordcount-fifo"`)
		f.write("manifest.json", before+`"name": "r01-wordcount-fifo"`+strings.Replace(after, `"state": "done"`, `"state": "running"`, 1))
	})
	if out, code, err := heddle("compare", dir); code != 0 || !strings.Contains(out, "left out: trial r01-wordcount-fifo interrupted") {
		t.Errorf("code %d, error %v, output\n%s\nwant the interrupted trial left out", code, err, out)
	}
}
