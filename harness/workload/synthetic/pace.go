package synthetic

import (
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"golang.org/x/sys/unix"
)

// pace makes a task compute and sleep for as long as it was asked to, spread over
// its input. Of computing, what counts is the CPU time of the whole process,
// reading and writing included. So a slow or shared core makes the task longer, as
// it makes others. Sleep takes as long on any node.
type pace struct {
	cpu    time.Duration
	sleep  time.Duration
	slept  time.Duration
	report io.Writer
	told   time.Time // when Hadoop last heard of progress
	work   []byte
}

// reportInterval is how often a task that does not read meanwhile tells Hadoop
// that it is alive. Hadoop ends tasks that say nothing for 10 minutes.
const reportInterval = 20 * time.Second

func newPace(cpuMs, sleepMs int64, report io.Writer) pace {
	return pace{
		cpu: time.Duration(cpuMs) * time.Millisecond, sleep: time.Duration(sleepMs) * time.Millisecond, report: report,
		told: time.Now(), work: make([]byte, 64<<10),
	}
}

// upTo computes until the process has used this share of its CPU time, 0 to 1,
// and then sleeps until it has slept this share of its sleep.
func (p *pace) upTo(share float64) {
	p.compute(time.Duration(share * float64(p.cpu)))
	for target := time.Duration(share * float64(p.sleep)); p.slept < target; {
		step := min(target-p.slept, reportInterval)
		<-time.After(step) // a task that is killed meanwhile ends with its process
		p.slept += step
		p.alive("sleeping")
	}
}

// compute does nothing if the process has used more CPU time already.
func (p *pace) compute(target time.Duration) {
	if target == 0 {
		return
	}
	for cpuTime() < target {
		p.work[0] ^= byte(crc32.ChecksumIEEE(p.work))
		p.alive("computing")
	}
}

// alive tells Hadoop what the task does, unless it heard of it a moment ago.
func (p *pace) alive(doing string) {
	if now := time.Now(); now.Sub(p.told) >= reportInterval {
		fmt.Fprintln(p.report, "reporter:status:"+doing)
		p.told = now
	}
}

// cpuTime returns the CPU time that this process has used.
func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 1<<63 - 1 // never: a task must not compute forever if it cannot know how long it did
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
