package calibration

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/harness/replay/recorded"
	"heddle/harness/sim"
	"heddle/traces/errtest"
)

// masterCores is what the master of lab uses of the machine's cores.
const masterCores = 0.25

// lab returns the trace of 16 maps of 8 MiB on two nodes of one machine with two cores.
// Eight run at a time, for some seconds, while each node is sampled every second and uses
// this many cores, and the master masterCores. Hadoop counts cpuMs of each map. If starts is
// true, the ApplicationMaster of another job starts all the while.
func lab(t *testing.T, seconds int, coresOfNode float64, cpuMs int, starts bool) *recorded.Trace {
	var s strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&s, format+"\n", args...) }
	line(`{"kind":"header","format":1,"origin":"measured","startUnixNs":1,"writer":"test","model":"yarn","actuator":"none","cluster":{"name":"lab","hostCores":2,"nodes":[` +
		`{"node":"m","rack":"/core","memoryBytes":4294967296,"vcores":4,"cores":2,"worker":false},{"node":"a","rack":"/r","memoryBytes":4294967296,"vcores":4,"cores":2,"worker":true},{"node":"b","rack":"/r","memoryBytes":4294967296,"vcores":4,"cores":2,"worker":true}]}}`)
	line(`{"kind":"jobSubmitted","t":0,"job":"j","name":"j","user":"u","queue":"q","priority":0,"maps":16,"reduces":0,"workload":"w","costs":"w","mapMemoryBytes":1073741824,"mapVCores":1,"reduceMemoryBytes":1073741824,"reduceVCores":1,"slowStart":1,"speculation":false}`)
	line(`{"kind":"jobStarted","t":2000000000,"job":"j","amNode":"m","amAttempt":1}`)
	if starts {
		line(`{"kind":"jobSubmitted","t":2500000000,"job":"k","name":"k","user":"u","queue":"q","priority":0,"maps":1,"reduces":0,"workload":"w","costs":"w","mapMemoryBytes":1073741824,"mapVCores":1,"reduceMemoryBytes":1073741824,"reduceVCores":1,"slowStart":1,"speculation":false}`)
	}
	const attempt = `"attempt":{"job":"j","kind":"map","index":%d,"number":0}`
	for i := range 16 {
		line(`{"kind":"taskScheduled","t":2000000000,"task":{"job":"j","kind":"map","index":%d},"splitHosts":["a","b"],"lengthBytes":8388608}`, i)
	}
	for wave := range 2 {
		from := 3 + seconds*wave
		for i := range 8 {
			line(`{"kind":"attemptStarted","t":%d000000000,`+attempt+`,"node":"%s","rack":"/r","splitLocality":"node","replicaLocality":"node"}`,
				from, 8*wave+i, []string{"a", "b"}[i%2])
		}
		for second := range seconds - 1 {
			for _, n := range []string{"m", "a", "b"} {
				cores := coresOfNode
				if n == "m" {
					cores = masterCores
				}
				line(`{"kind":"nodeSample","t":%d000000000,"node":"%s","intervalNs":1000000000,"cpuUser":%v,"cpuSystem":%v,"cpuIOWait":-1,"cpuSteal":-1,"cpuThrottledNs":-1,"load1":-1,"memoryUsedBytes":-1,"pageCacheBytes":-1,"memoryFreeBytes":-1,"diskReadBytesPerSec":-1,"diskWriteBytesPerSec":-1,"diskQueue":-1,"netRecvBytesPerSec":-1,"netSentBytesPerSec":-1}`,
					from+1+second, n, cores*0.75, cores*0.25)
			}
		}
		for i := range 8 {
			line(`{"kind":"attemptFinished","t":%d000000000,`+attempt+
				`,"outcome":"succeeded","mapDone":0,"counters":{"hdfsReadBytes":8388608,"hdfsWrittenBytes":0,"fileReadBytes":0,"fileWrittenBytes":0,"shuffleBytes":-1,"mapOutputBytes":0,"inputRecords":0,"outputRecords":0,"spilledRecords":0,"cpuMs":%d,"gcMs":0,"physicalBytes":0}}`,
				from+seconds, 8*wave+i, cpuMs)
		}
	}
	line(`{"kind":"jobFinished","t":99000000000,"job":"j","outcome":"succeeded"}`)
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	errtest.None(t, os.WriteFile(path, []byte(s.String()), 0o600))
	x := errtest.Must(recorded.Load(path))
	return x
}

// What the workers used of the machine's cores is what attempts shared. What a map computed
// beside Hadoop's counter is the start of its JVM, unless that is too long for one: then it
// waited for more bytes the longer. As eight attempts share two cores, they take longer than
// each would alone.
func TestDemandsByCounters(t *testing.T) {
	crowded := sim.Slowed(labContention, 4)
	for _, c := range []struct {
		name               string
		seconds            int
		coresOfNode        float64
		cpuMs              int
		cores, start, each float64 // start in ms, and each in ms a MiB, as long as eight run
		masterStarts       bool
	}{
		{"1.6 of two cores", 10, 0.8, 800, 1.6, 1200, 100, false}, // a map computes 10 s * 1.6/8
		{"all cores, mostly for bytes", 10, 1, 2000, 2, 500, 250, false},
		{"more than there are", 10, 1.5, 2000, 2, 500, 250, false},
		{"not sampled, counted: the cores are those that are known", 10, -0.5, 500, 2, 2000, 62.5, false},
		{"maps that sleep", 10, 0.1, 100, 2, 2400, 12.5, false}, // no core was short
		{"waits for a disk", 20, 1, 500, 2, crowded * mostStartMs, (5000 - crowded*mostStartMs) / 8, false},
		{"nothing counted, and no reduces tell: all is for bytes", 10, 1, 0, 2, 0, 312.5, false},
		{"counted more than computed", 10, 1, 9000, 2, 0, 312.5, false},
		{"an ApplicationMaster starts: it takes cores, which are not missing", 10, 0.8, 800, 2, 1700, 100, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := lab(t, c.seconds, c.coresOfNode, c.cpuMs, c.masterStarts)
			got := errtest.Must(Fit([]*recorded.Trace{x}, recorded.Change{}, "", func(*recorded.Trace, *Calibration, uint64) (*recorded.Trace,
				error,
			) {
				return nil, errors.New("no replay here")
			}))
			near := func(what string, got, want float64) {
				if math.Abs(got-want) > 0.01*max(1, want) {
					t.Errorf("%s: %v, want %v", what, got, want)
				}
			}
			w := got.Of("w")
			near("cores", got.HostCores, c.cores)
			near("start", got.TaskStart.Value, c.start/crowded)
			near("ms a MiB", w.Map.MsPerMiB, c.each/crowded)
			near("fixed", w.Map.FixedMs, 0)
			if got.SharingGuessed {
				t.Error("sharing is guessed")
			}
		})
	}
}

// TestAlone has replays in which ApplicationMasters start more slowly than they do alone,
// as they did in the trace, so that the fit must not count twice what slows them down.
func TestAlone(t *testing.T) {
	for _, c := range []struct {
		name                     string
		now, measured, simulated Figure
		factor                   float64
		want                     Figure
	}{
		{"as measured", Figure{2000, 3, 100}, Figure{2000, 3, 100}, Figure{2000, 3, 0}, 1, Figure{2000, 3, 100}},
		{
			"others slow them down by half",
			Figure{3000, 9, 500},
			Figure{3000, 9, 500},
			Figure{4500, 9, 300},
			2.0 / 3,
			Figure{2000, 9, 400 * 2.0 / 3},
		},
		{"others make them differ more than they did", Figure{3000, 9, 500}, Figure{3000, 9, 500}, Figure{3000, 9, 600}, 1, Figure{3000, 9, 0}},
		{"a step back", Figure{1000, 9, 0}, Figure{6000, 9, 0}, Figure{4000, 9, 0}, 1.5, Figure{1500, 9, 0}},
	} {
		if got := alone(c.now, c.measured, c.simulated, c.factor); math.Abs(got.Value-c.want.Value)+math.Abs(got.Error-c.want.Error) > 0.001 ||
			got.Samples != c.want.Samples {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestTurn has replays in which turnovers and the first starts of jobs take other times than
// measured.
func TestTurn(t *testing.T) {
	for _, c := range []struct {
		name                     string
		launch, free             float64
		turnover                 float64 // of replays; 600 ms were measured
		first, measured          Figure
		wantedLaunch, wantedFree float64
	}{
		{"as measured", 200, 300, 600, Figure{Value: 500, Samples: 1}, Figure{Value: 500, Samples: 1}, 200, 300},
		{"all of it is freeing", 500, 0, 600, Figure{Value: 900, Samples: 9}, Figure{Value: 400, Samples: 9}, 0, 500},
		{"first starts come too late", 500, 0, 600, Figure{Value: 1000, Samples: 9}, Figure{Value: 550, Samples: 9}, 50, 450},
		{"turnovers are too long", 200, 300, 700, Figure{Value: 500, Samples: 1}, Figure{Value: 500, Samples: 1}, 200, 200},
		{"turnovers are too short", 200, 300, 500, Figure{Value: 500, Samples: 1}, Figure{Value: 500, Samples: 1}, 200, 400},
		{"no first start was measured", 300, 200, 600, Figure{Value: 500, Samples: 1}, Figure{}, 500, 0},
		{"no more than the turnover", 500, 0, 100, Figure{Value: 500, Samples: 1}, Figure{Value: 5000, Samples: 1}, 600, 0},
	} {
		x := &Calibration{Turnover: Figure{Value: 600, Samples: 9}, LaunchMs: c.launch, FreeMs: c.free}
		if x.turn(c.turnover, c.first, c.measured); x.LaunchMs != c.wantedLaunch || x.FreeMs != c.wantedFree {
			t.Errorf("%s: launching takes %v ms and freeing %v, want %v and %v", c.name, x.LaunchMs, x.FreeMs, c.wantedLaunch, c.wantedFree)
		}
	}
}

// TestSteps corrects a computing time from which a time follows that grows with its fourth
// power, as where attempts wait for each other. Whole corrections would never end.
func TestSteps(t *testing.T) {
	for _, begin := range []float64{100, 700, 1000, 1300, 9000} {
		s, x := steps{gain: 1}, begin
		n := 0
		for ; n < corrections || n < mostCorrections && math.Abs(s.off) > stillOff; n++ {
			ratio := math.Pow(1000/x, 4)
			s.next([]float64{ratio})
			x *= s.factor(ratio)
		}
		if math.Abs(x-1000) > 30 {
			t.Errorf("from %v it ends at %v after %d steps, want 1000", begin, x, n)
		}
	}
	s := steps{gain: 1}
	for _, off := range []float64{1.02, 0.98, 1.03, 0.97} { // what chance does changes nothing
		if s.next([]float64{off}); s.gain != 1 || s.factor(off) != off {
			t.Errorf("after %v, a correction is %v", off, s.factor(off))
		}
	}
	if a, b := s.factor(9), s.factor(0.01); a != 2 || b != 0.5 {
		t.Errorf("the longest steps are %v and %v", a, b)
	}
}
