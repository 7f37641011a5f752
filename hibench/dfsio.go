package hibench

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Names of HiBench's workload dfsioe, which is two here: one writes files of equal
// size to HDFS, a map each, and one reads such files. A job with one reduce adds up
// how long that took.
//
// Both are Hadoop's own program TestDFSIO, even with a checkout. HiBench has a copy
// of it that also draws throughput over time. Its scripts run the write over the
// files of the read, and report the input's size as that of the write.
const (
	DFSIOWrite = "dfsioe-write"
	DFSIORead  = "dfsioe-read"
)

// DFSIO reports whether a workload is one of the two of dfsioe.
func DFSIO(workload string) bool { return workload == DFSIOWrite || workload == DFSIORead }

const (
	mebi       = 1 << 20 // bytes of a MiB, in which dfsioe counts
	dfsioClass = "org.apache.hadoop.fs.TestDFSIO"
	dfsioName  = "dfsio.txt" // file in a run's folder with what the program says of its throughput
)

// Sizes of dfsioe in each profile: MiB in all files together, and files.
var (
	dfsioSizes = []int64{16 * 1, 32 * 10, 64 * 10, 256 * 100, 512 * 400, 2048 * 1000}
	dfsioFiles = []int64{16, 32, 64, 256, 512, 2048}
)

// FileBytes returns how many bytes each file of dfsioe has.
func (s Spec) FileBytes() int64 { return s.bytes() / int64(s.withDefaults().Maps) }

// checkDFSIO returns an error if the files of dfsioe cannot be of equal size.
func (s Spec) checkDFSIO() error {
	d := s.withDefaults()
	switch {
	case s.Profile != "" && s.Maps != 0:
		return fmt.Errorf("both a profile (%s) and %d maps; a profile says how many files there are", s.Profile, s.Maps)
	case s.Reduces > 1:
		return fmt.Errorf("%d reduces: its job has 1", s.Reduces)
	case s.SizeBytes%(mebi*int64(d.Maps)) != 0:
		mib := int64(d.Maps) * max(1, s.SizeBytes/mebi/int64(d.Maps))
		return fmt.Errorf("%d bytes in %d files: want whole MiB in each, such as %dMiB together", s.SizeBytes, d.Maps, mib)
	}
	return nil
}

// dfsioArgs returns the arguments of the program that writes or reads files, by the
// workload's name. It keeps all its files below the folder base.
func (s Spec) dfsioArgs(workload, base string) []string {
	what := strings.Replace(workload, "dfsioe", "", 1)
	return append(defines("test.build.data", base), what, "-nrFiles", strconv.Itoa(s.Maps), "-size", decimal(s.FileBytes()/mebi)+"MB")
}

// dfsioOwn returns the folders below base that each run of dfsioe makes anew.
func dfsioOwn(base string) []string {
	return []string{path.Join(base, "io_control"), path.Join(base, "io_read"), path.Join(base, "io_write")}
}

// dfsioBase returns the folder in HDFS that a run of dfsioe works in. The read works in the
// folder of its input.
func (r *Runner) dfsioBase(tag string) string {
	if r.spec.Workload == DFSIORead {
		return r.inputPath()
	}
	return r.outputPath(tag)
}

// checkDFSIORun checks a run of dfsioe: the files, what its reduce added up, the
// throughput that the program reports, and the job's counters.
func (r *Runner) checkDFSIORun(ctx context.Context, k *check, tag string, c Counters) error {
	base, size := r.dfsioBase(tag), r.spec.bytes()
	files, err := dataFiles(r.env.FS, path.Join(base, "io_data"))
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.Size() != r.spec.FileBytes() {
			return fmt.Errorf("%w: %s has %d bytes, want %d", ErrInvalidOutput, f.Name(), f.Size(), r.spec.FileBytes())
		}
	}
	if err := k.compare("files", len(files), r.spec.Maps); err != nil {
		return err
	}
	k.add("bytes of each file")
	sums := path.Join(base, strings.Replace(r.spec.Workload, "dfsioe-", "io_", 1))
	sumBytes, _, err := folderSize(r.env.FS, sums)
	if err != nil {
		return err
	}
	added := map[string]float64{}
	if err := r.eachFile(ctx, sums, func(f io.Reader) error { return figures(f, "\t", added) }); err != nil {
		return err
	}
	if err := k.compare("bytes that its maps counted", added["l:size"], float64(size)); err != nil {
		return err
	}
	if err := k.compare("maps that counted", added["l:tasks"], float64(r.spec.Maps)); err != nil {
		return err
	}
	if err := r.checkThroughput(k, tag, added["l:time"]); err != nil {
		return err
	}
	// A map also reads a file of some bytes that tells it what to do, and the reduce
	// writes the sums.
	const most = 64 << 10
	if r.spec.Workload == DFSIOWrite {
		err = k.compare("bytes written (counters)", c.HDFSWrittenBytes, size+sumBytes)
	} else if more := c.HDFSReadBytes - size; more < 0 || more > most*int64(r.spec.Maps) {
		err = fmt.Errorf("%w: bytes read (counters): %d, want %d and at most %d more for each map", ErrInvalidOutput, c.HDFSReadBytes,
			size, most)
	} else {
		k.add("bytes read (counters)")
	}
	if err != nil {
		return err
	}
	if ran := float64(c.MapTime.Milliseconds()); added["l:time"] > ran {
		return fmt.Errorf("%w: its maps spent %v ms on their files, and ran for %v ms", ErrInvalidOutput, added["l:time"], ran)
	}
	k.add("throughput, with the times of maps")
	return nil
}

// checkThroughput compares the throughput that the program reports with the bytes
// and the time, in ms, that its maps spent on them.
func (r *Runner) checkThroughput(k *check, tag string, ms float64) error {
	name := filepath.Join(r.env.tagDir(tag), dfsioName)
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("what the program says of its throughput: %w", err)
	}
	defer f.Close()
	said := map[string]float64{}
	if err := figures(f, ":", said); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	mib := float64(r.spec.dataSize())
	if err := k.compare("MiB that it reports", said["Total MBytes processed"], mib); err != nil {
		return err
	}
	// The report has two digits behind the point.
	const key = "Throughput mb/sec"
	got, want := said[key], mib*1000/ms
	if !(ms > 0) || math.Abs(got-want) > 0.006 {
		return fmt.Errorf("%w: it reports a throughput of %v MiB/s, and its maps took %v ms for %v MiB, which is %.2f", ErrInvalidOutput,
			got, ms, mib, want)
	}
	k.add(fmt.Sprintf("throughput of %v MiB/s, with bytes and times of its maps", got))
	return nil
}

// figures adds to a map the numbers in a text whose lines have a name, a separator
// and a value. It passes over other lines.
func figures(f io.Reader, separator string, to map[string]float64) error {
	const most = 1 << 20
	return eachLine(io.LimitReader(f, most), func(line string) error {
		name, value, _ := strings.Cut(line, separator)
		if n, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			to[strings.TrimSpace(name)] = n
		}
		return nil
	})
}
