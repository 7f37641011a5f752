package lease

import (
	"context"
	"errors"
	"io"
	"path"
	"time"

	"heddle/collectors/hdfs"
	"heddle/harness/clients"
)

// Files are the HDFS operations that the lease on a cluster and its journal
// need. They return fs.ErrNotExist for a path that does not exist.
type Files interface {
	// MkdirAll makes a folder and its missing parents. Folders below Root are
	// made so that only their owner can read them.
	MkdirAll(ctx context.Context, path string) error
	// Create makes a file with the given content. It fails with fs.ErrExist if
	// the file exists. It also fails if the file's folder does not exist. A
	// crash may leave the file empty.
	Create(ctx context.Context, path string, data []byte) error
	// Read returns a file's content. It returns no content for a file that is
	// still being written.
	Read(ctx context.Context, path string) ([]byte, error)
	// Names returns the names in a folder, sorted.
	Names(ctx context.Context, path string) ([]string, error)
	// Modified returns the modification time of a file or folder, by the
	// NameNode's clock. For a file, this is when the file was created. For a
	// folder, this is when a file in it was last created, renamed or removed.
	Modified(ctx context.Context, path string) (time.Time, error)
	// Rename gives a file another name in the same folder. Like a change of the
	// folder's entries, this sets the folder's modification time.
	Rename(ctx context.Context, from, to string) error
	// RemoveAll removes a file or a folder. It is no error if the path does
	// not exist.
	RemoveAll(ctx context.Context, path string) error
}

// Patience is how long the clients of a holder wait for a daemon. It is short: when
// the holder loses its lease, a call under way ends before another process may take
// the cluster over. A call of a NameNode that hangs ends before the renewal that made
// it does: only then is its connection left, and the next renewal asks the other one.
var Patience = clients.Patience{Request: leaseLimit - stopLimit, Call: renewEvery - time.Second}

// On returns the Files in the HDFS of a cluster.
func On(c *hdfs.Client) Files { return &hdfsFiles{c} }

type hdfsFiles struct{ *hdfs.Client }

func (f *hdfsFiles) MkdirAll(ctx context.Context, name string) error {
	// Only the owner may read the folder Root, which has the journal of
	// changes. The folder above also holds inputs of jobs, which all users
	// read.
	if err := f.Mkdir(ctx, path.Dir(Root), 0o755); err != nil {
		return err
	}
	return f.Mkdir(ctx, name, 0o700)
}

func (f *hdfsFiles) Create(ctx context.Context, name string, data []byte) error {
	if err := f.CreateNote(ctx, name, data, 0o600); !errors.Is(err, hdfs.ErrNoNote) {
		return err
	}
	files, err := f.Files(ctx)
	if err != nil {
		return err
	}
	defaults, err := files.ServerDefaults()
	if err != nil {
		return err
	}
	w, err := files.CreateFile(name, defaults.Replication, defaults.BlockSize, 0o600)
	if err != nil {
		return hdfs.Explained(err)
	}
	if err := w.SetDeadline(time.Now().Add(2 * renewEvery)); err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return errors.Join(err, w.Close())
	}
	return hdfs.CloseWriter(ctx, w)
}

// Small is how many bytes of content a file has at most that needs no DataNode. So the
// lease and what the journal says of nodes that are down can be written and read while
// all DataNodes are down.
const Small = hdfs.NoteMost

func (f *hdfsFiles) Read(ctx context.Context, name string) ([]byte, error) {
	// Read no more than the length that Stat returns, which leaves out a block
	// that is still being written.
	info, err := f.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	if info.Length == 0 {
		return f.Note(ctx, name)
	}
	r, err := f.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, info.Length))
}

func (f *hdfsFiles) Modified(ctx context.Context, name string) (time.Time, error) {
	info, err := f.Stat(ctx, name)
	return info.Modified, err
}
