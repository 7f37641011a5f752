package lease

import (
	"bytes"
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

	"heddle/yarnclient"
)

// Kind is a kind of thing that a hold changes.
type Kind string

// Kinds of things, by the name that Change.Name has.
const (
	NodeLabel    Kind = "nodeLabel"    // label of a node, "host:port"
	NodeResource Kind = "nodeResource" // size of a node, "host:port"
	AddedLabel   Kind = "addedLabel"   // a label that was not there
	Priority     Kind = "priority"     // of an application
	Setting      Kind = "setting"      // of the Capacity scheduler
)

// Change is one thing that was changed, and what it was before. A journal line
// is the CRC-32C of its JSON in eight hexadecimal digits, a blank and the JSON.
type Change struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	// What it was before, by kind; the zero value of others.
	Label    string               `json:"label,omitempty"` // empty: default partition
	Resource *yarnclient.Resource `json:"resource,omitempty"`
	Priority int                  `json:"priority,omitempty"`
	// Queue is whose Setting it is, empty for a global one; Value is empty where
	// the queue had none.
	Queue string `json:"queue,omitempty"`
	Value string `json:"value,omitempty"`
	// Prepared is set for what shall stay between holds (Prepare).
	Prepared bool `json:"prepared,omitempty"`

	line []byte // of a kind that this version does not know
}

// key tells changes of the same thing.
type key struct {
	kind        Kind
	queue, name string
	prepared    bool
}

func (c Change) key() key { return key{c.Kind, c.Queue, c.Name, c.Prepared} }

// Before is what it was before, as text.
func (c Change) Before() string {
	switch c.Kind {
	case NodeLabel:
		return labelText(c.Label)
	case NodeResource:
		if c.Resource != nil {
			return fmt.Sprintf("%d MiB, %d vcores", c.Resource.MemoryMB, c.Resource.VCores)
		}
	case AddedLabel:
		return "not there"
	case Priority:
		return strconv.Itoa(c.Priority)
	case Setting:
		if c.Value != "" {
			return c.Value
		}
	}
	return "not set"
}

func (c Change) String() string {
	name := c.Name
	if c.Queue != "" {
		name = c.Queue + "." + name
	}
	what, known := kindText[c.Kind]
	if !known {
		return fmt.Sprintf("%s %s", c.Kind, name)
	}
	return fmt.Sprintf("%s %s (before: %s)", what, name, c.Before())
}

var kindText = map[Kind]string{
	NodeLabel: "label of", NodeResource: "size of", AddedLabel: "label", Priority: "priority of", Setting: "setting",
}

func labelText(label string) string {
	if label == "" {
		return "no label"
	}
	return label
}

// notes are changes by key; of two notes of the same thing the first counts.
type notes map[key]Change

func (n notes) add(list []Change) {
	for _, c := range list {
		if _, there := n[c.key()]; !there {
			n[c.key()] = c
		}
	}
}

// sorted returns the notes of a kind in order of name, of all kinds for "".
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

func encode(changes []Change) ([]byte, error) {
	var b bytes.Buffer
	for _, c := range changes {
		line := c.line
		if line == nil {
			var err error
			if line, err = json.Marshal(c); err != nil {
				return nil, err
			}
		}
		fmt.Fprintf(&b, "%08x %s\n", crc32.Checksum(line, castagnoli), line)
	}
	return b.Bytes(), nil
}

// parse reads journal lines up to the first that is not whole, which is what a
// crash leaves: nothing was changed on the strength of it. whole says that
// there was none.
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
		if _, known := kindText[c.Kind]; !known && c.Kind != settled {
			c.line = slices.Clone(line[9:])
		}
		changes = append(changes, c)
		data = rest
	}
	return changes, true
}

const notePrefix = "note-"

// notesBefore reads what the holds before epoch have noted, and lists them.
func (b book) notesBefore(ctx context.Context, epoch int) ([]int, notes, error) {
	all := notes{}
	epochs, err := b.epochs(ctx)
	if err != nil {
		return nil, nil, err
	}
	slices.Reverse(epochs) // the oldest note of a thing counts
	var older []int
	for _, e := range epochs {
		if e >= epoch {
			continue
		}
		names, err := b.files.List(ctx, folderOf(e))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		for _, name := range names {
			if !strings.HasPrefix(name, notePrefix) {
				continue
			}
			data, err := b.files.Read(ctx, path.Join(folderOf(e), name))
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

// note writes changes to both journals. They may be carried out when it returns
// nil. h.noting is held.
func (h *Hold) note(ctx context.Context, changes []Change) error {
	if len(changes) == 0 {
		return nil
	}
	data, err := encode(changes)
	if err != nil {
		return err
	}
	if err := h.local.write(data); err != nil {
		return fmt.Errorf("note in journal: %w", err)
	}
	h.files++
	if err := h.book.files.Create(ctx, h.noteFile(h.files), data); err != nil {
		return fmt.Errorf("note in journal: %w", err)
	}
	if err := h.held(); err != nil { // else another may have read the journal before
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes.add(changes)
	return nil
}

func (h *Hold) noteFile(n int) string {
	return fmt.Sprintf("%s/%s%06d", folderOf(h.epoch), notePrefix, n)
}

// settle makes the journals say what is still to be put back, and no more.
func (h *Hold) settle(ctx context.Context, r Report) error {
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
	for n := 1; n <= before; n++ {
		if err := h.book.files.RemoveAll(ctx, h.noteFile(n)); err != nil {
			return err
		}
	}
	for _, epoch := range h.older {
		if err := h.book.files.RemoveAll(ctx, folderOf(epoch)); err != nil {
			return err
		}
	}
	h.older = nil
	return nil
}

// FileName is the journal's copy in a run folder.
const FileName = "steering.journal"

// settled is a line of a copy: what stands before it was put back.
const settled Kind = "settled"

// localJournal is a copy; a nil one keeps nothing.
type localJournal struct{ file *os.File }

func openLocal(folder string) (*localJournal, error) {
	root, err := os.OpenRoot(folder) // no link leads out of the run folder
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	defer root.Close()
	f, err := root.OpenFile(FileName, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	if err := dropCutLine(f, folder); err != nil {
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

func (l *localJournal) settle() error {
	line, err := encode([]Change{{Kind: settled}})
	if err != nil {
		return err
	}
	return l.write(line)
}

func (l *localJournal) close() {
	if l != nil {
		l.file.Close() // what was written is synced
	}
}
