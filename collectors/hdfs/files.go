package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path"
	"strings"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"
)

// Open opens a file to be read. It can be read until the context ctx ends.
func (c *Client) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	l, files, err := c.library(ctx)
	if err != nil {
		return nil, err
	}
	f, err := files.Open(name)
	if err != nil {
		return nil, Explained(err)
	}
	return reader{f, l, dataNodeSilence}, nil
}

// ReadFile returns the content of a file.
func (c *Client) ReadFile(ctx context.Context, name string) ([]byte, error) {
	f, err := c.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// WriteOptions are properties of a file that Client.WriteFile makes. Zero
// values mean the HDFS cluster's defaults.
type WriteOptions struct {
	Replication int
	BlockSize   int64       // block size of the file in bytes
	Mode        fs.FileMode // permission bits of the file; zero means 0644
}

// WriteFile copies all data of the reader r to the HDFS file name. It makes
// missing folders above the file and replaces a file that exists. Readers see
// either the whole new file or what was there before.
func (c *Client) WriteFile(ctx context.Context, name string, r io.Reader, o WriteOptions) error {
	if err := c.writeFile(ctx, name, r, o); err != nil {
		return fmt.Errorf("write hdfs %s: %w", name, Explained(err))
	}
	return nil
}

// Explained adds what the NameNode says to an error of the client that
// [Client.Files] returns. That client's own text has only the class of the
// NameNode's exception. Other errors, and nil, stay as they are.
func Explained(err error) error {
	var remote colinmarc.Error
	if !errors.As(err, &remote) {
		return err
	}
	said, _, _ := strings.Cut(remote.Message(), "\n\tat ")
	said = strings.Join(strings.Fields(said), " ")
	if said == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, shortened(said))
}

// WriteTries is how often [Again] writes a file at most where DataNodes are at fault.
const WriteTries = 5

// failoverLimit is how long [Again] waits for an active NameNode.
const failoverLimit = 40 * time.Second

// Again writes a file with the function write. It does so again, after 1, 2, 3
// and 4 seconds, while that fails for a reason that passes by itself: the
// DataNodes have not reported a block yet, as happens on a busy cluster, or one
// that the NameNode takes for alive is gone or too slow. Hadoop's own client asks
// for other DataNodes. The client that [Client.Files] returns cannot, so the
// whole file has to be written anew. So it is, for 40 s, where another NameNode
// has to take over.
func Again(ctx context.Context, write func() error) error {
	giveUp := time.Now().Add(failoverLimit)
	for try := 1; ; try++ {
		err := write()
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case noNameNode(err) && time.Now().Before(giveUp):
		case !passes(err) || try >= WriteTries:
			return err
		}
		if stopped := sleep(ctx, time.Duration(min(try, WriteTries-1))*time.Second); stopped != nil {
			return stopped
		}
	}
}

// noNameNode reports whether a file could not be written because no NameNode was
// active.
func noNameNode(err error) bool {
	var remote colinmarc.Error
	if errors.As(err, &remote) {
		said := RemoteError{Class: remote.Exception()}
		return said.later()
	}
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrUnavailable)
}

func passes(err error) bool {
	var remote colinmarc.Error
	if errors.As(err, &remote) {
		return strings.HasSuffix(remote.Exception(), ".NotReplicatedYetException")
	}
	var connection *net.OpError
	return errors.As(err, &connection) || errors.Is(err, os.ErrDeadlineExceeded) || refused(err)
}

// refused reports whether a DataNode did not begin to write a block, as when the
// next in the block's pipeline is gone. The library has no type for that error.
func refused(err error) bool {
	return err != nil && strings.Contains(err.Error(), "write failed: ERROR")
}

func (c *Client) writeFile(ctx context.Context, name string, r io.Reader, o WriteOptions) error {
	files, err := c.Files(ctx)
	if err != nil {
		return err
	}
	defaults, err := files.ServerDefaults()
	if err != nil {
		return err
	}
	if o.Replication == 0 {
		o.Replication = defaults.Replication
	}
	if o.BlockSize == 0 {
		o.BlockSize = defaults.BlockSize
	}
	if o.Mode == 0 {
		o.Mode = 0o644
	}
	if err := c.Mkdir(ctx, path.Dir(name), 0o755); err != nil {
		return err
	}
	// The data is first written under a temporary name. That name starts with a
	// dot, so that MapReduce jobs ignore the unfinished file.
	part := path.Join(path.Dir(name), fmt.Sprintf(".%s.%x-%d", path.Base(name), c.clientID[:6], c.nextCallID()))
	w, err := files.CreateFile(part, o.Replication, o.BlockSize, o.Mode)
	if err != nil {
		return err
	}
	err = c.fill(ctx, w, r)
	if err == nil {
		err = files.Rename(part, name)
	} else {
		_ = w.Close() // the file is closed to free its connections; an error of closing is ignored, since the failed write is reported
	}
	if err != nil {
		return errors.Join(err, c.RemoveAll(context.WithoutCancel(ctx), part))
	}
	return nil
}

// fill copies the data of the reader r to the HDFS file that w writes, and
// closes the file. It fails if writing 256 KiB takes longer than CallTimeout.
func (c *Client) fill(ctx context.Context, w *colinmarc.FileWriter, r io.Reader) error {
	piece := make([]byte, 256<<10)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, readErr := r.Read(piece)
		if err := w.SetDeadline(time.Now().Add(c.options.CallTimeout)); err != nil {
			return err
		}
		if n > 0 {
			if _, err := w.Write(piece[:n]); err != nil {
				return err
			}
		}
		if readErr == io.EOF {
			return CloseWriter(ctx, w)
		}
		if readErr != nil {
			return readErr
		}
	}
}

// CloseWriter closes a writer of the client that [Client.Files] returns. It
// waits until the DataNodes have reported all blocks to the NameNode, or until
// the context ctx ends.
func CloseWriter(ctx context.Context, w *colinmarc.FileWriter) error {
	for attempt := int32(0); ; attempt++ {
		err := w.Close()
		if !colinmarc.IsErrReplicating(err) {
			return err
		}
		if waitErr := sleep(ctx, backoff(attempt)); waitErr != nil {
			return fmt.Errorf("%w: %w", waitErr, err)
		}
	}
}
