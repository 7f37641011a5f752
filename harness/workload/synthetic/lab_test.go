package synthetic_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"heddle/harness/clients"
	"heddle/harness/config"
	"heddle/harness/lab/labtest"
	"heddle/harness/workload/synthetic"
	"heddle/hibench"
	"heddle/traces/errtest"
	"heddle/yarnclient"
)

// cluster is the shared lab, with a folder in HDFS for this test.
type cluster struct {
	*config.Cluster
	clients         *clients.Clients
	folder          string // in HDFS
	program, jar    string // on this machine
	blockBytes      int64
	replicasOfFiles int
}

func onLab(t *testing.T) *cluster {
	t.Helper()
	conf := labtest.Shared(t).Cluster()
	c := &cluster{
		Cluster: &conf, folder: fmt.Sprintf("/heddle-test/synthetic-%d-%s", os.Getpid(), t.Name()), blockBytes: 1 << 20,
		replicasOfFiles: 2,
	}
	jars, _ := filepath.Glob(filepath.Join(conf.Hadoop.Home, "share/hadoop/tools/lib/hadoop-streaming-*.jar"))
	if len(jars) != 1 {
		t.Fatalf("Hadoop's home %s has %d jars of Hadoop Streaming, want one", conf.Hadoop.Home, len(jars))
	}
	c.jar = jars[0]
	var err error
	c.program = labtest.Binary(t)
	errtest.None(t, synthetic.CheckProgram(c.program, runtime.GOARCH))
	if c.clients, err = clients.To(&conf, clients.Patience{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		files, err := c.clients.HDFS.Files(context.WithoutCancel(t.Context())) // which has ended
		if err == nil {
			err = files.RemoveAll(c.folder)
		}
		if err != nil {
			t.Errorf("remove %s: %v", c.folder, err)
		}
		c.clients.Close()
	})
	return c
}

// input writes files of one block each, so each is read by one map.
func (c *cluster) input(t *testing.T, name string, files int, bytes int64) string {
	t.Helper()
	in := synthetic.Input{Seed: 1, Replication: c.replicasOfFiles, BlockBytes: c.blockBytes}
	for i := range files {
		in.Files = append(in.Files, synthetic.File{Path: fmt.Sprintf("%s/%s/part-%02d", c.folder, name, i), Bytes: bytes})
	}
	errtest.None(t, synthetic.WriteInput(t.Context(), c.clients.HDFS, in))
	return c.folder + "/" + name
}

var jobOf = regexp.MustCompile(`Running job: (job_\d+_\d+)`)

// run runs a job with Hadoop's own client, and returns its record of the
// history server.
func (c *cluster) run(t *testing.T, s *synthetic.Spec, output string, inputs ...string) (*yarnclient.JobReader, error) {
	t.Helper()
	text := errtest.Must(s.Encode())
	dir := t.TempDir()
	errtest.None(t, os.WriteFile(filepath.Join(dir, synthetic.SpecFile), text, 0o644))
	args := []string{
		"--config", c.Hadoop.Conf, "jar", c.jar, "-D", fmt.Sprintf("mapreduce.job.reduces=%d", s.Reduces.Count), "-D",
		"mapreduce.job.name=" + t.Name(),
	}
	for name, value := range synthetic.Settings() {
		args = append(args, "-D", name+"="+value)
	}
	args = append(args, "-files", c.program+","+filepath.Join(dir, synthetic.SpecFile), "-output", c.folder+"/"+output, "-mapper",
		synthetic.Mapper)
	if s.Reduces.Count > 0 {
		args = append(args, "-reducer", synthetic.Reducer)
	}
	for _, in := range inputs {
		args = append(args, "-input", in)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(c.Hadoop.Home, "bin", "hadoop"), args...)
	cmd.Env = append(hibench.ClientVars(os.Environ()), "HADOOP_USER_NAME="+c.User)
	out, err := cmd.CombinedOutput()
	found := jobOf.FindSubmatch(out)
	if found == nil {
		t.Fatalf("no job was started: %v\n%s", err, out)
	}
	job := c.clients.History.Job(string(found[1]))
	for {
		if _, asked := job.Job(ctx); asked == nil {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the history server does not have %s\n%s", found[1], out)
		case <-time.After(200 * time.Millisecond):
		}
	}
	if err != nil {
		err = fmt.Errorf("%w\n%s", err, out)
	}
	return job, err
}

// counter returns a counter of a whole job, 0 if the job never increased it.
func counter(t *testing.T, job *yarnclient.JobReader, group, name string) yarnclient.Counter {
	t.Helper()
	all := errtest.Must(job.Counters(t.Context()))
	c, _ := all.Get(group, name)
	return c
}

// within expects a number that differs from another by so many per cent at most.
func within(t *testing.T, what string, got, want int64, percent float64) {
	t.Helper()
	t.Logf("%-45s %12d, asked %12d", what, got, want)
	if limit := float64(want) * percent / 100; float64(got-want) > limit || float64(want-got) > limit {
		t.Errorf("%s: %d, want %d within %v %%", what, got, want, percent)
	}
}

// TestJobs runs jobs of synthetic tasks on a real cluster, and compares Hadoop's
// counters with what was asked.
func TestJobs(t *testing.T) {
	c := onLab(t)
	in := c.input(t, "in", 4, 1<<20)
	t.Run("skewed", func(t *testing.T) { c.skewed(t, in) })
	t.Run("map only", func(t *testing.T) { c.mapOnly(t, in) })
	t.Run("tiny", func(t *testing.T) { c.tiny(t, in) })
	t.Run("asleep", func(t *testing.T) { c.asleep(t, in) })
	t.Run("wrong spec", func(t *testing.T) { c.wrongSpec(t, in) })
}

func (c *cluster) skewed(t *testing.T, in string) {
	s := &synthetic.Spec{
		Seed: 1,
		Maps: synthetic.MapTasks{
			Count: 4, ReadBytes: synthetic.Same(1 << 20),
			EmitBytes: synthetic.Each([]int64{2 << 20, 2 << 20, 3 << 20, 999_999}), CPUMs: synthetic.Same(1500),
			MemoryBytes: synthetic.Same(64 << 20),
		},
		Reduces: synthetic.ReduceTasks{
			Count: 3, Shares: synthetic.Each([]int64{1, 3, 12}),
			WriteBytes: synthetic.Each([]int64{100_000, 2_000_003, 65_536}), CPUMs: synthetic.Same(700),
		},
	}
	job := errtest.Must(c.run(t, s, "skewed", in))
	const emitted = 7<<20 + 999_999
	within(t, "MAP_OUTPUT_MATERIALIZED_BYTES", counter(t, job, "TaskCounter", "MAP_OUTPUT_MATERIALIZED_BYTES").Total, emitted, 0)
	within(t, "MAP_OUTPUT_BYTES", counter(t, job, "TaskCounter", "MAP_OUTPUT_BYTES").Total, emitted, 1)
	within(t, "HDFS_BYTES_WRITTEN", counter(t, job, "FileSystemCounter", "HDFS_BYTES_WRITTEN").Total, 2_165_539, 0)
	within(t, "TASK_READ_BYTES of maps", counter(t, job, "heddle", "TASK_READ_BYTES").Map, 4<<20, 0.4)
	within(t, "TASK_CPU_MS of maps", counter(t, job, "heddle", "TASK_CPU_MS").Map, 4*1500, 3)
	within(t, "TASK_CPU_MS of reduces", counter(t, job, "heddle", "TASK_CPU_MS").Reduce, 3*700, 3)
	// Hadoop's own counter lacks what the program used after the task's last
	// report, so it says less.
	cpu := counter(t, job, "TaskCounter", "CPU_MILLISECONDS")
	t.Logf("CPU_MILLISECONDS %d for 4 maps that used 6000, and %d for 3 reduces that used 2100", cpu.Map, cpu.Reduce)
	tasks, err := job.Tasks(t.Context())
	tasks = slices.DeleteFunc(tasks, func(task yarnclient.Task) bool { return task.Type != "REDUCE" })
	if err != nil || len(tasks) != 3 {
		t.Fatalf("%d reduces: %v", len(tasks), err)
	}
	for _, task := range tasks {
		r := errtest.Must(strconv.Atoi(task.ID[strings.LastIndexByte(task.ID, '_')+1:]))
		counters := errtest.Must(job.TaskCounters(t.Context(), task.ID))
		shuffled, _ := counters.Get("TaskCounter", "REDUCE_SHUFFLE_BYTES")
		written, _ := counters.Get("FileSystemCounter", "HDFS_BYTES_WRITTEN")
		within(t, fmt.Sprintf("REDUCE_SHUFFLE_BYTES of reduce %d", r), shuffled.Total, s.ShuffleBytes()[r], 0)
		within(t, fmt.Sprintf("REDUCE_SHUFFLE_BYTES of reduce %d by share", r), shuffled.Total, emitted*[]int64{1, 3, 12}[r]/16, 0.01)
		within(t, fmt.Sprintf("HDFS_BYTES_WRITTEN of reduce %d", r), written.Total, []int64{100_000, 2_000_003, 65_536}[r], 0)
	}
}

func (c *cluster) mapOnly(t *testing.T, in string) {
	s := &synthetic.Spec{Maps: synthetic.MapTasks{
		Count: 4, ReadBytes: synthetic.Same(1 << 20),
		EmitBytes: synthetic.Each([]int64{0, 3, 70_000, 1 << 21}),
	}}
	job := errtest.Must(c.run(t, s, "maponly", in))
	within(t, "HDFS_BYTES_WRITTEN", counter(t, job, "FileSystemCounter", "HDFS_BYTES_WRITTEN").Total, 3+70_000+1<<21, 0)
	within(t, "HDFS_BYTES_READ", counter(t, job, "FileSystemCounter", "HDFS_BYTES_READ").Map, 4<<20, 1)
	t.Logf("CPU_MILLISECONDS without work: %d for 4 maps, of which the program has %d", counter(t, job, "TaskCounter", "CPU_MILLISECONDS").Map,
		counter(t, job, "heddle", "TASK_CPU_MS").Map)
}

// tiny has each of the floors.
func (c *cluster) tiny(t *testing.T, in string) {
	s := &synthetic.Spec{
		Maps:    synthetic.MapTasks{Count: 4, ReadBytes: synthetic.Same(1 << 20), EmitBytes: synthetic.Each([]int64{0, 20, 66, 150})},
		Reduces: synthetic.ReduceTasks{Count: 3, WriteBytes: synthetic.Each([]int64{1, 2, 13})},
	}
	job := errtest.Must(c.run(t, s, "tiny", in))
	// The first two maps have only the ends of segments, six bytes each.
	want := int64(2*3*6 + 66 + 150)
	within(t, "REDUCE_SHUFFLE_BYTES", counter(t, job, "TaskCounter", "REDUCE_SHUFFLE_BYTES").Total, want, 0)
	within(t, "REDUCE_SHUFFLE_BYTES as foretold", s.Totals().ShuffleBytes, want, 0)
	within(t, "HDFS_BYTES_WRITTEN", counter(t, job, "FileSystemCounter", "HDFS_BYTES_WRITTEN").Total, 0+2+13, 0)
}

// asleep has maps that sleep: they take as long, and use next to no CPU time.
func (c *cluster) asleep(t *testing.T, in string) {
	const sleepMs = 6000
	s := &synthetic.Spec{Maps: synthetic.MapTasks{Count: 4, ReadBytes: synthetic.Same(1 << 20), SleepMs: synthetic.Same(sleepMs)}}
	job := errtest.Must(c.run(t, s, "asleep", in))
	if cpu := counter(t, job, "heddle", "TASK_CPU_MS").Map; cpu > 4*sleepMs/20 {
		t.Errorf("4 maps used %d ms of CPU time while they slept for %d ms each", cpu, sleepMs)
	} else {
		t.Logf("4 maps used %d ms of CPU time", cpu)
	}
	tasks, err := job.Tasks(t.Context())
	if err != nil || len(tasks) != 4 {
		t.Fatalf("%d maps: %v", len(tasks), err)
	}
	for _, task := range tasks {
		t.Logf("%s took %d ms", task.ID, task.FinishedMs-task.StartedMs)
		if task.FinishedMs-task.StartedMs < sleepMs {
			t.Errorf("%s took %d ms, want the %d that it sleeps, or more", task.ID, task.FinishedMs-task.StartedMs, sleepMs)
		}
	}
}

// wrongSpec has a job fail whose spec asks for more input than there is. The
// task's error is in its log.
func (c *cluster) wrongSpec(t *testing.T, in string) {
	s := &synthetic.Spec{Maps: synthetic.MapTasks{Count: 4, ReadBytes: synthetic.Same(2 << 20)}}
	job, err := c.run(t, s, "wrong", in+"/part-00")
	if err == nil {
		t.Fatal("a job ends well whose maps read half of what they should")
	}
	record, asked := job.Job(t.Context())
	if asked != nil || record.State != "FAILED" {
		t.Errorf("the job is %s: %v", record.State, asked)
	}
}

// TestSharedInput runs three jobs at once, which read some of the same files, by
// Zipf's law.
func TestSharedInput(t *testing.T) {
	c := onLab(t)
	in := []string{c.input(t, "hot", 2, 1<<20), c.input(t, "cold", 2, 300_000)}
	zipf := rand.NewZipf(rand.New(rand.NewPCG(2, 0)), 1.1, 1, uint64(len(in)-1))
	chosen := []uint64{zipf.Uint64(), zipf.Uint64(), zipf.Uint64()}
	if !slices.Equal(chosen, []uint64{0, 0, 1}) {
		t.Fatalf("jobs read the inputs %v; want two that share one, and one that reads the other", chosen)
	}
	for i, input := range chosen {
		bytes := []int64{1 << 20, 300_000}[input]
		t.Run(fmt.Sprintf("job %d", i), func(t *testing.T) {
			t.Parallel()
			s := &synthetic.Spec{
				Seed:    uint64(i),
				Maps:    synthetic.MapTasks{Count: 2, ReadBytes: synthetic.Same(bytes), EmitBytes: synthetic.Same(500_000)},
				Reduces: synthetic.ReduceTasks{Count: 1, WriteBytes: synthetic.Same(123_456)},
			}
			job := errtest.Must(c.run(t, s, fmt.Sprintf("shared-%d", i), in[input]))
			within(t, "HDFS_BYTES_READ", counter(t, job, "FileSystemCounter", "HDFS_BYTES_READ").Map, 2*bytes, 2)
			within(t, "REDUCE_SHUFFLE_BYTES", counter(t, job, "TaskCounter", "REDUCE_SHUFFLE_BYTES").Total, 1_000_000, 0)
			within(t, "HDFS_BYTES_WRITTEN", counter(t, job, "FileSystemCounter", "HDFS_BYTES_WRITTEN").Total, 123_456, 0)
		})
	}
}
