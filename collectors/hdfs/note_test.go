package hdfs

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/traces/errtest"
)

// namespace is what two NameNodes of one cluster have in common: files, and the
// answers to calls that changed something.
type namespace struct {
	notes    map[string][]byte
	open     map[string]bool
	answered map[string]fakeReply
	refuses  fakeReply // the answer to setXAttr, if its class is set
}

func newNamespace() *namespace {
	return &namespace{notes: map[string][]byte{}, open: map[string]bool{}, answered: map[string]fakeReply{}}
}

// answer carries out a call, but once for each id of a client and call.
func (n *namespace) answer(c fakeCall) fakeReply {
	id := fmt.Sprintf("%x %d", c.clientID, c.id)
	if said, there := n.answered[id]; there {
		return said
	}
	said := n.carryOut(c)
	if c.method != "getXAttrs" {
		n.answered[id] = said
	}
	return said
}

func (n *namespace) carryOut(c fakeCall) fakeReply {
	missing, there := exception("java.io.FileNotFoundException"), exception("org.apache.hadoop.fs.FileAlreadyExistsException")
	switch c.method {
	case "create":
		r := &hdfspb.CreateRequest{}
		c.decode(r)
		if _, exists := n.notes[r.GetSrc()]; exists {
			return there
		}
		n.notes[r.GetSrc()], n.open[r.GetSrc()] = nil, true
		return fakeReply{message: &hdfspb.CreateResponse{Fs: &hdfspb.FileStatus{FileId: 7}}}
	case "setXAttr":
		r := &hdfspb.SetXAttrRequest{}
		c.decode(r)
		if n.refuses.class != "" {
			return n.refuses
		}
		n.notes[r.GetSrc()] = r.GetXAttr().GetValue()
	case "complete":
		r := &hdfspb.CompleteRequest{}
		c.decode(r)
		if !n.open[r.GetSrc()] || r.GetFileId() != 7 {
			return missing
		}
		n.open[r.GetSrc()] = false
		return fakeReply{message: &hdfspb.CompleteResponse{Result: true}}
	case "delete":
		r := &hdfspb.DeleteRequest{}
		c.decode(r)
		delete(n.notes, r.GetSrc())
	case "mkdirs":
		return fakeReply{message: &hdfspb.MkdirsResponse{Result: true}}
	case "getXAttrs":
		r := &hdfspb.GetXAttrsRequest{}
		c.decode(r)
		content, exists := n.notes[r.GetSrc()]
		switch {
		case !exists:
			return missing
		case content == nil:
			return fakeReply{message: &hdfspb.GetXAttrsResponse{}}
		}
		other := &hdfspb.XAttr{Namespace: hdfspb.XAttr_USER.Enum(), Name: new("other"), Value: []byte("no")}
		return fakeReply{message: &hdfspb.GetXAttrsResponse{XAttrs: []*hdfspb.XAttr{
			other, {Namespace: hdfspb.XAttr_USER.Enum(), Name: new(noteAttr), Value: content},
		}}}
	}
	return fakeReply{}
}

// TestNoteInFailover lets the active NameNode die at each step of a change: before it
// has carried a call out, or after that but before its answer. The other NameNode takes
// over some seconds later. Nothing is done twice, and nothing fails.
func TestNoteInFailover(t *testing.T) {
	changes := map[string]func(context.Context, *Client) error{
		"create": func(ctx context.Context, c *Client) error {
			return c.CreateNote(ctx, "/f/note", []byte("what was before"), 0o600)
		},
		"make folder": func(ctx context.Context, c *Client) error { return c.Mkdir(ctx, "/f", 0o700) },
		"protect":     func(ctx context.Context, c *Client) error { return c.Chmod(ctx, "/f", 0o700) },
		"remove":      func(ctx context.Context, c *Client) error { return c.RemoveAll(ctx, "/f") },
	}
	for name, change := range changes {
		for step := range 3 {
			for _, done := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, call %d, carried out %v", name, step, done), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						both := newNamespace()
						a, b := active(nil), inState(hdfspb.GetHAServiceStateResponse_STANDBY, both.answer)
						a.answer = func(c fakeCall) fakeReply {
							if c.nth-1 != step { // the first call is that for the folder
								return both.answer(c)
							}
							if done {
								both.answer(c)
							}
							a.setDown(true)
							time.AfterFunc(5*time.Second, func() { b.setState(hdfspb.GetHAServiceStateResponse_ACTIVE) })
							return fakeReply{cut: true}
						}
						c := fakeCluster{"a:1": a, "b:1": b}.client(t, "a:1", "b:1")
						defer c.Close()
						mustDo(t, c.Mkdir(t.Context(), "/f", 0o700))
						mustDo(t, change(t.Context(), c))
						if name != "create" {
							return
						}
						if got, err := c.Note(t.Context(), "/f/note"); string(got) != "what was before" || err != nil {
							t.Errorf("the note is %q, %v", got, err)
						}
						if both.open["/f/note"] {
							t.Error("the note is still being written")
						}
					})
				})
			}
		}
	}
}

// TestNotes: a note is made once, and what is no note is told.
func TestNotes(t *testing.T) {
	n := newNamespace()
	c := fakeCluster{"a:1": active(n.answer)}.client(t, "a:1")
	ctx := t.Context()
	mustDo(t, c.CreateNote(ctx, "/n", []byte("first"), 0o600))
	errtest.Is(t, c.CreateNote(ctx, "/n", []byte("second"), 0o600), fs.ErrExist)
	if got, err := c.Note(ctx, "/n"); string(got) != "first" || err != nil {
		t.Errorf("the note is %q, %v, want that of the first", got, err)
	}
	mustDo(t, c.CreateNote(ctx, "/empty", nil, 0o600))
	if got, err := c.Note(ctx, "/empty"); got != nil || err != nil {
		t.Errorf("an empty note is %q, %v", got, err)
	}
	errtest.Is(t, errOf(c.Note(ctx, "/none")), fs.ErrNotExist)
	errtest.Is(t, c.CreateNote(ctx, "/long", make([]byte, NoteMost+1), 0o600), ErrNoNote)
	n.refuses = fakeReply{class: "java.io.IOException", text: "XAttrs are disabled by dfs.namenode.xattrs.enabled"}
	errtest.Is(t, c.CreateNote(ctx, "/off", []byte("x"), 0o600), ErrNoNote)
	if _, there := n.notes["/off"]; there {
		t.Error("what is no note is left")
	}
}

// TestHungNameNode has the active NameNode hang, as a host without power does: its
// connections stay open. Callers that have more time than a call may take reach the
// other NameNode, at once or, where there is no time left, the next time.
func TestHungNameNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		root := func(fakeCall) fakeReply {
			return fakeReply{message: &hdfspb.GetFileInfoResponse{Fs: &hdfspb.FileStatus{FileType: hdfspb.FileStatus_DIR}}}
		}
		hung := false
		a := active(func(c fakeCall) fakeReply { r := root(c); r.never = hung; return r })
		b := inState(hdfspb.GetHAServiceStateResponse_STANDBY, root)
		both := fakeCluster{"a:1": a, "b:1": b}
		c := both.client(t, "a:1", "b:1")
		defer c.Close()
		stat := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), 10500*time.Millisecond) // a call may take 10 s
			defer cancel()
			_, err := c.Stat(ctx, "/")
			return err
		}
		mustDo(t, stat())
		hung = true
		a.mu.Lock()
		a.ha.never = true
		a.mu.Unlock()
		b.setState(hdfspb.GetHAServiceStateResponse_ACTIVE)
		err := stat()
		if err != nil {
			err = stat()
		}
		if err != nil || !slices.ContainsFunc(b.seen(), func(c fakeCall) bool { return c.method == "getFileInfo" }) {
			t.Errorf("the other NameNode is not asked: %v", err)
		}
	})
}
