package hibench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// said is what Hadoop's TestDFSIO reports of 2 files of 1 MiB in 6 ms.
const said = `----- TestDFSIO ----- : write
            Date & time: Thu Nov 26 10:08:24 UTC 2026
        Number of files: 2
 Total MBytes processed: 2
      Throughput mb/sec: 333.33
 Average IO rate mb/sec: 333.33
      Test exec time sec: 3.24

`

const added = "f:rate\t666666.7\nf:sqrate\t2.2222224E8\nl:size\t2097152\nl:tasks\t2\nl:time\t6\n"

// dfsioDoes has the hadoop command do what TestDFSIO does with 2 files of 1 MiB.
func dfsioDoes(t *testing.T, h *fakeHadoop) {
	h.does(t, `case $* in *DFSIO*)
	for a; do case $a in test.build.data=*) base=$FAKE_HDFS${a#*=};; esac; res=$a; done
	mkdir -p $base/io_data $base/io_control
	case $* in
	*-write*) sums=$base/io_write; for i in 0 1; do head -c 1048576 /dev/zero > $base/io_data/test_io_$i; done;;
	*) sums=$base/io_read;;
	esac
	mkdir -p $sums; printf %b '`+strings.ReplaceAll(added, "\n", "\\n")+`' > $sums/part-00000; : > $sums/_SUCCESS
	case $* in *-resFile*) printf %b '`+strings.ReplaceAll(said, "\n", "\\n")+`' > $res;; esac
	exit 0;; esac`)
}

func dfsioRunner(t *testing.T, workload string) (*fakeHadoop, *Runner) {
	h, env := withTests(t)
	env.Vars = append(env.Vars, "FAKE_HDFS="+string(h.fs))
	dfsioDoes(t, h)
	return h, newRunner(t, env, Spec{Workload: workload, SizeBytes: 2 << 20, Maps: 2})
}

// TestDFSIO runs both workloads and checks them. The read's input is written once, and
// what a run leaves beside it is removed.
func TestDFSIO(t *testing.T) {
	for workload, c := range map[string]struct {
		command string
		base    string
		good    Counters
	}{
		DFSIOWrite: {
			"-D test.build.data=/bench/2097152-2maps/Dfsioe/Output-t1 -write -nrFiles 2 -size 1MB", "Output-t1",
			Counters{HDFSWrittenBytes: 2<<20 + int64(len(added)), MapTime: 6 * time.Millisecond},
		},
		DFSIORead: {
			"-D test.build.data=/bench/2097152-2maps/Dfsioe/Input -read -nrFiles 2 -size 1MB", "Input",
			Counters{HDFSReadBytes: 2<<20 + 250, MapTime: time.Second},
		},
	} {
		t.Run(workload, func(t *testing.T) {
			h, r := dfsioRunner(t, workload)
			ctx := context.Background()
			d, err := r.Prepare(ctx, "t1")
			if read := workload == DFSIORead; err != nil || read != (d.Bytes == 2<<20) || read != (d.Files == 2) {
				t.Fatalf("prepare: %+v, %v", d, err)
			}
			if again, err := r.Prepare(ctx, "t2"); err != nil || again.Reused != (workload == DFSIORead) {
				t.Errorf("prepare again: %+v, %v", again, err)
			}
			for range 2 { // the second run finds what the first left
				must(r.Run(ctx, "t1"))
			}
			want := "--config $RUN/t1/conf org.apache.hadoop.fs.TestDFSIO " + c.command + " -resFile $RUN/t1/dfsio.txt"
			if got := h.lastCall(t, r.env); got != want {
				t.Errorf("command\n%s, want\n%s", got, want)
			}
			if k, err := r.Check(ctx, "t1", c.good); err != nil || len(k) != 8 {
				t.Errorf("check: %+v, %v", k, err)
			}
			mustDo(t, r.removeRun("t1"))
			left, err := os.ReadDir(h.fs.path("/bench/2097152-2maps/Dfsioe/" + c.base))
			if workload == DFSIOWrite && !errors.Is(err, os.ErrNotExist) || workload == DFSIORead &&
				(err != nil || len(left) != 1 || left[0].Name() != "io_data") {
				t.Errorf("after Clean: %v, %v", left, err)
			}
		})
	}
}

// TestDFSIOCheck: each figure that is not what the files and the counters say is found.
func TestDFSIOCheck(t *testing.T) {
	good := Counters{HDFSWrittenBytes: 2<<20 + int64(len(added)), MapTime: time.Second}
	with := func(text, old, new string) string {
		if !strings.Contains(text, old) {
			t.Fatalf("%q is not in %q", old, text)
		}
		return strings.Replace(text, old, new, 1)
	}
	for _, c := range []struct {
		want        string
		said, added string
		fileBytes   int
		counters    Counters
	}{
		{"", said, added, 1 << 20, good},
		{"test_io_1 has 1048575 bytes, want 1048576", said, added, 1<<20 - 1, good},
		{"files: 1, want 2", said, added, -1, good},
		{"bytes that its maps counted: 1, want 2.097152e+06", said, with(added, "l:size\t2097152", "l:size\t1"), 1 << 20, good},
		{"maps that counted: 1, want 2", said, with(added, "l:tasks\t2", "l:tasks\t1"), 1 << 20, good},
		{"MiB that it reports: 3, want 2", with(said, "processed: 2", "processed: 3"), added, 1 << 20, good},
		{
			"it reports a throughput of 333.33 MiB/s, and its maps took 12 ms for 2 MiB, which is 166.67", said,
			with(added, "l:time\t6", "l:time\t12"), 1 << 20, good,
		},
		{"its maps took 0 ms", said, with(added, "l:time\t6", "l:time\t0"), 1 << 20, good},
		{"its maps took 0 ms", said, with(added, "l:time\t6", "l:time\tx"), 1 << 20, good},
		{"throughput of 0 MiB/s", with(said, "333.33", "NaN?"), added, 1 << 20, good},
		{"bytes written (counters): 5", said, added, 1 << 20, Counters{HDFSWrittenBytes: 5, MapTime: time.Second}},
		{
			"its maps spent 6 ms on their files, and ran for 5 ms", said, added, 1 << 20,
			Counters{HDFSWrittenBytes: good.HDFSWrittenBytes, MapTime: 5 * time.Millisecond},
		},
	} {
		h, r := dfsioRunner(t, DFSIOWrite)
		base := h.fs.path(r.outputPath("t1"))
		for i, bytes := range []int{1 << 20, c.fileBytes} {
			if bytes >= 0 {
				write(t, filepath.Join(base, "io_data", fmt.Sprint("test_io_", i)), strings.Repeat("0", bytes), 0o644)
			}
		}
		write(t, filepath.Join(base, "io_write", "part-00000"), c.added, 0o644)
		write(t, path.Join(r.env.tagDir("t1"), dfsioName), c.said, 0o644)
		_, err := r.Check(t.Context(), "t1", c.counters)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrInvalidOutput) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("error %v; want one with %q", err, c.want)
		}
	}
	_, r := dfsioRunner(t, DFSIORead)
	if _, err := r.Check(t.Context(), "t1", good); err == nil || errors.Is(err, ErrInvalidOutput) {
		t.Errorf("without files: %v; want an error that they are missing", err)
	}
}

func TestDFSIOFiles(t *testing.T) {
	s := Spec{Workload: DFSIORead, Profile: "small"}.withDefaults()
	if s.Maps != 32 || s.FileBytes() != 10<<20 || s.dataName() != "small-32maps" {
		t.Errorf("small has %d files of %d bytes in %s, want 32 of 10 MiB in small-32maps", s.Maps, s.FileBytes(), s.dataName())
	}
}
