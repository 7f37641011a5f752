package node

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Dropped says what DropCaches did: which page cache it emptied, and that
// cache's sizes before and after.
type Dropped struct {
	// Scope says whose page cache was dropped: "cgroup" or "host". How is the
	// path of the kernel file that was written to drop the page cache.
	Scope string `json:"scope"`
	How   string `json:"how"`
	// BeforeBytes and AfterBytes are the sizes of the page cache before and
	// after it was dropped.
	BeforeBytes uint64 `json:"beforeBytes"`
	AfterBytes  uint64 `json:"afterBytes"`
}

// DropCaches writes changed file pages to disk and empties the page cache. For
// a control group it empties only that group's page cache, never the machine's,
// which other groups use too. A page belongs to the group that read it first,
// so pages that other groups read first stay. With version 1 of control groups
// and swap, the kernel may also swap out processes of the group. DropCaches may
// run at the same time as Read.
func (s *Sampler) DropCaches() (Dropped, error) {
	drop := s.host.dropCaches
	if s.cgroup != nil {
		drop = s.cgroup.dropCaches
	}
	syncDisks() // write changed pages to disk first, as the kernel drops only unchanged pages
	return drop()
}

// CanDropCaches returns an error if this process is not allowed to empty the
// page cache. It changes nothing.
func (s *Sampler) CanDropCaches() error {
	path := s.host.dropFile()
	if s.cgroup != nil {
		var err error
		if path, err = s.cgroup.dropFile(); err != nil {
			return err
		}
	}
	if err := unix.Access(path, unix.W_OK); err != nil {
		return fmt.Errorf("drop caches: %s: %w; the agent's user must be able to write this file, "+
			"which needs root for the whole machine's, or a service that does it: --drop-caches-socket", path, err)
	}
	return nil
}

// dropFile returns the file to which to write to empty the page cache: the
// kernel's, or the socket of a service that writes to the kernel's.
func (h *host) dropFile() string {
	if h.drops != "" {
		return h.drops
	}
	return filepath.Join(h.procRoot, "sys/vm/drop_caches")
}

func (h *host) dropCaches() (Dropped, error) {
	return dropping("host", "vm.drop_caches", h.readMemory, func(uint64) error {
		if h.drops != "" {
			return askToDrop(h.drops)
		}
		return writeExisting(h.dropFile(), "3\n")
	})
}

// dropFile returns the file to which to write to empty the group's page cache.
func (c *cgroup) dropFile() (string, error) {
	path, err := c.file("memory", c.names().drop)
	if err != nil {
		return "", fmt.Errorf("drop caches of control group %s: %w", c.path, err)
	}
	return path, nil
}

func (c *cgroup) dropCaches() (Dropped, error) {
	path, err := c.dropFile()
	if err != nil {
		return Dropped{}, err
	}
	return dropping("cgroup", c.names().drop, c.readMemory, func(cached uint64) error {
		if c.version == 1 {
			return writeExisting(path, "0\n")
		}
		if cached == 0 {
			return nil
		}
		// The option swappiness keeps processes from being swapped out. Linux
		// before 6.7 lacks it, so the request is repeated without this option.
		amount := strconv.FormatUint(cached, 10)
		err := writeExisting(path, amount+" swappiness=0\n")
		if errors.Is(err, syscall.EINVAL) {
			err = writeExisting(path, amount+"\n")
		}
		if errors.Is(err, syscall.EAGAIN) {
			return nil // no error: pages that are in use stay in the page cache, and AfterBytes includes them
		}
		return err
	})
}

// dropping empties a page cache by the function drop. It reads the cache's
// size before and after, and passes the size before to drop.
func dropping(scope, how string, read func(*Reading) error, drop func(cachedBytes uint64) error) (Dropped, error) {
	d := Dropped{Scope: scope, How: how}
	var before, after Reading
	err := guard(read, &before)
	if err == nil {
		d.BeforeBytes = before.Memory.PageCacheBytes
		err = drop(d.BeforeBytes)
	}
	if err == nil {
		err = guard(read, &after)
	}
	if err != nil {
		return d, fmt.Errorf("drop caches of the %s: %w", scope, err)
	}
	d.AfterBytes = after.Memory.PageCacheBytes
	return d, nil
}

// writeExisting writes a text to a kernel file. If the file is missing, it
// fails and does not create the file.
func writeExisting(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// dropServiceLimit is how long a service may take that empties the page cache:
// it first writes all changed pages to disk.
const dropServiceLimit = time.Minute

// askToDrop has the service behind a socket empty the page cache; see
// Options.DropSocket.
func askToDrop(socket string) error {
	conn, err := net.DialTimeout("unix", socket, dropServiceLimit)
	if err != nil {
		return fmt.Errorf("ask the service that drops caches: %w; is its socket unit running?", err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(dropServiceLimit)); err != nil {
		return err
	}
	const want = "dropped\n"
	text, err := io.ReadAll(io.LimitReader(conn, 2*int64(len(want))))
	if err == nil && string(text) != want {
		err = fmt.Errorf("it answers %q; want %q: its log says why", text, want)
	}
	if err != nil {
		return fmt.Errorf("ask the service behind %s to drop caches: %w", socket, err)
	}
	return nil
}
