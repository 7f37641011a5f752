package yarnclient

import (
	"context"
	"errors"
	"net/url"
	"strconv"
)

// History is a client of a MapReduce JobHistory server.
type History struct{ c *client }

// NewHistory returns a client of a JobHistory server. The client connects when
// its first method is called.
func NewHistory(o Options) (*History, error) {
	c, err := newClient("JobHistory server", o)
	if err != nil {
		return nil, err
	}
	return &History{c}, nil
}

// Close closes the idle HTTP connections.
func (h *History) Close() { h.c.close() }

// HistoryInfo describes a JobHistory server.
type HistoryInfo struct {
	StartedMs     int64  `wire:"startedOn"`
	HadoopVersion string `wire:"hadoopVersion"`
}

// Info returns the JobHistory server's description of itself.
func (h *History) Info(ctx context.Context) (HistoryInfo, error) {
	var info HistoryInfo
	r := request{path: "/ws/v1/history/info", limit: smallBytes}
	a, err := h.c.do(ctx, r)
	if err == nil {
		err = h.c.understood(r, a, &info, "historyInfo")
	}
	if err == nil && info.HadoopVersion == "" {
		err = h.c.errorOf(a.base, r, a.status, withKind(errors.New("the answer has no hadoopVersion"), ErrBadAnswer), notRestAdvice(h.c.service))
	}
	return info, err
}

// JobFilter selects jobs of the history server's list. A field that is zero
// sets no condition.
type JobFilter struct {
	User  string
	State string // result of the job: SUCCEEDED, FAILED, KILLED
	Queue string
	Limit int
	// Limits of the start times, and of the end times, of the jobs to list, in
	// Unix ms. A time that equals a limit is within it. Zero sets no limit.
	StartedFromMs, StartedToMs   int64
	FinishedFromMs, FinishedToMs int64
}

func (f *JobFilter) values() url.Values {
	v := url.Values{}
	for key, text := range map[string]string{"user": f.User, "state": f.State, "queue": f.Queue} {
		if text != "" {
			v.Set(key, text)
		}
	}
	for key, n := range map[string]int64{
		"limit": int64(f.Limit), "startedTimeBegin": f.StartedFromMs, "startedTimeEnd": f.StartedToMs,
		"finishedTimeBegin": f.FinishedFromMs, "finishedTimeEnd": f.FinishedToMs,
	} {
		if n > 0 {
			v.Set(key, strconv.FormatInt(n, 10))
		}
	}
	return v
}

// Jobs lists the ended jobs that the filter f selects. A job may be missing
// from the list until 3 min after its end
// (mapreduce.jobhistory.move.interval-ms). The method Job finds it without
// this delay.
func (h *History) Jobs(ctx context.Context, f JobFilter) ([]Job, error) {
	var jobs []Job
	err := h.c.get(ctx, request{path: "/ws/v1/history/mapreduce/jobs", query: f.values()}, &jobs, "jobs", "job")
	return jobs, err
}

// Job returns a reader for the data of a job, such as "job_1_0002". The reader
// connects when its first method is called.
func (h *History) Job(id string) *JobReader {
	return &JobReader{c: h.c, path: "/ws/v1/history/mapreduce/jobs/" + url.PathEscape(id)}
}

// Conf returns the value of one of the history server's properties. The error
// is ErrNotFound if the property is not set.
func (h *History) Conf(ctx context.Context, name string) (string, error) {
	return h.c.conf(ctx, name)
}
