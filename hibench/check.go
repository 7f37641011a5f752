package hibench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// ErrInvalidOutput is wrapped in the error of Runner.Check if a job's output is
// wrong. Any other error of Check means that the output could not be checked.
var ErrInvalidOutput = errors.New("invalid output")

// Counters are the MapReduce counters of the job whose output is checked. The
// caller gets them from YARN.
type Counters struct {
	MapInputRecords     int64 // value of Hadoop's counter MAP_INPUT_RECORDS
	MapOutputRecords    int64 // value of Hadoop's counter MAP_OUTPUT_RECORDS
	ReduceOutputRecords int64 // value of Hadoop's counter REDUCE_OUTPUT_RECORDS
	HDFSReadBytes       int64 // value of Hadoop's counter HDFS_BYTES_READ
	HDFSWrittenBytes    int64 // value of Hadoop's counter HDFS_BYTES_WRITTEN
	// MapTime is how long the job's successful maps ran, all together. ReduceTime is
	// the same for its reduces.
	MapTime, ReduceTime time.Duration
}

// check is what was compared of a job's output and found equal, such as "counts of all
// words".
type check []string

// readLimitBytes is the largest input, in bytes, that Check reads itself. For a
// larger input it compares the job's counters instead.
const readLimitBytes = 1 << 30

// Check compares the output of the job with the given YARN tag with the
// workload's input.
//
//   - terasort: the rows ascend from the first file to the last, and are the
//     input's.
//   - sort: keys ascend in each file, and the records are the input's.
//   - wordcount: each word has the same count as in the input.
//   - join, aggregation, scan: the result has as many rows as this package
//     computes from the input, and the same sums. Floating-point sums may differ
//     by a billionth.
//   - grep: each match has the same count as in the input, and counts fall.
//   - sleep: it has as many tasks as the spec says, which took at least as long as
//     they sleep.
//   - dfsioe: the files have their lengths, and its throughput is that of their bytes
//     in the time that its maps took, which is not longer than they ran.
//   - kmeans, bayes and scripts, and all whose output is compressed by a setting: nothing.
//
// Inputs over 1 GiB are not read. For terasort, a TeraValidate job with tag +
// "-check" then checks the order of the rows. Of a query over a larger
// input, nothing is compared. Counters are always compared: for sort the numbers of
// records read and written, for wordcount the number of words with the sum of all
// counts, and for grep the same with matches, where c is for both jobs
// together. Check returns what it compared, in words.
func (r *Runner) Check(ctx context.Context, tag string, c Counters) (compared []string, err error) {
	if err := checkTag(tag); err != nil {
		return nil, err
	}
	var k check
	output := r.outputPath(tag)
	switch {
	case r.w.program == Scripts || r.w.program == Mahout || r.spec.compressed():
		k = check{"nothing but that its jobs succeeded"}
	case r.spec.Workload == Sleep:
		err = r.spec.checkSlept(&k, c)
	case r.w.program == Tests:
		err = r.checkDFSIORun(ctx, &k, tag, c)
	case SQL(r.spec.Workload):
		output = path.Join(output, queries[r.spec.Workload].table)
		err = r.checkQuery(ctx, &k, output)
	default:
		err = r.checkExample(ctx, &k, tag, c)
	}
	if err != nil {
		return nil, fmt.Errorf("hibench: check %s: output %s: %w", r.spec, output, err)
	}
	return k, nil
}

// checkExample checks a workload of Hadoop's examples.
func (r *Runner) checkExample(ctx context.Context, k *check, tag string, c Counters) error {
	output := r.outputPath(tag)
	inputBytes, _, err := folderSize(r.env.FS, r.inputPath())
	if err == nil {
		_, err = r.env.FS.Stat(path.Join(output, "_SUCCESS"))
	}
	if err != nil {
		return err
	}
	read := inputBytes <= readLimitBytes
	switch r.spec.Workload {
	case "terasort":
		return r.checkTerasort(ctx, k, tag, inputBytes, read)
	case Grep:
		return r.checkGrep(ctx, k, output, c, read)
	case "sort":
		return r.checkSort(ctx, k, output, c, read)
	}
	return r.checkWordcount(ctx, k, output, c, read)
}

// compare returns an error if the values got and want differ. Otherwise it adds
// their name, given as what.
func (k *check) compare(what string, got, want any) error {
	if got != want {
		return fmt.Errorf("%w: %s: %v, want %v", ErrInvalidOutput, what, got, want)
	}
	k.add(what)
	return nil
}

func (k *check) add(what string) { *k = append(*k, what) }

func (r *Runner) checkTerasort(ctx context.Context, k *check, tag string, inputBytes int64, read bool) error {
	outputBytes, _, err := folderSize(r.env.FS, r.outputPath(tag))
	if err == nil {
		err = k.compare("bytes of output and input", outputBytes, inputBytes)
	}
	if err != nil {
		return err
	}
	if !read {
		return r.teraValidate(ctx, k, tag)
	}
	want, err := ofInput(r, "", func(dir string) (rowSum, error) { return r.sumRows(ctx, dir, false) })
	if err != nil {
		return err
	}
	got, err := r.sumRows(ctx, r.outputPath(tag), true)
	if err != nil {
		return err
	}
	k.add("order of rows")
	return k.compare("checksum of rows in output and input", got, want)
}

// teraValidate starts a TeraValidate job, which checks the order of TeraSort's
// output rows on the cluster. Its output is one line with a checksum, and one
// line for each fault.
func (r *Runner) teraValidate(ctx context.Context, k *check, tag string) error {
	dir := r.checkPath(tag)
	if err := r.env.removeAll(dir); err != nil {
		return err
	}
	if _, err := r.start(ctx, stepCheck, tag+"-check", r.outputPath(tag)); err != nil {
		return err
	}
	err := r.eachFile(ctx, dir, func(f io.Reader) error {
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			if !strings.HasPrefix(lines.Text(), "checksum\t") {
				return fmt.Errorf("%w: TeraValidate: %s", ErrInvalidOutput, lines.Text())
			}
		}
		return lines.Err()
	})
	if err == nil {
		k.add("order of rows (TeraValidate)")
	}
	return err
}

// rowSum is a checksum of TeraSort rows that does not depend on their order.
// Like TeraValidate, it adds up the CRC-32 of each row.
type rowSum struct {
	rows int64
	sum  uint64 // sum of the rows' CRC-32s; it cannot overflow below 2^32 rows
}

// sumRows returns a checksum of the TeraSort rows in a folder. If sorted is
// true, it also checks that the keys ascend from the first file to the last.
func (r *Runner) sumRows(ctx context.Context, dir string, sorted bool) (rowSum, error) {
	const keyBytes = 10
	var sum rowSum
	var last [keyBytes]byte
	row := make([]byte, terasortRowBytes)
	err := r.eachFile(ctx, dir, func(f io.Reader) error {
		for rows := bufio.NewReaderSize(f, 256<<10); ; {
			if _, err := io.ReadFull(rows, row); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
			sum.rows++
			sum.sum += uint64(crc32.ChecksumIEEE(row))
			if sorted && bytes.Compare(row[:keyBytes], last[:]) < 0 {
				return fmt.Errorf("%w: row %d: key %q after %q", ErrInvalidOutput, sum.rows, row[:keyBytes], last)
			}
			copy(last[:], row)
		}
	})
	return sum, err
}

func (r *Runner) checkSort(ctx context.Context, k *check, output string, c Counters, read bool) error {
	if err := k.compare("records written and read (counters)", c.ReduceOutputRecords, c.MapInputRecords); err != nil || !read {
		return err
	}
	want, err := ofInput(r, "", func(dir string) (recordSum, error) { return r.sumRecords(ctx, dir, false) })
	if err != nil {
		return err
	}
	got, err := r.sumRecords(ctx, output, true)
	if err != nil {
		return err
	}
	k.add("order of keys")
	return k.compare("records of output and input", got, want)
}

// recordSum is a checksum of SequenceFile records that does not depend on their
// order.
type recordSum struct {
	records, bytes int64
	hash           uint64
}

// sumRecords returns a checksum of the records in a folder of SequenceFiles
// with Text keys and values. If sorted is true, it also checks that the keys
// ascend in each file.
func (r *Runner) sumRecords(ctx context.Context, dir string, sorted bool) (recordSum, error) {
	var sum recordSum
	hash := fnv.New64a()
	err := r.eachFile(ctx, dir, func(f io.Reader) error {
		var last []byte
		return eachRecord(f, "Text", "Text", func(key, value []byte) error {
			// Hash the key's length too: otherwise key "a" with value "bc" and
			// key "ab" with value "c" would have the same hash.
			hash.Reset()
			fmt.Fprintf(hash, "%d ", len(key))
			hash.Write(key)
			hash.Write(value)
			sum.hash += hash.Sum64()
			sum.records++
			sum.bytes += int64(len(key) + len(value))
			if !sorted {
				return nil
			}
			if bytes.Compare(key, last) < 0 {
				return fmt.Errorf("%w: record %d: key %.40q after %.40q", ErrInvalidOutput, sum.records, key, last)
			}
			last = append(last[:0], key...)
			return nil
		})
	})
	return sum, err
}

func (r *Runner) checkWordcount(ctx context.Context, k *check, output string, c Counters, read bool) error {
	var sum int64
	got := map[string]int64{}
	err := r.eachFile(ctx, output, func(f io.Reader) error {
		return eachRecord(f, "Text", "IntWritable", func(word, count []byte) error {
			if len(count) != 4 {
				return fmt.Errorf("a count has %d bytes; want 4", len(count))
			}
			if _, twice := got[string(word)]; twice {
				return fmt.Errorf("%w: word %.40q occurs twice", ErrInvalidOutput, word)
			}
			n := int64(int32(binary.BigEndian.Uint32(count)))
			got[string(word)] = n
			sum += n
			return nil
		})
	})
	if err != nil {
		return err
	}
	if err := k.compare("sum of counts and words mapped (counters)", sum, c.MapOutputRecords); err != nil || !read {
		return err
	}
	want, err := ofInput(r, "", func(dir string) (map[string]int64, error) { return r.countWords(ctx, dir) })
	if err != nil {
		return err
	}
	return compareCounts(k, "word", "counts of all words", got, want)
}

// compareCounts returns an error if the counts got differ from the counts want.
// The argument one names a thing that was counted, and the argument all names
// the comparison.
func compareCounts(k *check, one, all string, got, want map[string]int64) error {
	for _, text := range slices.Sorted(maps.Keys(want)) {
		if got[text] != want[text] {
			return fmt.Errorf("%w: %s %.40q: %d, want %d", ErrInvalidOutput, one, text, got[text], want[text])
		}
	}
	return k.compare(all, maps.Equal(got, want), true)
}

// countWords counts how often each word occurs in the values of a folder of
// SequenceFiles, to check the output of wordcount.
func (r *Runner) countWords(ctx context.Context, dir string) (map[string]int64, error) {
	counts := map[string]int64{}
	err := r.eachFile(ctx, dir, func(f io.Reader) error {
		return eachRecord(f, "Text", "Text", func(_, value []byte) error {
			for word := range bytes.FieldsFuncSeq(value, isTokenizerBlank) {
				counts[string(word)]++
			}
			return nil
		})
	})
	return counts, err
}

// isTokenizerBlank reports whether Java's StringTokenizer, which wordcount
// uses, takes r as a blank between words.
func isTokenizerBlank(r rune) bool { return strings.ContainsRune(" \t\n\r\f", r) }
