package yarnclient

import (
	"context"
	"net/url"
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
	HadoopVersion string `wire:"hadoopVersion"`
}

// Info returns the JobHistory server's description of itself.
func (h *History) Info(ctx context.Context) (HistoryInfo, error) {
	var info HistoryInfo
	r := request{path: "/ws/v1/history/info", limit: smallBytes}
	err := h.c.one(ctx, h.c.do, r, &info, "historyInfo", "hadoopVersion", &info.HadoopVersion)
	return info, err
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
