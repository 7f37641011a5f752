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
	"math/big"
	"path"
	"strings"
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
//   - terasort: a TeraValidate job, tagged tag + "-check", finds every row in
//     order; length and, up to the read limit, checksum are those of the input.
//   - sort: keys ascend in every file and the records are those of the input.
//   - wordcount: every word has the count that it has in the input.
//
// Inputs over 1 GiB are not read: then sort and wordcount need the counters,
// by which the number of records in and out, or the sum of all counts, is
// compared. Counters that are given are always compared; nil is none.
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
	dir := r.checkPath(tag)
	if err := r.removeAll(dir); err != nil {
		return err
	}
	if _, err := r.start(ctx, stepCheck, tag+"-check", r.outputPath(tag)); err != nil {
		return err
	}
	// TeraValidate writes one line with the checksum, and one a fault.
	checksum := ""
	err := r.eachFile(ctx, dir, func(f io.Reader) error {
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), "\t")
			if name != "checksum" {
				return fmt.Errorf("%w: TeraValidate: %s", ErrInvalidOutput, lines.Text())
			}
			checksum = value
		}
		return lines.Err()
	})
	if err != nil {
		return err
	}
	k.Compared = append(k.Compared, "order of rows (TeraValidate)")
	if !read {
		return nil
	}
	want, err := r.rowChecksum(ctx)
	if err != nil {
		return err
	}
	return k.compare("checksum of rows in output and input", checksum, want)
}

// rowChecksum is TeraValidate's checksum of the input: the sum of the CRC-32
// of all rows, in hexadecimal.
func (r *Runner) rowChecksum(ctx context.Context) (string, error) {
	sum := new(big.Int)
	err := r.eachFile(ctx, r.inputPath(), func(f io.Reader) error {
		rows, row := bufio.NewReaderSize(f, 256<<10), make([]byte, terasortRowBytes)
		var part uint64 // of one file: 2^32 rows have room
		for {
			if _, err := io.ReadFull(rows, row); errors.Is(err, io.EOF) {
				sum.Add(sum, new(big.Int).SetUint64(part))
				return nil
			} else if err != nil {
				return err
			}
			part += uint64(crc32.ChecksumIEEE(row))
		}
	})
	return sum.Text(16), err
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
	want, err := r.sumRecords(ctx, r.inputPath(), false)
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
	want := map[string]int64{}
	err = r.eachFile(ctx, r.inputPath(), func(f io.Reader) error {
		return eachRecord(f, "Text", func(_, value []byte) error {
			for word := range bytes.FieldsFuncSeq(value, isTokenizerBlank) {
				want[string(word)]++
			}
			return nil
		})
	})
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

// isTokenizerBlank is what Java's StringTokenizer parts words by.
func isTokenizerBlank(r rune) bool { return strings.ContainsRune(" \t\n\r\f", r) }

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
