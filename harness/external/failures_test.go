package external_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"heddle/harness/external"
	"heddle/harness/sched"
	"heddle/harness/sim"
	"heddle/harness/state"
	"heddle/traces/errtest"
)

const (
	hello = `read l; echo '{"hello":1,"model":"bad"}'; `
	// first is the beginning of a program that is asked once.
	first = hello + `read l; `
)

func says(answer string) string { return first + "echo '" + answer + "'; read l" }

// TestFailures: whatever a program does, the simulation ends with an error that names the
// program and says what it did.
func TestFailures(t *testing.T) {
	for name, x := range map[string]struct {
		script string
		want   []string
	}{
		"crash": {first + `echo "it broke" >&2; exit 3`, []string{
			"request 1: the program ended before it answered: exit status 3",
			"its standard error:\nit broke",
		}},
		"crash by a signal": {first + `kill -SEGV $$`, []string{"request 1: the program ended before it answered: signal: segmentation fault"}},
		"end": {first + `exit 0`, []string{
			"request 1: the program ended before it answered: exit status 0",
			"wrote nothing to its standard error",
		}},
		"end without hello": {`exit 0`, []string{"hello: the program ended before it answered: exit status 0"}},
		"end within a line": {first + `printf '{"answer":1'`, []string{`the line "{\"answer\":1": the program ended within it`}},
		"end with an error": {`while read l; do case $l in *bye*) exit 4;; *hello*) echo '{"hello":1}';; *) n=${l#*:}; n=${n%%,*}; echo '{"answer":'$n'}';; esac; done`, []string{"stuck", "at the end: exit status 4"}},
		"hang": {
			first + `echo "I think" >&2; sleep 1000`,
			[]string{"request 1: no answer within 400ms; make the program faster, or give it more time with limit", "I think"},
		},
		"stdout closed": {first + `exec >&-; read l`, []string{"request 1: the program ended before it answered"}},
		"another version": {
			`read l; echo '{"hello":2}'; read l`,
			[]string{`the line "{\"hello\":2}": hello: protocol version 2: this heddle speaks 1`},
		},
		"no hello": {
			`read l; echo 'hi there'; read l`,
			[]string{
				`the line "hi there": invalid character`,
				"want one JSON object a line on standard output, and anything else on standard error",
			},
		},
		"malformed": {
			says(`{"answer":1,"start":[}`),
			[]string{`answer to request 1: the line "{\"answer\":1,\"start\":[}": invalid character '}'`},
		},
		"empty line":         {says(``), []string{`answer to request 1: the line "": EOF`}},
		"two values":         {says(`{"answer":1} {"answer":2}`), []string{"more than one value"}},
		"unknown key":        {says(`{"answer":1,"begin":[]}`), []string{`unknown field "begin"`}},
		"control characters": {first + `printf '\033[2J\000\n'; read l`, []string{`the line "\x1b[2J`}},
		"another request":    {says(`{"answer":7}`), []string{"it answers request 7, and request 1 was asked"}},
		"no node": {
			says(`{"answer":1,"start":[{"job":0,"task":0,"node":6}]}`),
			[]string{"start[0] of the answer to request 1: there is no node 6; the cluster has 6, numbered from 0"},
		},
		"negative node":   {says(`{"answer":1,"start":[{"job":0,"task":0,"node":-1}]}`), []string{"there is no node -1"}},
		"no job":          {says(`{"answer":1,"start":[{"job":9,"kind":"map"}]}`), []string{"there is no job 9; "}},
		"huge job":        {says(`{"answer":1,"start":[{"job":99999999999,"kind":"map"}]}`), []string{"cannot unmarshal number 99999999999"}},
		"no task":         {says(`{"answer":1,"start":[{"job":0,"task":14}]}`), []string{"job 0 has no task 14; it has 14, numbered from 0"}},
		"task of no kind": {says(`{"answer":1,"start":[{"job":0}]}`), []string{"neither task nor kind"}},
		"wrong kind":      {says(`{"answer":1,"start":[{"job":0,"kind":"shuffle"}]}`), []string{`kind "shuffle": want map or reduce`}},
		"other kind":      {says(`{"answer":1,"start":[{"job":0,"task":0,"kind":"reduce"}]}`), []string{"none waits"}},
		"wrong reason": {
			says(`{"answer":1,"start":[{"job":0,"task":0,"reason":"luck"}]}`),
			[]string{`reason "luck": want cache, node, rack`},
		},
		"does not wait": {says(`{"answer":1,"start":[{"job":0,"task":13}]}`), []string{"none waits"}},
		"twice": {
			says(`{"answer":1,"start":[{"job":0,"task":0},{"job":0,"task":0}]}`),
			[]string{"start[1] of the answer to request 1: it starts task 0 of job 0 twice"},
		},
		"full node": {
			says(`{"answer":1,"start":[{"job":0,"task":0},{"job":0,"task":1},{"job":0,"task":2}]}`),
			[]string{"start[2] of the answer to request 1: node 0, n0, is full after the decisions before this one"},
		},
		"endless line":  {first + `yes x | tr -d '\n'`, []string{`the line "xxxxx`, "it is longer than 1048576 bytes"}},
		"endless lines": {first + `exec yes`, []string{`answer to request 1: the line "y"`}},
		"much on stderr": {
			first + `yes "a long story" | head -c 3000000 >&2; echo last >&2; exit 1`,
			[]string{"exit status 1", "a long story\n", "last"},
		},
		"no such program": {"", []string{"start: ", "no-such-program", "correct the command, or install the program"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pids := filepath.Join(t.TempDir(), "pids")
			limit := 2 * time.Minute
			if name == "hang" {
				limit = 400 * time.Millisecond
			}
			command := []string{"sh", "-c", "sleep 1000 <&- >&- 2>&- & echo $! $$ > " + pids + "; " + x.script}
			if x.script == "" {
				command = []string{"no-such-program"}
			}
			m, err := external.New(external.Options{Command: command, Limit: limit})
			mustDo(t, err)
			_, err = simulated(m, sim.Ideal)
			if err == nil {
				t.Fatal("the simulation did not fail")
			}
			if !strings.Contains(err.Error(), "model external, [") || !strings.Contains(err.Error(), command[0]) {
				t.Errorf("the error does not name the model and its command: %v", err)
			}
			for _, want := range x.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error is\n%v\nwant in it\n%s", err, want)
				}
			}
			if len(err.Error()) > 4000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			if x.script != "" {
				endedAll(t, pids)
			}
		})
	}
}

// endedAll: no process runs of those whose ids are in the file.
func endedAll(t *testing.T, file string) {
	t.Helper()
	data := errtest.Must(os.ReadFile(file))
	for _, pid := range strings.Fields(string(data)) {
		for tries := 0; ; tries++ {
			stat, err := os.ReadFile("/proc/" + pid + "/stat")
			if err != nil { // it is gone, or this system has no such files
				break
			}
			if _, after, _ := strings.Cut(string(stat), ") "); strings.HasPrefix(after, "Z") {
				break // killed, and nobody has asked for its status
			}
			if tries > 10_000_000 {
				t.Fatalf("process %s of the program runs on: %s", pid, stat)
			}
			runtime.Gosched()
		}
	}
}

// TestNothingInherited: a program gets none of heddle's secrets.
func TestNothingInherited(t *testing.T) {
	t.Setenv("HEDDLE_TOKEN", "secret-1")
	t.Setenv("KRB5CCNAME", "secret-2")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret-3")
	t.Setenv("LC_TIME", "C.UTF-8")
	m, err := external.New(external.Options{Command: []string{"sh", "-c", "env >&2; exit 1"}})
	mustDo(t, err)
	err = m.Start()
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("want an error without a secret: %v", err)
	}
	for _, want := range []string{"PATH=", "LC_TIME=C.UTF-8", "PYTHONHASHSEED=0"} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("the program does not get %s: %v", want, err)
		}
	}
}

// TestOutOfTurn: a model that was not started, or has ended, fails and decides nothing.
func TestOutOfTurn(t *testing.T) {
	errtest.Has(t, errtest.Of(external.New(external.Options{})), "no command; say which program decides")
	m := errtest.Must(external.New(external.Options{Command: []string{"sh", "-c", hello + "read l"}}))
	mustDo(t, m.Start())
	if err := m.Close(); err != nil {
		t.Errorf("a program that ends when told so: %v", err)
	}
	if out := m.Round(state.New().View(), []state.NodeID{0}, nil); out != nil || m.Failed() == nil {
		t.Errorf("asked after its end: %v, %v", out, m.Failed())
	}
	if err := m.Start(); err == nil {
		t.Error("it was started again")
	}
	var p sched.Process = m
	if err := p.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if errors.Is(m.Failed(), os.ErrClosed) {
		t.Error("the error is about a closed file, which tells nobody anything")
	}
}
