package cmd

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"heddle/harness/paper/models"
	"heddle/harness/sched"
	"heddle/traces"
	"heddle/traces/jhist"
	"heddle/traces/spark/sparktest"
	"heddle/traces/tracefile"
)

// asMain is the variable that makes this test binary the program itself, signals
// and all.
const asMain = "HEDDLE_TEST_MAIN"

// TestMain lets scripts run this test binary as the command heddle.
func TestMain(m *testing.M) {
	switch os.Getenv(asMain) {
	case "":
	case "stuck":
		stuck(false)
	case "puts back":
		stuck(true)
		os.Exit(0)
	default:
		Main()
	}
	testscript.Main(registered{m}, map[string]func(){
		"heddle": func() { Main() },
		"own":    func() { Main(ownModel("own-model")) },
		"twice":  func() { Main(ownModel("own-model"), ownModel("own-model")) },
	})
}

// registered runs tests that call run, to which the models of papers are known.
type registered struct{ *testing.M }

func (m registered) Run() int {
	if err := sched.Register(models.List()...); err != nil {
		panic(err)
	}
	return m.M.Run()
}

// ownModel is fifo by another name, as a module of one's own may have it.
func ownModel(name string) sched.Info {
	return sched.Info{
		Name: name, Summary: "serves jobs as fifo does", Source: "none",
		Params: []sched.Param{{Name: "patience", Type: sched.Int, Default: "0", Doc: "nothing"}},
		Build: func(a sched.Args) (sched.Model, error) {
			m, err := sched.New("fifo", nil)
			return ownFIFO{m, a.Int("patience")}, err
		},
	}
}

type ownFIFO struct {
	sched.Model
	patience int64
}

func (ownFIFO) Name() string { return "own-model" }

// TestScripts runs the command lines of testdata/script. Each script finds
// run.trace, four jobs of a real cluster, and history.jhist, the history of one,
// in its folder. Besides testscript's
// own commands there are
//
//	own …                 heddle with one more model, own-model
//	twice …               heddle with two models of that name
//	shorten FILE BYTES    cut bytes off a file's end
//	ends CODE COMMAND …   run a command that ends with this code
//	eventlog JOIN LOST    write event logs of Spark of two applications
//	spoil FILE OFFSET     turn a byte of a file; from the end where negative
func TestScripts(t *testing.T) {
	events := realEvents(t)
	lab := must(filepath.Abs("../harness/fidelity/testdata/run"))
	week := must(filepath.Abs("../harness/whatif/testdata/week.csv"))
	experiments := must(filepath.Abs("../harness/config/testdata"))
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("RUN", lab)
			env.Setenv("WEEK", week)
			env.Setenv("EXPERIMENTS", experiments)
			files, _ := filepath.Glob("../traces/jhist/testdata/*0060*.jhist")
			history, err := os.ReadFile(files[0])
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(env.WorkDir, "history.jhist"), history, 0o644); err != nil {
				return err
			}
			h := traces.Header{Origin: traces.Recovered, Model: "yarn", Writer: "heddle test"}
			return tracefile.WriteFile(filepath.Join(env.WorkDir, "run.trace"), h, events)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"shorten": func(ts *testscript.TestScript, _ bool, args []string) {
				data := []byte(ts.ReadFile(args[0]))
				n, err := strconv.Atoi(args[1])
				ts.Check(err)
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), data[:len(data)-n], 0o644))
			},
			"eventlog": func(ts *testscript.TestScript, _ bool, args []string) {
				var join, lost bytes.Buffer
				sparktest.Join(&join, "application_1_0001", "join")
				sparktest.Lost(&lost, "application_1_0002", "lost")
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), join.Bytes(), 0o644))
				ts.Check(os.WriteFile(ts.MkAbs(args[1]), lost.Bytes(), 0o644))
			},
			"ends": func(ts *testscript.TestScript, _ bool, args []string) {
				code := 0
				var exit *exec.ExitError
				if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
					code = exit.ExitCode()
				} else {
					ts.Check(err)
				}
				if args[0] != strconv.Itoa(code) {
					ts.Fatalf("%v ends with code %d, want %s", args[1:], code, args[0])
				}
			},
			"spoil": func(ts *testscript.TestScript, _ bool, args []string) {
				data := []byte(ts.ReadFile(args[0]))
				at, err := strconv.Atoi(args[1])
				ts.Check(err)
				if at < 0 {
					at += len(data)
				}
				data[at] ^= 0xff
				ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o644))
			},
		},
	})
}

func realEvents(t *testing.T) []traces.Event {
	t.Helper()
	files, _ := filepath.Glob("../traces/jhist/testdata/*.jhist")
	var all []traces.Event
	for _, path := range files {
		f := must(os.Open(path))
		job, _, err := jhist.Parse(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, jhist.Events(job, 1795265339563*1e6)...)
	}
	if len(all) == 0 {
		t.Fatal("no job histories in traces/jhist/testdata")
	}
	return all
}
