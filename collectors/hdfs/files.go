package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"
)

// Files returns a client to read, write, list, rename and remove files. It uses
// the same NameNodes, user and dial function. All callers share it, and it is
// closed with c.
//
// Its times are whole seconds; [Client.Stat] and [Client.SetTimes] have
// milliseconds. Close its writers with [CloseWriter].
func (c *Client) Files() (*colinmarc.Client, error) {
	c.filesMu.Lock()
	defer c.filesMu.Unlock()
	if c.files != nil {
		return c.files, nil
	}
	files, err := colinmarc.NewClient(colinmarc.ClientOptions{
		Addresses:        c.options.NameNodes,
		User:             c.options.User,
		NamenodeDialFunc: c.dialFiles,
		DatanodeDialFunc: c.dialDataNode,
	})
	if err != nil {
		return nil, fmt.Errorf("hdfs files: %w: %w", ErrUnreachable, err)
	}
	// The library caches the server's defaults without a lock. After this first
	// request they are only read.
	if _, err := files.ServerDefaults(); err != nil {
		return nil, fmt.Errorf("hdfs files: NameNode %s: %w", strings.Join(c.options.NameNodes, ", "), errors.Join(err, files.Close()))
	}
	c.files = files
	return files, nil
}

// WriteOptions are properties of a file that WriteFile makes. Zero values mean
// the cluster's defaults.
type WriteOptions struct {
	Replication int
	BlockSize   int64       // block size in bytes
	Mode        fs.FileMode // permission bits; zero means 0644
}

// WriteFile writes all of r to the file name and makes missing folders above
// it. Readers see the whole new file or what was there before, which it
// replaces.
func (c *Client) WriteFile(ctx context.Context, name string, r io.Reader, o WriteOptions) error {
	if err := c.writeFile(ctx, name, r, o); err != nil {
		return fmt.Errorf("write hdfs %s: %w", name, err)
	}
	return nil
}

func (c *Client) writeFile(ctx context.Context, name string, r io.Reader, o WriteOptions) error {
	files, err := c.Files()
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
	if err := files.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	// The temporary name starts with a dot, so that jobs ignore the file.
	part := fmt.Sprintf("%s/.%s.%x-%d", path.Dir(name), path.Base(name), c.clientID[:6], c.nextCallID())
	w, err := files.CreateFile(part, o.Replication, o.BlockSize, o.Mode)
	if err != nil {
		return err
	}
	err = c.fill(ctx, w, r)
	if err == nil {
		err = files.Rename(part, name)
	} else {
		_ = w.Close() // closing frees the connections; err already says what failed
	}
	if err != nil {
		return errors.Join(err, files.Remove(part))
	}
	return nil
}

// fill writes r to w and closes w. Each piece may take CallTimeout.
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

// CloseWriter closes a writer of [Client.Files]. It waits until the DataNodes
// have reported all blocks to the NameNode, or until ctx ends.
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
