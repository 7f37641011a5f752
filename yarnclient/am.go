package yarnclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// AM is a client of the ApplicationMaster of one running MapReduce job. It
// sends its calls through the ResourceManager's proxy. Calls fail with
// ErrJobEnded after the job has ended. They fail with ErrNoMaster while no
// ApplicationMaster runs: before its start, or between two attempts of the
// application.
type AM struct{ *JobReader }

// AM returns a client for the ApplicationMaster of an application, such as
// "application_1_0002". The client connects when its first method is called.
func (rm *RM) AM(appID string) *AM {
	job := "job_" + strings.TrimPrefix(appID, "application_")
	return &AM{&JobReader{
		c:    rm.c,
		path: "/proxy/" + url.PathEscape(appID) + "/ws/v1/mapreduce/jobs/" + url.PathEscape(job),
		gone: func(ctx context.Context, r request, a answer) error { return rm.gone(ctx, appID, r, a) },
	}}
}

// KillAttempt kills a running task attempt. The kill does not count as a
// failure of the task, and the job runs the task again.
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

// byProxy reports whether an answer comes from the ResourceManager's proxy and
// not from the ApplicationMaster: such an answer is a redirect or a web page.
func (a answer) byProxy() bool { return a.status >= 300 || isHTML(a.body) }

// gone returns the error for a request to an ApplicationMaster to which the
// ResourceManager's proxy has replied itself. If the job has ended, the proxy
// redirects to the history server. If the ApplicationMaster has not started,
// the proxy redirects to the ResourceManager's page of the application. After
// the ApplicationMaster has unregistered and before it ends, the proxy sends
// that page without a redirect.
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
			cause := errors.New("application is " + app.State + ", and its ApplicationMaster is not up")
			return rm.c.errorOf(a.base, r, a.status, withKind(cause, ErrNoMaster), "try again later")
		}
	}
	return rm.c.errorOf(a.base, r, a.status, ErrJobEnded, "ask the history server")
}
