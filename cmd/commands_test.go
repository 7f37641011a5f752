package cmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"heddle/harness/lab"
	"heddle/traces"
	"heddle/traces/errtest"
	"heddle/traces/printable"
	"heddle/traces/tracefile"
)

// The tests here walk over all commands, so that none is forgotten.

// leaves are the commands that do something, by their names: "trace check".
func leaves() map[string]*cli.Command {
	found := map[string]*cli.Command{}
	var walk func(before string, list []*cli.Command)
	walk = func(before string, list []*cli.Command) {
		for _, c := range list {
			name := strings.TrimSpace(before + " " + c.Name)
			walk(name, c.Subcommands)
			if c.HideHelpCommand { // it does something by itself
				found[name] = c
			}
		}
	}
	walk("", newApp().Commands)
	return found
}

// program is the command heddle in a process of its own, with no lab and no
// terminal.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], args...)
	c.Env = append(os.Environ(), asMain+"=1", "XDG_STATE_HOME="+t.TempDir())
	return c
}

// ended is a program's exit code and what it printed.
func ended(t *testing.T, c *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// TestExitCodes is a table of command, situation and exit code. Mistakes that
// every command can be given are told from its ArgsUsage; what else a command
// can meet stands below.
func TestExitCodes(t *testing.T) {
	type situation struct {
		command, name string
		args          []string
		code          int
		says          string // part of stderr
	}
	table := []situation{
		{"", "no command", nil, exitUsage, "needs a command"},
		{"", "an unknown command", []string{"replya"}, exitUsage, `did you mean "replay"?`},
		{"", "an unknown flag", []string{"--versio"}, exitUsage, "did you mean --ver"},
		{"help", "an unknown command", []string{"nosuch"}, exitUsage, "nosuch"},
		{"trace", "no command", nil, exitUsage, "needs a command"},
		{"trace", "an unknown command", []string{"chekc"}, exitUsage, `did you mean "check"?`},
		{"lab", "an unknown command", []string{"upp"}, exitUsage, `did you mean "up"?`},
		{"labels", "an unknown command", []string{"sow"}, exitUsage, `did you mean "show"?`},
		{"completion", "an unknown shell", []string{"fisch"}, exitUsage, `did you mean "fish"?`},
		{"lab up", "a bad name", []string{"--name", "UP"}, exitUsage, "lower-case"},
		{"lab down", "a bad name", []string{"--name", "UP"}, exitUsage, "lower-case"},
		{"lab status", "a bad name", []string{"--name", "UP"}, exitUsage, "lower-case"},
		{"lab status", "a lab that is not there", []string{"--name", "nosuch"}, exitCluster, "nosuch"},
		{"lab env", "a lab that is not there", []string{"--name", "nosuch"}, exitCluster, "nosuch"},
		{"lab kill", "an unknown signal", []string{"r1n1", "datanode", "--signal", "BANG"}, exitUsage, "--signal BANG"},
		{"compare", "a flag without its value behind the arguments", []string{"run", "--metric"}, exitUsage, "needs an argument"},
		{"trace check", "help behind the arguments", []string{"run.trace", "--help"}, 0, ""},
	}
	if os.Geteuid() != 0 {
		table = append(table,
			situation{"lab up", "not root", nil, exitCluster, "root"},
			situation{"lab down", "not root", nil, exitCluster, "root"})
	}
	for name, c := range leaves() {
		least, most := arity(c.ArgsUsage)
		if name == "lab exec" {
			most = -1
		} else {
			table = append(table, situation{
				name, "an unknown flag behind the arguments",
				append(slices.Repeat([]string{"x"}, least), "--no-such-flag"), exitUsage, "no-such-flag",
			})
		}
		table = append(table, situation{name, "an unknown flag", []string{"--no-such-flag"}, exitUsage, "no-such-flag"})
		if least > 0 {
			table = append(table, situation{name, "too few arguments", slices.Repeat([]string{"x"}, least-1), exitUsage, ""})
		}
		if most >= 0 {
			table = append(table, situation{name, "too many arguments", slices.Repeat([]string{"x"}, most+1), exitUsage, ""})
		}
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, s := range table {
		t.Run(s.command+" "+s.name, func(t *testing.T) {
			args := append(strings.Fields(s.command), s.args...)
			_, code, err := heddle(args...)
			if errors.Is(err, errHelp) {
				code = 0
			}
			if said := fmt.Sprint(err); code != s.code || !strings.Contains(said, s.says) {
				t.Errorf("heddle %q: exit code %d, want %d; said %q, want %q in it", args, code, s.code, said, s.says)
			}
		})
	}
}

// commandRow is a line of testdata/commands.txt, which explains it.
type commandRow struct{ json, stopped, waits string }

func commandRows(t *testing.T) map[string]commandRow {
	t.Helper()
	rows := map[string]commandRow{}
	for line := range strings.Lines(string(must(os.ReadFile("testdata/commands.txt")))) {
		if parts := strings.Split(line, "|"); len(parts) == 4 && line[0] != '#' {
			rows[strings.TrimSpace(parts[0])] = commandRow{strings.TrimSpace(parts[1]), parts[2], strings.TrimSpace(parts[3])}
		}
	}
	for name := range leaves() {
		if _, known := rows[name]; !known {
			t.Errorf("heddle %s: what does it print as JSON, what does it wait for, and what does it put back? it is not in testdata/commands.txt",
				name)
		}
	}
	return rows
}

// labFile is what a lab's commands read first, in the state folder.
const labFile = "state/heddle/labs/lab/lab.json"

// lock is the file of the lock that the command waits for, long the file that it reads to its
// end, which is far; "" for none.
func (w commandRow) lock() string {
	if _, name, ok := strings.Cut(w.waits, "lock "); ok {
		name, _, _ = strings.Cut(name, ",")
		return "state/heddle/labs/." + name + ".lock"
	}
	return ""
}

func (w commandRow) long() string {
	return map[string]string{"long RUN": "run/" + aTrial + "trace.heddle", "long FILE": "long"}[w.waits]
}

// TestInterruptedCommands sends SIGTERM to every command while it waits for a
// file or a server that says nothing more.
func TestInterruptedCommands(t *testing.T) {
	for name, w := range commandRows(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := lab.Preflight(lab.Default()); w.lock() != "" && err != nil || strings.HasPrefix(w.waits, "-") {
				t.Skip(w.waits, err)
			}
			dir := t.TempDir()
			server, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer server.Close()
			w.prepare(t, dir, server.Addr().String())
			c := program(t, strings.Fields(name+" "+w.stopped)...)
			c.Dir = dir
			c.Env = append(c.Env, "XDG_STATE_HOME="+filepath.Join(dir, "state"))
			var said bytes.Buffer
			c.Stderr = &said
			if w.lock() != "" {
				lock := must(os.Open(filepath.Join(dir, w.lock())))
				defer lock.Close()
				mustDo(t, unix.Flock(int(lock.Fd()), unix.LOCK_EX))
			}
			mustDo(t, c.Start())
			defer w.untilItWaits(t, c, dir, server)() // signals before would say less
			mustDo(t, c.Process.Signal(syscall.SIGTERM))
			err = c.Wait()
			if err != nil && !errors.As(err, new(*exec.ExitError)) {
				t.Fatal(err)
			}
			if code := c.ProcessState.ExitCode(); code != exitFailed {
				t.Errorf("exit code %d, want %d: %s", code, exitFailed, said.Bytes())
			}
			if tells := strings.Contains(said.String(), "putting back: "); tells != strings.HasSuffix(w.waits, "puts back") {
				t.Errorf("says what it puts back: %v, and waits for %s: %s", tells, w.waits, said.Bytes())
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*out*")); len(left) > 0 {
				t.Errorf("leaves %q", left)
			}
		})
	}
}

// prepare makes the files of the command's folder. Its cluster is at an address.
func (w commandRow) prepare(t *testing.T, dir, at string) {
	t.Helper()
	for path, text := range map[string]string{
		"cluster.yaml": "name: far\nresourceManagers: [http://" + at + "]\nnameNodes: [\"" + at + "\"]\nhistoryServer: http://" +
			at + "\nuser: nobody\nhadoop: {home: ., conf: .}\n",
		"first.yaml":                 "cluster: ./cluster.yaml\nworkloads:\n  - {name: wordcount, size: 1MiB}\n",
		filepath.Dir(labFile) + "/x": "", w.lock(): "",
	} {
		if path == "" {
			continue
		}
		path = filepath.Join(dir, path)
		mustDo(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)))
	}
	fifo := filepath.Join(dir, "fifo")
	err := unix.Mkfifo(fifo, 0o600)
	if w.waits == "fifo" {
		for _, link := range []string{labFile, "FB-2009_samples_24_times_1hr_0.tsv"} {
			err = errors.Join(err, os.Symlink(fifo, filepath.Join(dir, link)))
		}
	}
	switch w.waits {
	case "long FILE":
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, w.long()), nil, 0o644))
	case "long RUN":
		err = errors.Join(err, os.Rename(damagedCopy(t, longTrace), filepath.Join(dir, "run")))
	}
	if err == nil && w.long() != "" {
		err = os.Truncate(filepath.Join(dir, w.long()), longBytes)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// untilItWaits returns once the command waits. What it waits for ends with done.
func (w commandRow) untilItWaits(t *testing.T, c *exec.Cmd, dir string, server net.Listener) (done func()) {
	t.Helper()
	var open io.Closer
	var err error
	switch {
	case strings.HasPrefix(w.waits, "server"):
		open, err = server.Accept()
	case w.lock()+w.long() != "":
		untilOpen(t, c.Process.Pid, filepath.Join(dir, w.lock()+w.long()))
		return func() {}
	default:
		open, err = os.OpenFile(filepath.Join(dir, "fifo"), os.O_WRONLY, 0) // waits for the reader
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() { open.Close() }
}

// longBytes is the length of a file that takes no room on disk, and longer to
// read than a test runs.
const longBytes = 1 << 40

// longTrace records that a trial's trace is that long, so that it is hashed.
func longTrace(f folder) {
	recorded := regexp.MustCompile(`("name": "trace.heddle",\s*"bytes": )\d+`)
	manifest, trial := f.read("manifest.json"), `"name": "`+strings.TrimSuffix(strings.TrimPrefix(aTrial, "trials/"), "/")+`"`
	before, after, found := strings.Cut(manifest, trial)
	at := recorded.FindStringSubmatchIndex(after)
	if !found || at == nil {
		f.Fatalf("manifest.json has no record of the trace of %s", trial)
	}
	f.write("manifest.json", before+trial+after[:at[3]]+strconv.Itoa(longBytes)+after[at[1]:])
}

// untilOpen waits until a process has a file open.
func untilOpen(t *testing.T, pid int, path string) {
	t.Helper()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		open, _ := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "fd", "*"))
		for _, fd := range open {
			if to, _ := os.Readlink(fd); to == path {
				return
			}
		}
		if len(open) == 0 {
			t.Fatalf("the process has ended and never opened %s", path)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-poll.C:
		}
	}
}

// TestInterruptedExport: an export that has begun to write leaves nothing.
func TestInterruptedExport(t *testing.T) {
	// More than all buffers on the way hold, so that some is written.
	events := slices.Repeat([]traces.Event{&traces.Note{T: 1, Text: strings.Repeat("x", 1000)}}, 4000)
	var input bytes.Buffer
	mustDo(t, tracefile.WriteLines(&input, traces.Header{}, slices.Values(events)))
	for _, form := range []string{"jsonl", "perfetto", "parquet"} {
		t.Run(form, func(t *testing.T) {
			dir := t.TempDir()
			fifo := filepath.Join(dir, "fifo")
			mustDo(t, unix.Mkfifo(fifo, 0o600))
			args := []string{"trace", "export", "--to", form, "-o", filepath.Join(dir, "out")}
			if form == "parquet" {
				args = append(args, "--table", "samples")
			}
			c := program(t, append(args, fifo)...)
			mustDo(t, c.Start())
			feed := must(os.OpenFile(fifo, os.O_WRONLY, 0))
			defer feed.Close()
			must(feed.Write(input.Bytes()))
			if now := names(t, dir); len(now) != 2 || now[0] != ".out" && !strings.HasPrefix(now[0], ".out.") {
				t.Errorf("while it is written there is %q, want a hidden file beside the input", now)
			}
			mustDo(t, c.Process.Signal(syscall.SIGTERM))
			if err := c.Wait(); c.ProcessState.ExitCode() != exitFailed {
				t.Errorf("%v, want exit code %d", err, exitFailed)
			}
			if left := names(t, dir); !slices.Equal(left, []string{"fifo"}) {
				t.Errorf("there is %q, want the input alone", left)
			}
		})
	}
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries := must(os.ReadDir(dir))
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestJSON: what prints a result prints it as one JSON value too, with keys that
// begin with a small letter and have no other separators.
func TestJSON(t *testing.T) {
	table := commandRows(t)
	dir := t.TempDir()
	mustDo(t, tracefile.WriteFile(filepath.Join(dir, "run.trace"), traces.Header{Origin: traces.Recovered, Model: "yarn"}, realEvents(t)))
	far := "name: far\nresourceManagers: [http://127.0.0.1:1]\nnameNodes: [127.0.0.1:1]\nhistoryServer: http://127.0.0.1:1\n"
	for file, text := range map[string]string{
		"far.yaml": far, "jobs.tsv": "job0\t0\t0\t1000\t10\t10\n",
		"sweep.yaml": "traces: [run.trace]\nmodels: [yarn]\n",
	} {
		mustDo(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	}
	for name, command := range leaves() {
		if command.Usage == "" {
			t.Errorf("heddle %s: help.txt has no page of it", name)
		}
		row := table[name].json
		has := slices.ContainsFunc(command.Flags, func(f cli.Flag) bool { return f.Names()[0] == "json" })
		if has == (row == "none") {
			t.Errorf("heddle %s: has --json: %v; %s", name, has, row)
		}
		if row == "none" || strings.HasPrefix(row, "in: ") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			args := append(strings.Fields(name), "--json")
			for a := range strings.FieldsSeq(row) {
				if strings.HasPrefix(a, "../") {
					a, _ = filepath.Abs(a)
				}
				args = append(args, a)
			}
			wanted := 0
			if strings.Contains(row, "far.yaml") {
				wanted = exitCluster
			}
			c := program(t, args...)
			c.Dir = dir
			code, out, said := ended(t, c)
			if code != wanted {
				t.Fatalf("exit code %d, want %d: %s", code, wanted, said)
			}
			dec := json.NewDecoder(strings.NewReader(out))
			var value any
			if err := dec.Decode(&value); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			errtest.Is(t, errtest.Of(dec.Token()), io.EOF)
			typed := regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)
			for key := range keys(value) {
				if !typed.MatchString(key) {
					t.Errorf("key %q", key)
				}
			}
		})
	}
}

// keys are all keys of objects in a JSON value, but those of maps from names.
func keys(value any) map[string]bool {
	found := map[string]bool{}
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			maps.Copy(found, keys(e))
		}
	case map[string]any:
		for k, e := range v {
			found[k] = true
			maps.Copy(found, keys(e))
		}
	}
	return found
}

// TestHostileText: neither what a trace holds nor what a server says reaches
// the terminal as it is.
func TestHostileText(t *testing.T) {
	const hostile = "a\x1b]0;title\x07\x1b[2Jb\u009b31m\u202ecod\x7f\r!"
	const shown = `a\u001b]0;title\u0007\u001b[2Jb\u009b31m\u202ecod\u007f\u000d!`
	dir := t.TempDir()
	events := realEvents(t)
	for _, e := range events {
		if s, ok := e.(*traces.JobSubmitted); ok {
			s.Name = hostile
		}
	}
	path := filepath.Join(dir, "run.trace")
	mustDo(t, tracefile.WriteFile(path, traces.Header{Origin: traces.Recovered, Model: "yarn"}, events))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		if err := json.NewEncoder(w).Encode(map[string]any{"RemoteException": map[string]string{
			"exception": hostile,
			"message":   hostile,
		}}); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	file := filepath.Join(dir, "cluster.yaml")
	text := "name: far\nresourceManagers: [" + server.URL + "]\nnameNodes: [127.0.0.1:1]\nhistoryServer: " + server.URL +
		"\nuser: nobody\nhadoop: {home: ., conf: .}\n"
	mustDo(t, os.WriteFile(file, []byte(text), 0o644))
	control := regexp.MustCompile(`[^\P{C}\n\t]`)
	for _, args := range [][]string{
		{"trace", "info", path},
		{"trace", "info", hostile},
		{"replay", path},
		{hostile},
		{"models", hostile},
		{"doctor", "--cluster", file},
		{"labels", "show", "--cluster", file},
		{"capture", "--cluster", file, "--live", "--runs", filepath.Join(dir, "runs")},
	} {
		_, out, said := ended(t, program(t, args...))
		if bad := control.FindString(out + said); bad != "" {
			t.Errorf("heddle %q prints %q: %q", args, bad, out+said)
		}
		if args[0] == "trace" && args[2] == path && !strings.Contains(out, shown) {
			t.Errorf("heddle %q prints %q, want %q in it", args, out, shown)
		}
	}
	// JSON has the value as it is.
	_, out, _ := ended(t, program(t, "trace", "info", "--json", path))
	var info struct {
		List []struct{ Name string } `json:"jobList"`
	}
	if err := json.Unmarshal([]byte(out), &info); err != nil || len(info.List) == 0 || info.List[0].Name != hostile {
		t.Errorf("JSON: %v, %+v, want the name %q", err, info.List, hostile)
	}
}

// TestEscaper cuts text into pieces: what is written does not depend on where.
func TestEscaper(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text")
		file := must(os.CreateTemp("", "escaper-*"))
		defer os.Remove(file.Name())
		defer file.Close()
		e := &escaper{out: file}
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			if wrote, err := e.Write(rest[:n]); wrote != n || err != nil {
				t.Fatal(wrote, err)
			}
			rest = rest[n:]
		}
		if err := e.Flush(); err != nil {
			t.Fatal(err)
		}
		got := must(os.ReadFile(file.Name()))
		if string(got) != printable.Text(text) {
			t.Errorf("in pieces %q, whole %q", got, printable.Text(text))
		}
		if printable.Text(printable.Text(text)) != printable.Text(text) {
			t.Errorf("%q is escaped again", printable.Text(text))
		}
	})
}

// bashWithHeddle returns the path of bash, and a folder for its PATH in which this
// test binary is called heddle.
func bashWithHeddle(t *testing.T) (bash, bin string) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	bin = t.TempDir()
	mustDo(t, os.Symlink(os.Args[0], filepath.Join(bin, "heddle")))
	return bash, bin
}

// TestCompletion completes command lines as bash does.
func TestCompletion(t *testing.T) {
	bash, bin := bashWithHeddle(t)
	for _, c := range []struct {
		line string // words, the last one is completed
		want []string
	}{
		{"heddle rep", []string{"report", "replay"}},
		{"heddle trace ", []string{"info", "why", "check", "repair", "cut", "import", "export", "help", "h"}},
		{"heddle trace re", []string{"repair"}},
		{"heddle replay --calib", []string{"--calibration", "--calibrate"}},
		{"heddle trace check --", []string{"--json", "--quiet", "--help"}},
		{"heddle lab exec r1n1 -- touch ", nil}, // and nothing is run
	} {
		script := `source <(heddle completion bash) && complete -p heddle >/dev/null || exit 9
			COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _heddle; printf '%s\n' "${COMPREPLY[@]}"`
		cmd := exec.CommandContext(t.Context(), bash, append([]string{"-c", script, "bash"}, strings.Split(c.line, " ")...)...)
		cmd.Env = append(os.Environ(), asMain+"=1", "PATH="+bin+":"+os.Getenv("PATH"))
		code, out, said := ended(t, cmd)
		if got := strings.Fields(out); code != 0 || !slices.Equal(got, c.want) {
			t.Errorf("%q: code %d, %q, want %q; %s", c.line, code, got, c.want, said)
		}
	}
	for _, shell := range []string{"zsh", "fish"} {
		code, out, said := ended(t, program(t, "completion", shell))
		if code != 0 || !strings.Contains(out, "heddle") {
			t.Errorf("%s: code %d, %q, %s", shell, code, out, said)
			continue
		}
		if path, err := exec.LookPath(shell); err == nil {
			check := exec.CommandContext(t.Context(), path, "-n")
			check.Stdin = strings.NewReader(out)
			if code, _, said := ended(t, check); code != 0 {
				t.Errorf("%s does not take its script: %s", shell, said)
			}
		}
	}
}
