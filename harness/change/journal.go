package change

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"heddle/harness/lease"
	"heddle/harness/runs"
	"heddle/yarnclient"
)

// Kind is the kind of thing that was changed on the cluster, such as a node's
// label.
type Kind string

// Kinds of things that a holder of the cluster can change. Each kind's comment
// says by what name Change.Name identifies the thing.
const (
	NodeLabel    Kind = "nodeLabel"    // kind of change: the label of a node; Change.Name is the node's "host:port"
	NodeResource Kind = "nodeResource" // kind of change: the size (memory and cores) of a node; Change.Name is the node's "host:port"
	AddedLabel   Kind = "addedLabel"   // kind of change: a node label that was added to the cluster; Change.Name is the label
	Setting      Kind = "setting"      // kind of change: a setting of the Capacity scheduler; Change.Name is the name of the setting
	// kind of change: an HDFS cache pool that was added, with its directives; Change.Name is the pool's name
	CachePool   Kind = "cachePool"
	JobFolder   Kind = "jobFolder"   // kind of change: folders in HDFS that jobs make; Change.Name is the tag of the jobs
	Application Kind = "application" // kind of change: applications that were submitted; Change.Name is their tag
	NodeDown    Kind = "nodeDown"    // kind of change: a node that was taken down; Change.Name is its host
	NodeSlow    Kind = "nodeSlow"    // kind of change: a node that was made slow; Change.Name is its host
)

// Change is a journal entry: one thing that was changed on the cluster, such as
// a node's label, and the old value. A line of the journal is eight hexadecimal
// digits, a space and the Change as JSON. The digits are the CRC-32C of the
// JSON.
type Change struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	// The old value is in the field for the kind of thing that was changed; the
	// fields for other kinds are zero.
	Label    string               `json:"label,omitempty"` // the old label of a node; empty means the default partition
	Resource *yarnclient.Resource `json:"resource,omitempty"`
	// Queue is the queue whose scheduler setting was changed, empty for a
	// global setting. Value is the old value of the setting, empty if the queue
	// did not have that setting. For a JobFolder, Value is the user's staging folder.
	Queue string `json:"queue,omitempty"`
	Value string `json:"value,omitempty"`
	// Prepared marks changes made by Prepare, which sets the cluster up for
	// steering. These stay when the cluster is released.
	Prepared bool `json:"prepared,omitempty"`

	line []byte // the JSON of a journal line whose kind this version of heddle does not know, kept so that it can be written again
}

// key identifies the thing that was changed on the cluster, such as one node's
// label. Two changes of the same thing have equal keys.
type key struct {
	kind        Kind
	queue, name string
	prepared    bool
}

func (c Change) key() key { return key{c.Kind, c.Queue, c.Name, c.Prepared} }

// Before returns the value that the changed thing had before, as text.
func (c Change) Before() string {
	switch i := c.Kind.index(); {
	case i < 0:
		return "not set"
	case c.Kind == NodeResource && c.Resource != nil:
		return fmt.Sprintf("%d MiB, %d vcores", c.Resource.MemoryMB, c.Resource.VCores)
	case c.Kind == NodeLabel:
		return labelText(c.Label)
	case c.Kind == Setting:
		return cmp.Or(c.Value, kinds[i].before)
	default:
		return kinds[i].before
	}
}

func labelText(label string) string { return cmp.Or(label, "no label") }

// notes are journal entries, by the key of the thing that was changed. Of two
// changes of the same thing, the first is kept, as it has the original value.
type notes map[key]Change

func (n notes) add(list []Change) {
	for _, c := range list {
		if _, there := n[c.key()]; !there {
			n[c.key()] = c
		}
	}
}

// The method sorted returns the journal entries of one kind, sorted by name.
// Kind "" means all kinds.
func (n notes) sorted(kind Kind) []Change {
	var list []Change
	for _, c := range n {
		if kind == "" || c.Kind == kind {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b Change) int {
		return strings.Compare(string(a.Kind)+a.Queue+" "+a.Name, string(b.Kind)+b.Queue+" "+b.Name)
	})
	return list
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encode(changes []Change) []byte {
	var b bytes.Buffer
	for _, c := range changes {
		line := c.line
		if line == nil {
			line, _ = json.Marshal(c) // no Change has a value that JSON lacks
		}
		fmt.Fprintf(&b, "%08x %s\n", crc32.Checksum(line, castagnoli), line)
	}
	return b.Bytes()
}

// parse reads journal lines up to the first damaged line. A crash while a line
// was written may leave the line damaged; its change was not made on the
// cluster. The result whole is false if there was a damaged line.
func parse(data []byte) (changes []Change, whole bool) {
	for len(data) > 0 {
		line, rest, ended := bytes.Cut(data, []byte("\n"))
		if !ended || len(line) < 9 || line[8] != ' ' {
			return changes, false
		}
		sum, err := strconv.ParseUint(string(line[:8]), 16, 32)
		if err != nil || uint32(sum) != crc32.Checksum(line[9:], castagnoli) {
			return changes, false
		}
		var c Change
		if err := json.Unmarshal(line[9:], &c); err != nil {
			return changes, false
		}
		if c.Kind.index() < 0 && c.Kind != settled {
			c.line = slices.Clone(line[9:])
		}
		changes = append(changes, c)
		data = rest
	}
	return changes, true
}

const notePrefix = "note-"

// notesBefore reads the journal entries of all processes that held the cluster
// before this one. Holds of the cluster are numbered, and the argument epoch is
// the number of the present one. The function also returns the numbers of the
// earlier holds.
func notesBefore(ctx context.Context, files lease.Files, epoch int) ([]int, notes, error) {
	all := notes{}
	epochs, err := lease.Epochs(ctx, files)
	if err != nil {
		return nil, nil, err
	}
	var older []int
	for _, e := range slices.Backward(epochs) { // the oldest hold of the cluster first: the first entry about a thing has its original value
		if e >= epoch {
			continue
		}
		names, err := files.Names(ctx, lease.Folder(e))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		for _, name := range names {
			if !strings.HasPrefix(name, notePrefix) {
				continue
			}
			data, err := files.Read(ctx, path.Join(lease.Folder(e), name))
			if err != nil {
				return nil, nil, err
			}
			changes, _ := parse(data)
			all.add(changes)
		}
		older = append(older, e)
	}
	return older, all, nil
}

// note writes changes to the journal in HDFS and to the journal's copy. The
// cluster may be changed only after note has returned nil. The caller of note
// holds the lock h.noting.
func (h *Hold) note(ctx context.Context, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	data := encode(changes)
	if err := h.local.write(data); err != nil {
		return fmt.Errorf("note in journal: %w", err)
	}
	for len(data) > 0 { // small files, which can be read while DataNodes are down
		n := len(data)
		if n > lease.Small {
			n = max(bytes.LastIndexByte(data[:lease.Small], '\n'), bytes.IndexByte(data, '\n')) + 1
		}
		h.files++
		if err := h.cluster.Files.Create(ctx, h.noteFile(h.files), data[:n]); err != nil {
			return fmt.Errorf("note in journal: %w", err)
		}
		data = data[n:]
	}
	// fail if the lease was lost meanwhile, as another process may have read the journal before this entry was in it
	if err := h.Held(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes.add(changes)
	return nil
}

func (h *Hold) noteFile(n int) string {
	return fmt.Sprintf("%s/%s%06d", lease.Folder(h.Epoch()), notePrefix, n)
}

// settle removes from the journal in HDFS, and from the journal's copy, all
// changes that have been put back. Those still to be put back stay.
func (h *Hold) settle(ctx context.Context, r Report) error {
	if len(r.Back)+len(r.Same)+len(r.Kept) == 0 && h.older == nil {
		return nil
	}
	before := h.files
	open := notes{}
	open.add(r.open)
	h.mu.Lock()
	h.notes = notes{}
	h.mu.Unlock()
	if err := h.local.settle(); err != nil {
		return err
	}
	if err := h.note(ctx, open.sorted("")); err != nil {
		return err
	}
	for ; h.first <= before; h.first++ {
		if err := h.cluster.Files.RemoveAll(ctx, h.noteFile(h.first)); err != nil {
			return err
		}
	}
	for _, epoch := range h.older {
		if err := h.cluster.Files.RemoveAll(ctx, lease.Folder(epoch)); err != nil {
			return err
		}
	}
	h.older = nil
	return nil
}

// journalFile is the name of the journal's copy in a run folder.
const journalFile = "steering.journal"

// settled is the kind of a line in the journal's copy. Such a line says that
// all changes in earlier lines were put back.
const settled Kind = "settled"

// localJournal is the journal's copy in a run folder. A nil *localJournal
// writes nothing.
type localJournal struct{ file *os.File }

func openLocal(folder string) (*localJournal, error) {
	root, err := os.OpenRoot(folder) // open the file through an os.Root, so that no symbolic link can lead out of the run folder
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	defer root.Close()
	f, err := root.OpenFile(journalFile, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	data, err := runs.ReadJournal(folder, journalFile)
	if err == nil {
		// A crash may have left an incomplete last line, whose change was not made. If
		// it stayed, lines written after it could not be read.
		err = f.Truncate(int64(bytes.LastIndexByte(data, '\n') + 1))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return &localJournal{f}, nil
}

func (l *localJournal) write(lines []byte) error {
	if l == nil {
		return nil
	}
	if _, err := l.file.Write(lines); err != nil {
		return err
	}
	return l.file.Sync()
}

func (l *localJournal) settle() error { return l.write(encode([]Change{{Kind: settled}})) }

func (l *localJournal) close() {
	if l != nil {
		l.file.Close() // the error of Close can be ignored: no data is lost, as every write was synced
	}
}
