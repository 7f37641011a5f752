package capture

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"heddle/harness/watch"
	"heddle/traces"
	"heddle/yarnclient"
)

// Recover makes a trace of jobs from their history files alone. A history file has the
// hosts of each split and says how near each map was to them (Hadoop's locality). It
// does not say which file a map read nor which blocks were cached, so the distance to
// replicas is unknown. The files of each job are kept in the subfolder "jobs" of
// folder.
func Recover(ctx context.Context, w *watch.Watcher, jobs []string, folder *os.Root) (Result, error) {
	r := Result{folder: folder, Header: traces.Header{
		Origin: traces.Recovered, Writer: "heddle", Model: "yarn", Actuator: "none", Splits: "asSubmitted",
		Software: map[string]string{},
	}}
	if err := r.recover(ctx, w, jobs); err != nil {
		return r, fmt.Errorf("capture from history: %w", err)
	}
	return r, nil
}

func (r *Result) recover(ctx context.Context, w *watch.Watcher, jobs []string) error {
	if err := w.Find(ctx); err != nil {
		return err
	}
	if info, err := w.Cluster.History.Info(ctx); err == nil {
		r.Header.Software["hadoop"] = info.HadoopVersion
	}
	var records []*jobRecord
	first := int64(math.MaxInt64)
	// the history server is asked which user ran each job, because finding a history file needs the user
	for _, id := range slices.Compact(slices.Sorted(slices.Values(jobs))) {
		info, err := w.Cluster.History.Job(id).Job(ctx)
		if err != nil {
			return err
		}
		first = min(first, info.SubmittedMs)
		records = append(records, newJobRecord(yarnclient.App{ID: "application_" + strings.TrimPrefix(id, "job_"), User: info.User}))
	}
	var err error
	if r.Header.Cluster, err = facts(ctx, w); err != nil {
		return err
	}
	own, err := makeJobs(r.folder)
	if err != nil {
		return err
	}
	defer own.Close()
	jn := joiner{start: time.UnixMilli(first), racks: racksOf(r.Header.Cluster.Nodes), machines: &w.Machines}
	r.Header.StartUnixNs = jn.start.UnixNano()
	for i, j := range records {
		records[i] = nil
		h, err := readHistory(ctx, w, j)
		if err != nil {
			return err
		}
		j.take(h)
		if h.Job.BehindMs > 0 {
			r.Warnings = append(r.Warnings, h.Job.Behind()+": its times are moved")
		}
		if err := errors.Join(keepEvents(own, j, jn.events(j)), keepHistory(own, j.id, h)); err != nil {
			return err
		}
		job := j.summary()
		job.Name, job.Outcome, job.Diagnostics = j.history.Name, j.history.Outcome, j.history.Diagnostics
		r.Jobs = append(r.Jobs, job)
	}
	r.Warnings = append(r.Warnings, jn.names()...)
	return nil
}
