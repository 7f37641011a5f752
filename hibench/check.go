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
	"strings"
	"sync"
)

// ErrInvalidOutput is what Check returns, wrapped, for a wrong output. Other
// errors mean that it could not be checked.
var ErrInvalidOutput = errors.New("invalid output")

// Counters are counters of the run's job, which the caller has from YARN.
type Counters struct {
	MapInputRecords     int64 // MAP_INPUT_RECORDS
	MapOutputRecords    int64 // MAP_OUTPUT_RECORDS
	ReduceOutputRecords int64 // REDUCE_OUTPUT_RECORDS
}

// Check says what was found right about an output.
type Check struct {
	Records  int64    // in the output; 0 if not counted
	Bytes    int64    // of the output's files
	Compared []string // what was compared, in words
}

// readLimitBytes is the most input that Check reads by itself, at some
// 100 MB/s; larger ones are checked by counters.
const readLimitBytes = 1 << 30

// Check compares the output of the run with that tag with its input.
//
//   - terasort: the rows ascend from the first file to the last and are those
//     of the input.
//   - sort: keys ascend in every file and the records are those of the input.
//   - wordcount: every word has the count that it has in the input.
//
// Inputs over 1 GiB are not read. Then a TeraValidate job, tagged tag +
// "-check", finds the rows of terasort in order; sort and wordcount need the
// counters, by which the number of records in and out, or the sum of all
// counts, is compared. Counters that are given are always compared; nil is none.
func (r *Runner) Check(ctx context.Context, tag string, c *Counters) (Check, error) {
	var k Check
	if err := checkTag(tag); err != nil {
		return k, err
	}
	output := r.outputPath(tag)
	inputBytes, _, err := folderSize(r.env.FS, r.inputPath())
	if err == nil {
		k.Bytes, _, err = folderSize(r.env.FS, output)
	}
	if err == nil {
		_, err = r.env.FS.Stat(path.Join(output, "_SUCCESS"))
	}
	if err != nil {
		return k, fmt.Errorf("hibench: check %s: %w", r.spec, err)
	}
	read := inputBytes <= readLimitBytes
	if !read && c == nil && r.spec.Workload != "terasort" {
		return k, fmt.Errorf("hibench: check %s: %d bytes are too many to read (limit %d): give the job's counters", r.spec, inputBytes, readLimitBytes)
	}
	switch r.spec.Workload {
	case "terasort":
		err = r.checkTerasort(ctx, &k, tag, inputBytes, read)
	case "sort":
		err = r.checkSort(ctx, &k, output, c, read)
	default:
		err = r.checkWordcount(ctx, &k, output, c, read)
	}
	if err != nil {
		return k, fmt.Errorf("hibench: check %s: output %s: %w", r.spec, output, err)
	}
	return k, nil
}

// compare notes a comparison and fails if the two differ.
func (k *Check) compare(what string, got, want any) error {
	if got != want {
		return fmt.Errorf("%w: %s: %v, want %v", ErrInvalidOutput, what, got, want)
	}
	k.Compared = append(k.Compared, what)
	return nil
}

func (r *Runner) checkTerasort(ctx context.Context, k *Check, tag string, inputBytes int64, read bool) error {
	if err := k.compare("bytes of output and input", k.Bytes, inputBytes); err != nil {
		return err
	}
	k.Records = k.Bytes / terasortRowBytes
	if !read {
		return r.teraValidate(ctx, k, tag)
	}
	want, err := ofInput(r, func(dir string) (rowSum, error) { return r.sumRows(ctx, dir, false) })
	if err != nil {
		return err
	}
	got, err := r.sumRows(ctx, r.outputPath(tag), true)
	if err != nil {
		return err
	}
	k.Compared = append(k.Compared, "order of rows")
	return k.compare("checksum of rows in output and input", got, want)
}

// teraValidate has the cluster check the order of the rows. TeraValidate
// writes one line with a checksum, and one a fault.
func (r *Runner) teraValidate(ctx context.Context, k *Check, tag string) error {
	dir := r.checkPath(tag)
	if err := r.removeAll(dir); err != nil {
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
		k.Compared = append(k.Compared, "order of rows (TeraValidate)")
	}
	return err
}

// rowSum sums up rows, whatever their order, as TeraValidate does: by their
// CRC-32.
type rowSum struct {
	rows int64
	sum  uint64 // of fewer than 2^32 rows
}

// sumRows reads a folder of rows; sorted ones must have ascending keys from
// the first file to the last.
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

func (r *Runner) checkSort(ctx context.Context, k *Check, output string, c *Counters, read bool) error {
	if c != nil {
		k.Records = c.ReduceOutputRecords
		if err := k.compare("records written and read (counters)", c.ReduceOutputRecords, c.MapInputRecords); err != nil {
			return err
		}
	}
	if !read {
		return nil
	}
	want, err := ofInput(r, func(dir string) (recordSum, error) { return r.sumRecords(ctx, dir, false) })
	if err != nil {
		return err
	}
	got, err := r.sumRecords(ctx, output, true)
	if err != nil {
		return err
	}
	k.Compared = append(k.Compared, "order of keys")
	k.Records = got.records
	return k.compare("records of output and input", got, want)
}

// recordSum sums up records, whatever their order.
type recordSum struct {
	records, bytes int64
	hash           uint64
}

// sumRecords reads a folder of SequenceFiles of Text and Text; sorted ones
// must have ascending keys in each file.
func (r *Runner) sumRecords(ctx context.Context, dir string, sorted bool) (recordSum, error) {
	var sum recordSum
	hash := fnv.New64a()
	err := r.eachFile(ctx, dir, func(f io.Reader) error {
		var last []byte
		return eachRecord(f, "Text", func(key, value []byte) error {
			// The length is kept apart from the bytes, or "a"+"bc" were "ab"+"c".
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

func (r *Runner) checkWordcount(ctx context.Context, k *Check, output string, c *Counters, read bool) error {
	var sum int64
	got := map[string]int64{}
	err := r.eachFile(ctx, output, func(f io.Reader) error {
		return eachRecord(f, "IntWritable", func(word, count []byte) error {
			if len(count) != 4 {
				return fmt.Errorf("count of %d bytes", len(count))
			}
			if _, twice := got[string(word)]; twice {
				return fmt.Errorf("%w: word %.40q is there twice", ErrInvalidOutput, word)
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
	k.Records = int64(len(got))
	if c != nil {
		if err := k.compare("sum of counts and words mapped (counters)", sum, c.MapOutputRecords); err != nil {
			return err
		}
	}
	if !read {
		return nil
	}
	want, err := ofInput(r, func(dir string) (map[string]int64, error) { return r.countWords(ctx, dir) })
	if err != nil {
		return err
	}
	for word, n := range want {
		if got[word] != n {
			return fmt.Errorf("%w: word %.40q: %d, want %d", ErrInvalidOutput, word, got[word], n)
		}
	}
	return k.compare("counts of all words", maps.Equal(got, want), true)
}

// countWords counts the words in the values of a folder of SequenceFiles.
func (r *Runner) countWords(ctx context.Context, dir string) (map[string]int64, error) {
	counts := map[string]int64{}
	err := r.eachFile(ctx, dir, func(f io.Reader) error {
		return eachRecord(f, "Text", func(_, value []byte) error {
			for word := range bytes.FieldsFuncSeq(value, isTokenizerBlank) {
				counts[string(word)]++
			}
			return nil
		})
	})
	return counts, err
}

// isTokenizerBlank is what Java's StringTokenizer parts words by.
func isTokenizerBlank(r rune) bool { return strings.ContainsRune(" \t\n\r\f", r) }

// Sums keeps what checks have read from inputs, so that the trials of a run
// read each input once: a lab's slow disks take longer to read it than the
// job took.
type Sums struct {
	mu   sync.Mutex
	kept map[string]any // by what the input's files are
}

// ofInput is what read finds in the input, or has found in the same files.
func ofInput[T any](r *Runner, read func(dir string) (T, error)) (T, error) {
	var none T
	dir, s := r.inputPath(), r.env.Sums
	if s == nil {
		return read(dir)
	}
	files, err := dataFiles(r.env.FS, dir)
	if err != nil {
		return none, err
	}
	key := fmt.Sprintf("%T %s", none, dir)
	for _, f := range files {
		key += fmt.Sprintf("\n%s %d %d", f.Name(), f.Size(), f.ModTime().UnixNano())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.kept[key].(T); ok {
		return found, nil
	}
	found, err := read(dir)
	if err != nil {
		return none, err
	}
	if s.kept == nil {
		s.kept = map[string]any{}
	}
	s.kept[key] = found
	return found, nil
}

// eachFile opens the data files of a folder in turn.
func (r *Runner) eachFile(ctx context.Context, dir string, do func(io.Reader) error) error {
	files, err := dataFiles(r.env.FS, dir)
	if err != nil {
		return err
	}
	for _, info := range files {
		name := path.Join(dir, info.Name())
		f, err := r.env.FS.Open(name)
		if err != nil {
			return err
		}
		err = do(&ctxReader{ctx, f})
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// ctxReader stops reading when its context ends.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c *ctxReader) Read(b []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(b)
}

// eachRecord reads a SequenceFile with keys of class Text and values of a
// class of org.apache.hadoop.io; texts come without their length.
func eachRecord(f io.Reader, valueClass string, do func(key, value []byte) error) error {
	s, err := newSeqReader(f)
	if err != nil {
		return err
	}
	const pkg = "org.apache.hadoop.io."
	if s.keyClass != pkg+"Text" || s.valueClass != pkg+valueClass {
		return fmt.Errorf("SequenceFile of %s and %s, want %sText and %s%s", s.keyClass, s.valueClass, pkg, pkg, valueClass)
	}
	for {
		key, value, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if key, err = text(key); err != nil {
			return err
		}
		if valueClass == "Text" {
			if value, err = text(value); err != nil {
				return err
			}
		}
		if err := do(key, value); err != nil {
			return err
		}
	}
}
