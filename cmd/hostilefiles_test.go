package cmd

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

// hostileTrace is a trace in JSON Lines of one job, of which parts can be replaced.
const hostileTrace = `{"kind":"header","format":1,"model":"MODEL","cluster":{"name":"c","nodes":[{"node":"n1","rack":"/r","memoryBytes":4294967296,"vCores":4,"worker":true}]}}
{"kind":"jobSubmitted","t":1000000000,"job":"JOB","name":"NAME","maps":1,"reduces":1,"slowStart":0.05}
{"kind":"jobStarted","t":2000000000,"job":"JOB"}
{"kind":"taskScheduled","t":2000000000,"task":{"job":"JOB","kind":"map","index":0},"lengthBytes":1048576}
{"kind":"attemptStarted","t":3000000000,"attempt":{"job":"JOB","kind":"map","index":0,"number":0},"node":"n1"}
{"kind":"attemptFinished","t":4000000000,"attempt":{"job":"JOB","kind":"map","index":0,"number":0},"outcome":"succeeded"}
{"kind":"nodeSample","t":4500000000,"node":"n1","cpuUser":0.5}
{"kind":"taskScheduled","t":4000000000,"task":{"job":"JOB","kind":"reduce","index":0}}
{"kind":"attemptStarted","t":5000000000,"attempt":{"job":"JOB","kind":"reduce","index":0,"number":0},"node":"n1"}
{"kind":"attemptFinished","t":6000000000,"attempt":{"job":"JOB","kind":"reduce","index":0,"number":0},"outcome":"succeeded"}
{"kind":"jobFinished","t":7000000000,"job":"JOB","outcome":"succeeded"}
`

// hostileFolder has the files and folders that TestHostileFiles names.
func hostileFolder(t *testing.T) string {
	folder := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(folder, name)
		mustDo(t, os.MkdirAll(filepath.Dir(path), 0o700))
		mustDo(t, os.WriteFile(path, []byte(content), 0o600))
	}
	trace := func(name string, changes ...string) {
		changed := strings.NewReplacer(append(changes, "JOB", "job_1_0001", "NAME", "wordcount", "MODEL", "fifo")...).Replace(hostileTrace)
		write(name, changed)
	}
	write("machines.yaml", "name: c\nmachines: {nodes: 4, racks: 2, slots: 2, container: 1GiB, blockSize: 16MiB, replication: 2, nmHeartbeat: 1s, amHeartbeat: 1s}\n")
	write("list.tsv", "job0\t0\t0\t140737488355328\t0\t0\n")
	write("list.yaml", "cluster: machines.yaml\nworkloads:\n  - {trace: list.tsv}\n")
	trace("well.jsonl")
	trace("late.jsonl", `"t":7000000000`, `"t":9223372036854775807`)
	trace("slow.jsonl", `"slowStart":0.05`, `"slowStart":1e308`)
	trace("nobody.jsonl", "JOB", "")
	trace("sample.jsonl", `"cpuUser":0.5`, `"cpuUser":1e300`)
	trace("name.jsonl", "NAME", `y\nheddle: forged line\tcell`)
	trace("model.jsonl", "MODEL", `y\nheddle: forged line`)
	event := func(name, line string) {
		trace(name, `{"kind":"attemptFinished","t":4000000000`, line+"\n"+`{"kind":"attemptFinished","t":4000000000`)
	}
	for name, speed := range map[string]string{"zero": "0", "negative": "-5", "tiny": "1e-300", "huge": "1e300", "nan": "NaN"} {
		event("speed-"+name+".jsonl", `{"kind":"nodeSpeed","t":3500000000,"node":"n1","speed":`+speed+`}`)
	}
	for name, end := range map[string]string{"least": "-9223372036854775808", "most": "9223372036854775807", "past": "1", "nan": "NaN"} {
		event("expected-"+name+".jsonl", `{"kind":"jobPredicted","t":3500000000,"job":"job_1_0001","donePct":50,"end":`+end+`}`)
	}
	said := func(name, values string) {
		event(name, `{"kind":"decision","t":3500000000,"id":1,"job":"job_1_0001","what":"map","node":"n1","taskIndex":0,"bindIndex":0,"values":"`+
			values+`"}`)
	}
	said("escapes.jsonl", `lateSeconds=\u001b[31m9 \u009b31m\nheddle: forged estimatedBytes=\u001b]0;x`)
	said("megabyte.jsonl", "unknown=1 estimatedBytes=1e999 "+strings.Repeat("x=y", 1<<19))
	said("numbers.jsonl", `estimatedBytes=NaN estimatedBytes=Inf estimatedBytes=-1 =1 = nothing`)
	write("slow.yaml", "cluster: machines.yaml\nworkloads:\n  - {trace: slow.jsonl}\n")
	write("nobody.yaml", "cluster: machines.yaml\nworkloads:\n  - {trace: sample.jsonl}\n")
	var bomb bytes.Buffer
	zip := must(zstd.NewWriter(&bomb))
	for line := bytes.Repeat([]byte("["), 1<<20); bomb.Len() < 30_000; {
		must(zip.Write(line))
	}
	mustDo(t, zip.Close())
	write("bomb.zst", bomb.String())
	write("day.trace", "taken")
	write(".new.trace.unfinished-DEAD", "half")
	for _, fifo := range []string{"runs/fifo", "fifo"} {
		write(fifo+".beside", "")
		mustDo(t, unix.Mkfifo(filepath.Join(folder, fifo), 0o600))
	}
	run := func(name string) {
		write("runs/"+name+"/manifest.json", `{"format":1,"name":"`+name+`","state":"finished","trials":[]}`)
		write("runs/"+name+"/.lock", "")
	}
	run("mine")
	write("runs/mine/notes.txt", "of mine")
	run("target")
	mustDo(t, os.Symlink("target", filepath.Join(folder, "runs", "link")))
	write("runs/early/manifest.json", `{"format":1,"name":"early","state":"running","trials":[{"name":"r01","state":"todo"}]}`)
	write("runs/early/.lock", "")
	write("runs/left/.lock", "")
	write("runs/left/trials/r01/trace.heddle", "")
	return folder
}

// TestHostileFiles runs commands on files and folders that others wrote to do harm.
// Each ends by itself, takes less than 2 GiB of memory, and ends with the code and the words that it should.
func TestHostileFiles(t *testing.T) {
	folder := hostileFolder(t)
	for _, c := range []struct {
		name, command string
		code          int
		says, never   string // regular expressions; never must not match
	}{
		{
			"a list of 128 TiB", "run --simulate --runs out list.yaml", exitUsage,
			`8388608 blocks of 16MiB with 2 replicas each, and a simulation takes at most 2000000`, "",
		},
		{"a forecast of it", "run --dry-run --runs out list.yaml", exitUsage, `at most 2000000 such blocks`, ""},
		{"an endless line in a recording", "replay --observations bomb.zst", exitUsage, `a line is longer than 64MiB`, ""},
		{"a trace that is well", "replay well.jsonl", 0, `fifo`, `warning: .*no cluster has`},
		{
			"a time in 292 years", "replay late.jsonl", exitUsage,
			`event 10: jobFinished: t is 9223372036854775807, want .*: heddle trace check lists all`, "",
		},
		{
			"a slow start of 1e308", "replay slow.jsonl", exitUsage,
			`event 1: jobSubmitted: slowStart is 1e\+308, want 0 to 1; no cluster has such a value`, "",
		},
		{"the same as a workload", "run --simulate --runs out slow.yaml", exitUsage, `slowStart is 1e\+308`, ""},
		{
			"an empty job id", "replay nobody.jsonl", 0,
			`warning: nobody.jsonl: [0-9]+ values are such as no cluster has, the first in event 1: jobSubmitted: job's length is 0`, "",
		},
		{"a sample that cannot be", "replay sample.jsonl", 0, `1 values are such as no cluster has, the first in event 6: nodeSample`, ""},
		{"the same as a workload", "run --simulate --runs out nobody.yaml", 0, `(?s).*`, "panic"},
		{"a newline in a job's name", "trace info name.jsonl", 0, `y\\u000aheddle: forged line\\u0009cell`, `(?m)^heddle: forged`},
		{"a newline in a model's name", "trace info model.jsonl", 0, `y\\u000aheddle: forged line`, `(?m)^heddle: forged`},
		{"a newline in what is replayed", "replay --model fifo name.jsonl model.jsonl", 0, `fifo`, `(?m)^heddle: forged`},
		{"a node of speed 0", "trace info speed-zero.jsonl", 0, `n1, minute 1 +0 +1 +0 +-`, `NaN|Inf`},
		{"a node of speed 0 replayed", "replay speed-zero.jsonl", 0, `fifo`, `NaN|Inf|panic`},
		{"a negative speed", "trace info speed-negative.jsonl", 0, `schedule digest`, `slow node|NaN|Inf`},
		{"a negative speed replayed", "replay speed-negative.jsonl", exitUsage, `nodeSpeed: speed is -5, want 0 to 1048576`, ""},
		{"a speed of almost nothing", "replay --json speed-tiny.jsonl", 0, `"makespanMs": [0-9]`, `NaN|Inf|panic`},
		{"a speed of 1e300", "trace info --json speed-huge.jsonl", 0, `"jobs"`, `NaN|Inf|panic`},
		{"a speed of 1e300 replayed", "replay speed-huge.jsonl", exitUsage, `nodeSpeed: speed is 1e\+300`, ""},
		{"a speed that is no number", "trace info speed-nan.jsonl", exitFailed, `damaged at line 6`, `panic`},
		{"a page of a node of speed 0", "trace info --format html speed-zero.jsonl", 0, `>n1, minute 1`, `NaN|Inf`},
		{"an end before time began", "trace info --json expected-least.jsonl", 0, `"endMs": -9223372037854\.`, `NaN|Inf`},
		{"the same replayed", "replay expected-least.jsonl", exitUsage, `jobPredicted: end is -9223372036854775808`, ""},
		{"an end in 292 years", "trace info expected-most.jsonl", 0, `job_1_0001 .* 6.00 s`, `panic`},
		{"an end long past", "replay expected-past.jsonl", 0, `fifo`, `panic`},
		{"an end that is no number", "trace info expected-nan.jsonl", exitFailed, `damaged at line 6`, `panic`},
		{"escapes in what a model says", "trace info escapes.jsonl", 0, `schedule digest`, `\x1b|\x{9b}|(?m)^heddle: forged`},
		{"the same as a page", "replay --format html escapes.jsonl", 0, `<caption>replays</caption>`, `\x1b|\x{9b}`},
		{"the same as a timeline", "trace export --to perfetto escapes.jsonl", 0, `lateSeconds|attempt`, `\x1b|(?m)^heddle: forged`},
		{"a megabyte of what a model says", "trace info --json megabyte.jsonl", 0, `"jobs"`, `panic|estimates|x=yx=y`},
		{"the same replayed", "replay megabyte.jsonl", 0, `fifo`, `panic|x=yx=y`},
		{"a model's numbers that are none", "trace info --json numbers.jsonl", 0, `"jobs"`, `NaN|Inf|estimates`},
		{"a page over a file", "paper clqlmrs --quick -o day.trace", exitUsage, `day.trace: file exists: choose another name`, ""},
		{"a replay over a device", "replay --out /dev/null well.jsonl", exitUsage, `/dev/null: file exists`, ""},
		{
			"a pipe among runs", "runs list --runs runs", 0, `(?s)mine +cluster +finished.*warning: runs/left: .*remove what is left with rm -r`,
			"fifo",
		},
		{"a pipe as a run", "runs show --runs runs fifo", exitUsage, `no run fifo`, ""},
		{"a pipe to compare", "compare runs/fifo", exitUsage, `runs/fifo`, ""},
		{"a pipe while names are completed", "runs show --runs runs --generate-bash-completion", 0, `(?m)^mine$`, "fifo"},
		{"a run that has no experiment yet", "run --resume runs/early", exitUsage, `the run can be started anew`, "statat"},
		{"removal of a link", "runs rm --yes --runs runs link", exitFailed, `runs/link is a link to target`, ""},
		{
			"removal of files of mine", "runs rm --yes --runs runs mine", 0,
			`runs/mine has what heddle did not write, which goes with it: notes.txt`, "",
		},
		{"what a killed process left", "trace import -o new.trace list.tsv", 0, `new.trace has 1 job `, ""},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			mustDo(t, os.WriteFile(filepath.Join(folder, "machines.json"), nil, 0o600))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			cmd := program(t, strings.Fields(c.command)...)
			cmd.Dir = folder
			cmd.Env = append(cmd.Env, "GOMEMLIMIT=1GiB")
			go func() {
				<-ctx.Done()
				if cmd.Process != nil {
					cmd.Process.Kill()
				}
			}()
			code, out, said := ended(t, cmd)
			said = out + said
			if code != c.code {
				t.Errorf("code %d, want %d", code, c.code)
			}
			if !regexp.MustCompile(c.says).MatchString(said) {
				t.Errorf("does not say %s", c.says)
			}
			if c.never != "" && regexp.MustCompile(c.never).MatchString(said) {
				t.Errorf("says %s", c.never)
			}
			if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && usage.Maxrss > 2<<20 {
				t.Errorf("took %d KiB of memory", usage.Maxrss)
			}
			if t.Failed() {
				t.Logf("heddle %s:\n%.3000s", c.command, said)
			}
		})
	}
	for name, want := range map[string]bool{
		"runs/target/manifest.json": true, "runs/mine": false, ".new.trace.unfinished-DEAD": false,
		"day.trace": true,
	} {
		if _, err := os.Lstat(filepath.Join(folder, name)); (err == nil) != want {
			t.Errorf("%s: %v, want there: %v", name, err, want)
		}
	}
}
