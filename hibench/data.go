package hibench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/colinmarc/hdfs/v2"
)

// FileSystem contains the HDFS operations that package hibench needs. The
// function HDFS makes a FileSystem from an HDFS client. For a missing file the
// operations return fs.ErrNotExist.
type FileSystem interface {
	Stat(name string) (os.FileInfo, error)
	ReadDir(name string) ([]os.FileInfo, error)
	Open(name string) (io.ReadCloser, error)
	// Create makes a new file, and the folders above it, with blocks of the
	// given size in bytes and the given number of replicas. The file is whole
	// once Close has returned no error.
	Create(ctx context.Context, name string, blockBytes int64, replicas int) (io.WriteCloser, error)
	RemoveAll(name string) error
}

// HDFS returns a FileSystem that uses the given HDFS client.
func HDFS(c *hdfs.Client) FileSystem { return hdfsClient{c} }

type hdfsClient struct{ *hdfs.Client }

func (c hdfsClient) Open(name string) (io.ReadCloser, error) { return c.Client.Open(name) }

func (c hdfsClient) Create(ctx context.Context, name string, blockBytes int64, replicas int) (io.WriteCloser, error) {
	if err := c.MkdirAll(path.Dir(name), 0o755); err != nil {
		return nil, err
	}
	f, err := c.CreateFile(name, replicas, blockBytes, 0o644)
	if err != nil {
		return nil, err
	}
	return hdfsFile{f, ctx}, nil
}

// hdfsFile is a file that is written to HDFS.
type hdfsFile struct {
	*hdfs.FileWriter
	ctx context.Context
}

func (f hdfsFile) Write(b []byte) (int, error) {
	if f.ctx.Err() != nil {
		return 0, context.Cause(f.ctx)
	}
	return f.FileWriter.Write(b)
}

// Close ends the file. If the NameNode does not know the file's last block yet,
// it tries again, like Hadoop's own client.
func (f hdfsFile) Close() error {
	err := f.FileWriter.Close()
	for wait := 20 * time.Millisecond; hdfs.IsErrReplicating(err) && wait < 10*time.Second; wait *= 2 {
		select {
		case <-time.After(wait):
			err = f.FileWriter.Close()
		case <-f.ctx.Done():
			return context.Cause(f.ctx)
		}
	}
	return err
}

// marker is the content of a small file in HDFS beside a workload's input, which is
// written once the input is whole. The name of the folder says what the input is.
type marker struct {
	Format int   `json:"format"`
	Bytes  int64 `json:"bytes"`
	Files  int   `json:"files"`
}

const markerFormat = 1

// existingData returns the workload's input if HDFS has one that can be used
// again: its length is that in the marker file beside it. Otherwise Reused is false in
// the returned Data.
func (r *Runner) existingData() (Data, error) {
	m, err := readMarker(r.env.FS, r.markerPath())
	if err == nil && m.Format != markerFormat {
		return Data{}, nil
	}
	var d Data
	if err == nil {
		d, err = r.data()
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Data{}, nil
	}
	if err != nil {
		return Data{}, fmt.Errorf("hibench: look for %s: %w", r.inputPath(), err)
	}
	d.Reused = d.Bytes == m.Bytes && d.Files == m.Files
	return d, nil
}

// markData reads the length of an input that was just made, and writes the
// marker file beside it.
func (r *Runner) markData(ctx context.Context, tag string) (Data, error) {
	d, err := r.data()
	// Each map that writes the input stops only after the record with which it
	// reaches its size. So fewer bytes than requested are an error.
	short := d.Bytes < r.spec.bytes() && r.w.program != Mahout && !r.spec.compressed()
	switch {
	case err != nil:
	case short:
		err = fmt.Errorf("%s has %d bytes, want at least %d: see %s", d.Path, d.Bytes, r.spec.bytes(),
			filepath.Join(r.env.tagDir(tag), logName))
	case d.Files == 0 && r.w.program == Scripts:
		return Data{}, nil // it has no input
	default:
		err = r.writeMarker(ctx, marker{markerFormat, d.Bytes, d.Files})
	}
	if err != nil {
		return Data{}, fmt.Errorf("hibench: prepare %s: %w", r.spec, err)
	}
	return d, nil
}

func (r *Runner) writeMarker(ctx context.Context, m marker) error {
	blockBytes, replicas, err := r.fileSettings()
	if err != nil {
		return err
	}
	f, err := r.env.FS.Create(ctx, r.markerPath(), blockBytes, replicas)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(m), f.Close())
}

// data describes the files that the workload's maps read. Where these are is not known of
// a script's; some have none.
func (r *Runner) data() (d Data, err error) {
	d.Path = r.mapInputPath()
	if r.w.program == Scripts {
		d.Bytes, d.Files, err = treeSize(r.env.FS, d.Path)
	} else {
		d.Bytes, d.Files, err = folderSize(r.env.FS, d.Path)
	}
	return d, err
}

// readMarker reads the marker file, which describes an input of a workload. It
// returns an empty marker if the file is missing or incomplete.
func readMarker(fsys FileSystem, name string) (marker, error) {
	f, err := fsys.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return marker{}, nil
	}
	if err != nil {
		return marker{}, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return marker{}, err
	}
	var m marker
	if json.Unmarshal(text, &m) != nil {
		return marker{}, nil
	}
	return m, nil
}

// treeSize is folderSize with all folders below a folder, 0 if it is missing.
func treeSize(fsys FileSystem, dir string) (bytes int64, files int, err error) {
	if bytes, files, err = folderSize(fsys, dir); errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	list, lerr := fsys.ReadDir(dir)
	err = errors.Join(err, lerr)
	for _, info := range list {
		if info.IsDir() {
			b, n, derr := treeSize(fsys, path.Join(dir, info.Name()))
			bytes, files, err = bytes+b, files+n, errors.Join(err, derr)
		}
	}
	return bytes, files, err
}

// folderSize returns the total length, in bytes, and the number of the data
// files in an HDFS folder. It does not count files that Hadoop hides, such as
// _SUCCESS.
func folderSize(fsys FileSystem, dir string) (bytes int64, files int, err error) {
	list, err := dataFiles(fsys, dir)
	for _, info := range list {
		bytes += info.Size()
	}
	return bytes, len(list), err
}

func dataFiles(fsys FileSystem, dir string) ([]os.FileInfo, error) {
	list, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []os.FileInfo
	for _, info := range list {
		if !info.IsDir() && !strings.HasPrefix(info.Name(), "_") && !strings.HasPrefix(info.Name(), ".") {
			files = append(files, info)
		}
	}
	return files, nil
}
