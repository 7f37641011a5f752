package synthetic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/colinmarc/hdfs/v2"
	"golang.org/x/sync/errgroup"
)

// LineBytes is the length of the lines of input files, with the end of line.
// TextInputFormat gives a line to the split in which it begins, and a line that
// begins where a split does to the one before. So a map gets its split's bytes
// up to one line less or more.
const LineBytes = 4096

// File is one input file.
type File struct {
	Path  string
	Bytes int64
}

// Input says how input files are to be written.
type Input struct {
	Files       []File
	Seed        uint64 // the text depends on it and on a file's path
	Replication int    // replicas of each block
	BlockBytes  int64  // a multiple of 512, as HDFS wants it
}

// FileSystem has the HDFS operations that WriteInput needs. The function HDFS
// makes one from an HDFS client. For a missing file the operations return
// fs.ErrNotExist.
type FileSystem interface {
	Stat(name string) (os.FileInfo, error)
	MkdirAll(name string, perm os.FileMode) error
	Create(name string, replication int, blockBytes int64) (FileWriter, error) // Create fails if the file exists
	Rename(from, to string) error
	Remove(name string) error
}

// FileWriter writes one file. What was written is in the file only when Close
// returned no error.
type FileWriter interface {
	io.WriteCloser
	SetDeadline(time.Time) error // a Write or Close that lasts longer fails
}

// HDFS returns a FileSystem that uses the given HDFS client.
func HDFS(c *hdfs.Client) FileSystem { return hdfsClient{c} }

type hdfsClient struct{ *hdfs.Client }

func (c hdfsClient) Create(name string, replication int, blockBytes int64) (FileWriter, error) {
	return c.CreateFile(name, replication, blockBytes, 0o644)
}

const (
	filesAtOnce = 4               // files that are written at a time
	stallLimit  = 2 * time.Minute // how long HDFS may take for one piece of a file
	pieceBytes  = 64 * LineBytes
)

// WriteInput writes those input files that are not there yet, a few at a time.
// A file that is there with the right length is complete, since it gets its
// name only then. So a call after an interrupted one writes what is left. No
// two calls may write the same file at once.
func WriteInput(ctx context.Context, files FileSystem, in Input) error {
	writers, until := errgroup.WithContext(ctx)
	writers.SetLimit(filesAtOnce)
	for _, f := range in.Files {
		if until.Err() != nil {
			break
		}
		writers.Go(func() error {
			if err := in.write(until, files, f); err != nil {
				return fmt.Errorf("write input %s of %d bytes: %w", f.Path, f.Bytes, err)
			}
			return nil
		})
	}
	if err := writers.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// unfinished returns the name of a file while it is written. Hadoop's jobs do
// not read files whose names begin with a dot.
func unfinished(name string) string {
	return path.Join(path.Dir(name), "."+path.Base(name)+".unfinished")
}

func (in *Input) write(ctx context.Context, files FileSystem, f File) error {
	info, err := files.Stat(f.Path)
	switch {
	case err == nil && info.IsDir():
		return errors.New("a folder has this name; remove it, or choose another name")
	case err == nil && info.Size() == f.Bytes:
		return nil
	case err == nil:
		return fmt.Errorf("a file of %d bytes has this name; remove it, or choose another name", info.Size())
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := files.MkdirAll(path.Dir(f.Path), 0o755); err != nil {
		return err
	}
	part := unfinished(f.Path)
	// A writer that was killed may have left it.
	if err := files.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove what an interrupted run left: %w", err)
	}
	w, err := files.Create(part, in.Replication, in.BlockBytes)
	if err != nil {
		return err
	}
	if err = in.writeLines(ctx, w, f); err == nil {
		err = closeFile(ctx, w)
	}
	if err == nil {
		err = files.Rename(part, f.Path)
	}
	if err != nil {
		files.Remove(part) //nolint:errcheck // the file's error says more, and the next run removes it
	}
	return err
}

func (in *Input) writeLines(ctx context.Context, w FileWriter, f File) error {
	text := newText(in.Seed, f.Path)
	piece := make([]byte, pieceBytes)
	for left := f.Bytes; left > 0; left -= int64(len(piece)) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		piece = piece[:min(pieceBytes, left)]
		for start := 0; start < len(piece); start += LineBytes {
			line := piece[start:min(start+LineBytes, len(piece))]
			text.fill(line)
			line[len(line)-1] = '\n'
		}
		if err := w.SetDeadline(time.Now().Add(stallLimit)); err != nil {
			return err
		}
		if _, err := w.Write(piece); err != nil {
			return fmt.Errorf("after %d bytes: %w", f.Bytes-left, err)
		}
	}
	return nil
}

// closeFile closes a file of HDFS. If the NameNode does not know of the last
// block's replicas yet, it tries again, like Hadoop's own client.
func closeFile(ctx context.Context, w FileWriter) error {
	err := w.Close()
	for wait := 20 * time.Millisecond; hdfs.IsErrReplicating(err) && wait < 10*time.Second; wait *= 2 {
		select {
		case <-time.After(wait):
			err = w.Close()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return err
}
