package harness_test

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"heddle/traces/errtest"
)

// order has every package of the module once. A package may import only packages
// that stand before it.
const order = `
	traces traces/hosts traces/internal/racks traces/mend traces/outfile traces/printable traces/table traces/tracefile
	traces/byjob traces/format
	traces/internal/invent traces/internal/jsonstream
	traces/jhist traces/parquet traces/perfetto traces/rumen traces/sls traces/spark traces/spark/sparktest traces/swim traces/exchange
	yarnclient yarnclient/yarntest
	hibench/tables hibench
	collectors/hdfs/internal/hdfspb collectors/hdfs/ipc collectors/hdfs/jobsplit collectors/hdfs collectors/hdfs/hdfstest
	collectors/yarn collectors/node collectors/node/agent
	traces/errtest harness/internal/golden harness/internal/mavenjars harness/internal/cputime harness/nearest harness/internal/poll
	harness/internal/units harness/option
	harness/stats harness/design harness/doc harness/loadfit harness/sim/draw harness/state harness/queues
	harness/sched harness/sched/schedtest harness/external
	harness/paper/clqlmrs/model/qlearn harness/paper/clqlmrs/model harness/paper/learning/model harness/paper/modfair/model
	harness/paper/reverse/model harness/paper/rhc/policy harness/paper/rhc/model harness/paper/models
	harness/sim/fluid harness/sim/kernel harness/sim/place harness/sim
	harness/measure harness/why harness/explain harness/bench
	harness/kerberos harness/kerberos/kdctest harness/require harness/workload/generate harness/config harness/runs harness/newmodel
	harness/lab harness/lab/labtest
	harness/clients harness/watch harness/lease harness/lease/leasetest harness/submit harness/change harness/doctor
	harness/capture harness/steer harness/steer/drive harness/emulate
	harness/replay/recorded harness/replay/calibration harness/replay
	harness/workload/programs harness/workload/synthetic harness/workload/traceplan harness/workload
	harness/results
	harness/experiment
	harness/compare harness/export harness/report/browsertest harness/report/lanes
	harness/whatif harness/sweep harness/fidelity harness/report harness/demo
	harness/paper harness/paper/clqlmrs harness/paper/learning harness/paper/modfair harness/paper/reverse harness/paper/rhc
	cmd cmd/heddle
	ansible/tests ansible/tests/hosts`

// apart are packages that know less than the order allows: each line has a package,
// with * for all below it, and what it never imports.
const apart = `
	yarnclient* : traces                     a client library imports nothing of ours
	hibench* : traces yarnclient             workloads know neither traces nor YARN's interface
	collectors* : hibench                    collectors know no workload
	harness/stats : *                        statistics are about numbers
	harness/design : *                       so are designs
	harness/loadfit : harness/state harness/sched    it is fed by whoever reads a trace
	harness/clients : harness/lab            nothing knows that a cluster is the lab, but commands and the demo
	harness/watch : harness/lab
	harness/doctor : harness/lab
	harness/lease : harness/lab
	harness/change : harness/lab
	harness/submit : harness/lab
	harness/capture : harness/lab harness/steer
	harness/steer* : harness/lab harness/capture
	harness/replay* : harness/lab harness/clients harness/watch harness/submit harness/capture harness/steer harness/runs    no cluster
	harness/replay/recorded : harness/sched harness/measure    it runs nothing
	harness/replay/calibration : harness/sched harness/measure
	harness/workload/synthetic : harness yarnclient    it runs as a task, and submits nothing
	harness/workload/generate : harness/measure    it makes jobs, and runs none
	harness/workload/traceplan : harness/config harness/replay   a plan is made of events, by its options
	harness/workload : harness/lab harness/runs    a workload knows no run folder
	harness/results : harness/lab harness/clients harness/steer harness/replay    results are read from run folders
	harness/experiment : harness/lab
	harness/compare : harness/lab
	harness/fidelity : harness/lab harness/demo
	harness/paper* : harness/lab harness/demo harness/steer    experiments steer, papers read what came of it
	ansible/tests/hosts : *                  hosts are plain machines, and know nothing of what runs on them`

// TestImports holds every import of one of our packages by another, outside of
// tests, against the order of packages and what is apart.
func TestImports(t *testing.T) {
	listed := strings.Fields(order)
	place := map[string]int{}
	for i, name := range listed {
		if _, twice := place[name]; twice {
			t.Errorf("%s stands twice in the order", name)
		}
		place[name] = i
	}
	imports := importsOf(t)
	for name := range imports {
		if _, ok := place[name]; !ok {
			t.Errorf("%s has no place in the order of packages; put it behind all that it imports", name)
		}
	}
	for _, name := range listed {
		for _, other := range imports[name] {
			if place[other] >= place[name] {
				t.Errorf("%s imports %s, which stands behind it in the order of packages", name, other)
			}
		}
		if imports[name] == nil {
			t.Errorf("%s is in the order, but there is no such package", name)
		}
	}
	for line := range strings.Lines(strings.TrimSpace(apart)) {
		who, rest, ok := strings.Cut(strings.TrimSpace(line), " : ")
		if !ok {
			t.Fatalf("apart: %q: want PACKAGE : PACKAGES", line)
		}
		rest, why, _ := strings.Cut(rest, "  ")
		for name, list := range imports {
			if !below(name, who) {
				continue
			}
			for _, other := range list {
				for _, never := range strings.Fields(rest) {
					if never == "*" || other == never || strings.HasPrefix(other, never+"/") && !below(other, who) {
						t.Errorf("%s imports %s: %s", name, other, strings.TrimSpace(why))
					}
				}
			}
		}
	}
}

// makers are the functions that make clients of a cluster, by the packages that
// have them.
var makers = map[string][]string{
	"heddle/yarnclient":            {"NewRM", "NewHistory", "NewDaemon"},
	"heddle/collectors/hdfs":       {"New"},
	"heddle/collectors/node/agent": {"NewClient"},
	"github.com/colinmarc/hdfs/v2": {"New", "NewClient"},
}

// TestOneDoor looks for clients of a cluster that are not made by clients.To, which
// alone knows how a cluster is reached, and in whose name. The lab has its own,
// since it starts the daemons.
func TestOneDoor(t *testing.T) {
	doors := []string{"harness/clients", "harness/lab", "collectors/hdfs"}
	made := map[string]int{}
	for name := range importsOf(t) {
		folder := filepath.Join("..", filepath.FromSlash(name))
		files := errtest.Must(filepath.Glob(filepath.Join(folder, "*.go")))
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, maker := range makersIn(t, file) {
				made[name]++
				if !slices.Contains(doors, name) {
					t.Errorf("%s calls %s; take the client from harness/clients", file, maker)
				}
			}
		}
	}
	for _, name := range doors {
		if made[name] == 0 {
			t.Errorf("%s makes no client, or this test does not see it", name)
		}
	}
}

// makersIn returns those functions of makers that a Go file names.
func makersIn(t *testing.T, file string) (found []string) {
	t.Helper()
	parsed := errtest.Must(parser.ParseFile(token.NewFileSet(), file, nil, 0))
	imported := map[string]string{} // by the name in this file
	for _, i := range parsed.Imports {
		full, _ := strconv.Unquote(i.Path.Value)
		name := path.Base(strings.TrimSuffix(full, "/v2"))
		if i.Name != nil {
			name = i.Name.Name
		}
		imported[name] = full
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := s.X.(*ast.Ident); ok && slices.Contains(makers[imported[of.Name]], s.Sel.Name) {
				found = append(found, of.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return found
}

// below reports whether a package is meant by a name, which may end with *.
func below(name, who string) bool {
	all, star := strings.CutSuffix(who, "*")
	return name == all || star && strings.HasPrefix(name, all+"/")
}

// importsOf returns, for each package of the module, those of our packages that it
// imports outside of tests.
func importsOf(t *testing.T) map[string][]string {
	t.Helper()
	imports := map[string][]string{}
	errtest.None(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); name == "testdata" || strings.HasPrefix(name, ".") && name != ".." {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != ".." {
			return fs.SkipDir // another module, as heddle models new writes them
		}
		// Files for other systems count too.
		for _, system := range []string{"linux", "darwin"} {
			context := build.Default
			context.GOOS = system
			p, err := context.ImportDir(path, 0)
			if p == nil || len(p.GoFiles)+len(p.TestGoFiles)+len(p.XTestGoFiles) == 0 {
				continue // no package, or one without files for this system
			}
			if err != nil && len(p.GoFiles) > 0 {
				return err
			}
			name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
			if name == "harness" { // this test
				continue
			}
			list := append([]string{}, imports[name]...)
			for _, other := range p.Imports {
				if ours, ok := strings.CutPrefix(other, "heddle/"); ok && !slices.Contains(list, ours) {
					list = append(list, ours)
				}
			}
			imports[name] = list
		}
		return nil
	}))
	return imports
}
