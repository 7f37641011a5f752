package synthetic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"golang.org/x/sync/errgroup"

	"heddle/collectors/hdfs"
)

// LineBytes is the length of the lines of input files, with the end of line.
// TextInputFormat gives a line to the split in which it begins, and a line that
// begins where a split does to the one before. So a map gets its split's bytes
// up to one line less or more.
const LineBytes = 4096

// File is one input file.
type File struct {
	Path  string // absolute path in HDFS
	Bytes int64
}

// Input says how input files are to be written.
type Input struct {
	Files       []File
	Seed        uint64 // the text depends on it and on a file's path
	Replication int    // replicas of each block; 0 means the cluster's default
	BlockBytes  int64  // a multiple of 512, as HDFS wants it; 0 means the cluster's default
}

// FileSystem has the HDFS operations that WriteInput needs. An [hdfs.Client] is
// one.
type FileSystem interface {
	// Stat returns fs.ErrNotExist if there is no such file.
	Stat(ctx context.Context, name string) (hdfs.File, error)
	// WriteFile makes a file that has its name only when it is complete.
	WriteFile(ctx context.Context, name string, r io.Reader, o hdfs.WriteOptions) error
}

// filesAtOnce is how many files are written at a time.
const filesAtOnce = 4

// WriteInput writes those input files that are not there yet, a few at a time.
// A file that is there with the right length is complete, since it gets its
// name only then. So a call after an interrupted one writes what is left. What
// a killed process leaves of a file has a name that begins with a dot, which
// Hadoop's jobs do not read.
func WriteInput(ctx context.Context, files FileSystem, in Input) error {
	writers, until := errgroup.WithContext(ctx)
	writers.SetLimit(filesAtOnce)
	for _, f := range in.Files {
		if until.Err() != nil {
			break
		}
		writers.Go(func() error {
			if err := in.write(until, files, f); err != nil {
				return fmt.Errorf("write input of %d bytes: %w", f.Bytes, err)
			}
			return nil
		})
	}
	if err := writers.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

func (in *Input) write(ctx context.Context, files FileSystem, f File) error {
	there, err := files.Stat(ctx, f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return hdfs.Again(ctx, func() error {
			return files.WriteFile(ctx, f.Path, newLines(in.Seed, f),
				hdfs.WriteOptions{Replication: in.Replication, BlockSize: in.BlockBytes})
		})
	case err != nil:
		return err
	case there.Dir:
		return fmt.Errorf("hdfs %s is a folder; remove it, or choose another name", f.Path)
	case there.Length != f.Bytes:
		return fmt.Errorf("hdfs %s is there with %d bytes; remove it, or choose another name", f.Path, there.Length)
	}
	return nil
}

// lines reads the text of an input file.
type lines struct {
	text *text
	left int64  // bytes after line
	line []byte // what is left of the current line
	full [LineBytes]byte
}

func newLines(seed uint64, f File) *lines { return &lines{text: newText(seed, f.Path), left: f.Bytes} }

func (l *lines) Read(to []byte) (n int, err error) {
	for n < len(to) {
		if len(l.line) == 0 {
			if l.left == 0 {
				return n, io.EOF
			}
			l.line = l.full[:min(LineBytes, l.left)]
			l.left -= int64(len(l.line))
			l.text.fill(l.line)
			l.line[len(l.line)-1] = '\n'
		}
		part := copy(to[n:], l.line)
		l.line = l.line[part:]
		n += part
	}
	return n, nil
}
