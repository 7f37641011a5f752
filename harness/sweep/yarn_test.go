package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"heddle/collectors/hdfs"
)

// folders is an HDFS with the outputs of jobs: the content of each file by its path.
type folders map[string]string

func (f folders) Names(_ context.Context, folder string) ([]string, error) {
	var names []string
	for name := range f {
		if rest, ok := strings.CutPrefix(name, folder+"/"); ok {
			names = append(names, strings.Split(rest, "/")[0])
		}
	}
	if names == nil {
		return nil, fs.ErrNotExist
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (f folders) List(_ context.Context, folder string) (list []hdfs.File, err error) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if path.Dir(name) == folder {
			list = append(list, hdfs.File{Path: name})
		}
	}
	return list, nil
}

func (f folders) Open(_ context.Context, name string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(f[name])), nil
}

// Maps of a job write what local replays give. Their rows are collected once, although two
// jobs have the same replay, a part is torn, and files lie about that are no output.
func TestCollect(t *testing.T) {
	p := aSweep(t, "vary: {nodes: [4, 6]}\n")
	local := newRows(p)
	if err := Local(t.Context(), p, p.Replays, func(r Row) error { _, err := local.Add(r); return err }); err != nil {
		t.Fatal(err)
	}
	task, err := json.Marshal(Task{Plan: p, Chunks: [][]int{{0, 1}, {2}, {3}}})
	if err != nil {
		t.Fatal(err)
	}
	part := func(index int) string {
		var out bytes.Buffer
		if err := RunTask(t.Context(), bytes.NewReader(task), index, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(out.String(), "\n", "\t\n") // as Streaming writes a key without a value
	}
	hdfs := folders{
		"/s/tasks-3":                      "0000000\n",
		"/s/out-1/part-00000":             part(0),
		"/s/out-1/part-00001":             part(1)[:100],
		"/s/out-1/_temporary/part-00002":  part(2),
		"/s/out-1/_SUCCESS":               "",
		"/s/out-2/part-00000":             part(0),
		"/s/out-2/_temporary/0/part-9999": "x",
	}
	rows, came := newRows(p), 0
	c := &collection{files: hdfs, folder: "/s", read: map[string]bool{}, left: map[string]bool{}, done: func(r Row) error {
		isNew, err := rows.Add(r)
		if isNew {
			came++
		}
		return err
	}}
	for _, r := range p.Replays {
		c.left[r.Key] = true
	}
	for range 2 {
		if err := c.collect(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if came != 2 || len(c.left) != 2 {
		t.Errorf("%d rows came and %d replays are left, want 2 and 2", came, len(c.left))
	}
	hdfs["/s/out-2/part-00001"], hdfs["/s/out-2/part-00002"] = part(1), part(2)
	if err := c.collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if came != 4 || len(c.left) != 0 || rows.Digest(p) != local.Digest(p) {
		t.Errorf("%d rows came, %d replays are left, digest %s; want 4, 0 and %s", came, len(c.left), rows.Digest(p), local.Digest(p))
	}
	c = &collection{files: folders{}, folder: "/s"}
	if err := c.collect(t.Context()); err != nil {
		t.Errorf("a sweep without a folder: %v", err)
	}
	if err := RunTask(t.Context(), bytes.NewReader(task), 3, io.Discard, io.Discard); err == nil {
		t.Error("a map without replays runs")
	}
}

// Another result of a replay that is there ends the collection.
func TestCollectUnlike(t *testing.T) {
	p := aSweep(t, "")
	var text [2]string
	for i := range text {
		r, err := newRow(p.Replays[0].Key, trialOfMs(int64(i)))
		if err != nil {
			t.Fatal(err)
		}
		line, err := r.line()
		if err != nil {
			t.Fatal(err)
		}
		text[i] = string(line)
	}
	rows := newRows(p)
	c := &collection{
		files: folders{"/s/out-1/part-00000": text[0], "/s/out-2/part-00000": text[1]}, folder: "/s",
		read: map[string]bool{}, left: map[string]bool{}, done: func(r Row) error { _, err := rows.Add(r); return err },
	}
	if err := c.collect(t.Context()); !errors.Is(err, errUnlike) {
		t.Errorf("%v, want errUnlike", err)
	}
}
