package yarnclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// AM is the ApplicationMaster of one running MapReduce job, asked through the
// ResourceManager's proxy. When it is gone for good, calls fail with
// ErrJobEnded; while it is not up, or between two attempts of it, with
// ErrNoMaster.
type AM struct{ *JobReader }

// AM returns the master of an application, "application_1_0002"; it connects
// with the first call.
func (rm *RM) AM(appID string) *AM {
	job := "job_" + strings.TrimPrefix(appID, "application_")
	return &AM{&JobReader{
		c:    rm.c,
		path: "/proxy/" + url.PathEscape(appID) + "/ws/v1/mapreduce/jobs/" + url.PathEscape(job),
		gone: func(ctx context.Context, r request, a answer) error { return rm.gone(ctx, appID, r, a) },
	}}
}

// KillAttempt kills one running attempt. It does not count as a failure: the
// task is asked for again.
func (am *AM) KillAttempt(ctx context.Context, attemptID string) error {
	path, err := attemptPath(attemptID)
	if err != nil {
		return err
	}
	r := request{
		method: http.MethodPut, path: am.path + path + "/state", bodyType: asJSON,
		body: `{"state":"KILLED"}`, proxied: true,
	}
	a, err := am.c.do(ctx, r)
	if err == nil && a.status >= 300 {
		err = am.gone(ctx, r, a)
	}
	return err
}

// gone explains a redirect of the proxy: to the history server's pages once
// the job ended, or to the ResourceManager's own page of an application whose
// master is not up yet, or never was.
func (rm *RM) gone(ctx context.Context, appID string, r request, a answer) error {
	if !strings.Contains(a.location, "/jobhistory/") {
		app, err := rm.App(ctx, appID)
		if err != nil {
			return err
		}
		if !app.Ended() {
			cause := errors.New("application is " + app.State + ", its ApplicationMaster is not up")
			return rm.c.errorOf(a.base, r, a.status, withKind(cause, ErrNoMaster), "try again later")
		}
	}
	return rm.c.errorOf(a.base, r, a.status, ErrJobEnded, "ask the history server")
}
