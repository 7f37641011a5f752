package emulate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/jobsplit"
	"heddle/collectors/yarn"
	"heddle/traces"
	"heddle/traces/jhist"
	"heddle/yarnclient"
)

// Files are the files of an emulated cluster's jobs and its blocks, as there would be in
// HDFS. It is a watch.Files.
type Files struct{ *Cluster }

// Find finds nothing: there are no folders.
func (Files) Find(context.Context) error { return nil }

// DataNodes returns a DataNode on each worker.
func (f Files) DataNodes(context.Context) ([]hdfs.DataNode, error) {
	list := make([]hdfs.DataNode, 0, len(f.Nodes))
	for _, n := range f.Nodes {
		list = append(list, hdfs.DataNode{Host: n.Host, Live: true})
	}
	return list, nil
}

// Place takes the replicas and cached copies of blocks that are among the events of a trace,
// as the cluster's input.
func (f Files) Place(events []traces.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := map[traces.Block]struct {
		path string
		i    int
	}{}
	for _, event := range events {
		switch e := event.(type) {
		case *traces.BlockReplica:
			x, known := at[e.Block]
			if !known {
				x.path, x.i = e.Path, len(f.blocks[e.Path])
				b := hdfs.Block{ID: uint64(e.Block), Offset: e.OffsetBytes, Length: e.LengthBytes} //nolint:gosec // a name
				f.blocks[e.Path] = append(f.blocks[e.Path], b)
				at[e.Block] = x
			}
			b := &f.blocks[x.path][x.i]
			r := hdfs.Replica{Host: string(e.Node)}
			if n := f.byHost[r.Host]; n != nil {
				r.Rack = n.Rack
			}
			b.Replicas = append(b.Replicas, r)
		case *traces.BlockCached:
			b := &f.blocks[at[e.Block].path][at[e.Block].i]
			for i := range b.Replicas {
				b.Replicas[i].Cached = b.Replicas[i].Cached || b.Replicas[i].Host == string(e.Node)
			}
		}
	}
}

// SplitLocations returns the blocks of each split.
func (f Files) SplitLocations(_ context.Context, splits []jobsplit.Split) ([][]hdfs.Block, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([][]hdfs.Block, len(splits))
	for i, s := range splits {
		blocks, ok := f.blocks[path.Clean(hdfs.BarePath(s.Path))]
		if !ok {
			return nil, fmt.Errorf("blocks of %s: %w", s.Path, fs.ErrNotExist)
		}
		for _, b := range blocks {
			if b.Offset < s.Offset+max(1, s.Length) && s.Offset < b.Offset+b.Length {
				b.Replicas = slices.Clone(b.Replicas)
				out[i] = append(out[i], b)
			}
		}
	}
	return out, nil
}

func (f Files) job(id string) (*master, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.jobs["application_"+strings.TrimPrefix(id, "job_")]
	if m == nil {
		return nil, fmt.Errorf("%s: %w", id, fs.ErrNotExist)
	}
	return m, nil
}

// ReadStaged returns a job's files as its client has staged them.
func (f Files) ReadStaged(_ context.Context, _, job string) (yarn.Staged, error) {
	m, err := f.job(job)
	if err != nil {
		return yarn.Staged{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.staged, nil
}

// RewriteSplits replaces a job's file job.splitmetainfo.
func (f Files) RewriteSplits(_ context.Context, _, job string, was, now []byte) error {
	m, err := f.job(job)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !bytes.Equal(m.staged.SplitMetaInfo, was) {
		return errors.New("job.splitmetainfo: another process has changed it")
	}
	m.staged.SplitMetaInfo = now
	return nil
}

// ReadHistory returns what a job has done, once it has ended.
func (f Files) ReadHistory(_ context.Context, _, job string) (yarn.History, error) {
	m, err := f.job(job)
	if err != nil {
		return yarn.History{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.h.FinishMs == 0 {
		return yarn.History{}, fmt.Errorf("%s: %w", job, yarn.ErrNoHistory)
	}
	return yarn.History{Name: job + "-emulated.jhist", Job: m.history()}, nil
}

// history returns what the job has done, which does not change any more. The lock is held.
func (m *master) history() *jhist.Job {
	h := &m.h
	h.DataLocalMaps, h.RackLocalMaps, h.OtherLocalMaps, h.LaunchedMaps, h.LaunchedReduces = 0, 0, 0, 0, 0
	for _, t := range h.Tasks {
		for _, a := range t.Attempts {
			switch h.Level(t, a, nil) {
			case traces.LevelNode:
				h.DataLocalMaps++
			case traces.LevelRack:
				h.RackLocalMaps++
			case traces.LevelOff:
				h.OtherLocalMaps++
			}
		}
		if n := int64(len(t.Attempts)); t.Type == "MAP" {
			h.LaunchedMaps += n
		} else {
			h.LaunchedReduces += n
		}
	}
	return h
}

// stage makes the files that the job's client would stage.
func (m *master) stage() (err error) {
	var splits []jobsplit.Split
	var hosts [][]string
	for _, t := range m.Maps {
		splits, hosts = append(splits, t.Split), append(hosts, t.Hosts)
	}
	var metas []jobsplit.Meta
	if m.staged.JobSplit, metas, err = jobsplit.Encode(splits, hosts); err != nil {
		return err
	}
	m.staged.SplitMetaInfo = jobsplit.AppendMeta(nil, metas)
	m.offsets = map[int64]*Task{}
	for i, meta := range metas {
		m.offsets[meta.Offset] = &m.Maps[i]
	}
	m.staged.JobXML, err = m.Conf.XML()
	return err
}

// read has the job's maps read what the file job.splitmetainfo says now. The lock is held.
func (m *master) read() error {
	metas, err := jobsplit.ParseMeta(bytes.NewReader(m.staged.SplitMetaInfo))
	if err != nil {
		return err
	}
	for i, meta := range metas[:min(len(metas), len(m.tasks[traces.Map]))] {
		t := m.tasks[traces.Map][i]
		of := m.offsets[meta.Offset]
		if of == nil {
			return fmt.Errorf("job.splitmetainfo: map %d: no split begins at byte %d", i, meta.Offset)
		}
		one := *of
		one.Hosts = meta.Hosts
		t.Task, t.h.SplitHosts = &one, meta.Hosts
		t.near = append(slices.Clone(meta.Hosts), m.c.racks(meta.Hosts)...)
	}
	return nil
}

// submission returns what the job's client would send to the ResourceManager.
func (m *master) submission(app string) yarnclient.Submission {
	conf := m.Conf
	am := m.masterSize()
	// MapReduce's client leaves labels out, and the ResourceManager then takes the queue's. Over REST a label
	// that is left out means a node without one.
	label := cmp.Or(conf["mapreduce.job.node-label-expression"], m.c.labelOf(conf["mapreduce.job.queuename"]))
	return yarnclient.Submission{
		ID: app, Name: conf["mapreduce.job.name"], Type: "MAPREDUCE", Queue: conf["mapreduce.job.queuename"],
		Priority: int(conf.Int("mapreduce.job.priority", 0)), Tags: strings.Split(conf["mapreduce.job.tags"], ","), MaxAttempts: 2,
		Label: label, AMLabel: cmp.Or(conf["mapreduce.job.am.node-label-expression"], label),
		AM:      yarnclient.Resource{MemoryMB: am.Number(1), VCores: int(am.Number(2))},
		Command: "emulated",
	}
}
