package capture

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"heddle/collectors/yarn"
	"heddle/harness/clients"
	"heddle/traces"
)

// Recover makes a trace of jobs that ran without us, from their history files.
// Split hosts and Hadoop's own locality are as recorded. Where blocks were
// cached, and which file each map read, is not in the history: replica locality
// is unknown. Each job's files are kept below folder, unless it is nil.
func Recover(ctx context.Context, cluster *clients.Clients, jobs []string, folder *os.Root) (Result, error) {
	where, err := findPaths(ctx, cluster)
	if err != nil {
		return Result{}, fmt.Errorf("capture from history: %w", err)
	}
	r := Result{Header: traces.Header{
		Origin: traces.Recovered, Writer: "heddle", Model: "yarn", Actuator: "none", Splits: "asSubmitted",
		Software: map[string]string{},
	}}
	if info, err := cluster.History.Info(ctx); err == nil {
		r.Header.Software["hadoop"] = info.HadoopVersion
	}
	var records []*jobRecord
	for _, id := range jobs {
		j, err := recoverJob(ctx, cluster, where.history, id, folder)
		if err != nil {
			return r, fmt.Errorf("capture from history: %w", err)
		}
		records = append(records, j)
	}
	if r.Header.Cluster, err = facts(ctx, cluster); err != nil {
		return r, fmt.Errorf("capture from history: %w", err)
	}
	slices.SortFunc(records, func(a, b *jobRecord) int { return strings.Compare(string(a.id), string(b.id)) })
	jn := joiner{start: firstSubmit(records), racks: racksOf(r.Header.Cluster.Nodes)}
	r.Header.StartUnixNs = jn.start.UnixNano()
	for _, j := range records {
		r.Events = append(r.Events, jn.events(j)...)
		r.Header.Inputs = append(r.Header.Inputs, j.inputs...)
		job := j.summary()
		job.Name, job.Outcome, job.Diagnostics = j.history.Name, j.history.Outcome, j.history.Diagnostics
		r.Jobs = append(r.Jobs, job)
	}
	traces.Sort(r.Events)
	return r, nil
}

// recoverJob reads a job's history; the history server knows whose it is.
func recoverJob(ctx context.Context, cluster *clients.Clients, folders yarn.HistoryFolders, id string, folder *os.Root) (*jobRecord, error) {
	info, err := cluster.History.Job(id).Job(ctx)
	if err != nil {
		return nil, err
	}
	j := &jobRecord{id: traces.JobID(id), user: info.User}
	j.app.ID = "application_" + strings.TrimPrefix(id, "job_")
	return j, readHistory(ctx, cluster, folders, j, folder)
}

// firstSubmit is when the first of the jobs was submitted.
func firstSubmit(records []*jobRecord) time.Time {
	var first int64
	for _, j := range records {
		if t := j.history.SubmitMs; first == 0 || t < first {
			first = t
		}
	}
	return time.UnixMilli(first)
}
