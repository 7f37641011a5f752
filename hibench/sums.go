package hibench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
)

// Sums keeps the checksums and word counts of inputs, so that an experiment
// with many trials reads each input from HDFS only once. On slow disks, reading
// an input takes longer than the job.
type Sums struct {
	mu sync.Mutex
	// checksums and word counts of each input; the key is made from the input's folder and the names, lengths and times of its files
	kept map[string]any
}

// ofInput returns what the function read computes from the workload's input,
// such as a checksum. If Sums has the result and the input's files have not
// changed, it does not call read. The argument by is what the result depends on
// besides the input; often it is empty.
func ofInput[T any](r *Runner, by string, read func(dir string) (T, error)) (T, error) {
	var none T
	dir, s := r.mapInputPath(), r.env.Sums
	if s == nil {
		return read(dir)
	}
	files, err := dataFiles(r.env.FS, dir)
	if err != nil {
		return none, err
	}
	key := fmt.Sprintf("%T %q %s", none, by, dir)
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

// eachFile calls the function do with each data file of an HDFS folder.
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

// ctxReader is a reader that returns an error once its context has ended, so
// that reading a long file can be stopped.
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

// eachRecord calls the function do with each record of a SequenceFile. The Java
// classes of keys and values must be keyClass and valueClass, in the package
// org.apache.hadoop.io. An empty keyClass stands for any class. The function do
// gets the bytes of a Text, without the length that precedes them in the file.
func eachRecord(f io.Reader, keyClass, valueClass string, do func(key, value []byte) error) error {
	s, err := newSeqReader(f)
	if err != nil {
		return err
	}
	const pkg = "org.apache.hadoop.io."
	if keyClass != "" && s.keyClass != pkg+keyClass || s.valueClass != pkg+valueClass {
		return fmt.Errorf("SequenceFile of %s and %s, want %s and %s of package %s",
			s.keyClass, s.valueClass, cmp.Or(keyClass, "any class"), valueClass, strings.TrimSuffix(pkg, "."))
	}
	for {
		key, value, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && keyClass == "Text" {
			key, err = text(key)
		}
		if err == nil && valueClass == "Text" {
			value, err = text(value)
		}
		if err == nil {
			err = do(key, value)
		}
		if err != nil {
			return err
		}
	}
}
