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
	if err == nil && a.byProxy() {
		err = am.gone(ctx, r, a)
	}
	return err
}

// byProxy says that the proxy has answered by itself: with a redirect, or a page.
func (a answer) byProxy() bool { return a.status >= 300 || isHTML(a.body) }

// gone explains a redirect of the proxy: to the history server's pages once
// the job ended, or to the ResourceManager's own page of an application whose
// master is not up yet, or never was. From when a master unregisters until it has
// ended, the proxy follows that redirect itself and hands on the page.
func (rm *RM) gone(ctx context.Context, appID string, r request, a answer) error {
	ended := strings.Contains(a.location, "/jobhistory/")
	if a.status < 300 {
		page, number := string(a.body[:min(len(a.body), 4096)]), strings.TrimPrefix(appID, "application_")
		if !strings.Contains(page, number) {
			return rm.c.understood(r, a, nil)
		}
		ended = strings.Contains(page, "job_"+number)
	}
	if !ended {
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
