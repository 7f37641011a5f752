package clients

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"heddle/collectors/hdfs/hdfstest"
	"heddle/harness/config"
	"heddle/harness/kerberos/kdctest"
	"heddle/traces/errtest"
)

// TestHungKDC: while a KDC does not answer, each call of a daemon returns when its context
// ends. The error names the KDC and the file in which its address stands.
func TestHungKDC(t *testing.T) {
	for name, ask := range map[string]func(context.Context, *Clients) error{
		"ResourceManager": func(ctx context.Context, c *Clients) error { _, err := c.RM.Info(ctx); return err },
		"ApplicationMaster": func(ctx context.Context, c *Clients) error {
			_, err := c.RM.AM("application_1_0001").Job(ctx)
			return err
		},
		"history server": func(ctx context.Context, c *Clients) error { _, err := c.History.Info(ctx); return err },
		"NameNode":       func(ctx context.Context, c *Clients) error { _, err := c.HDFS.Stat(ctx, "/"); return err },
		"files":          func(ctx context.Context, c *Clients) error { _, err := c.HDFS.Files(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			kdc := kdctest.Start(t, "alice", "HTTP/127.0.0.1", "nn/127.0.0.1")
			asked := make(chan struct{}, 100)
			kdc.Hang.Store(&asked)
			c, err := To(&config.Cluster{
				Name: "blue", User: "alice", ResourceManagers: []string{"http://127.0.0.1:9"}, HistoryServer: "http://127.0.0.1:9",
				NameNodes: []string{hdfstest.Start(t).Address}, Security: config.SecurityKerberos,
				Kerberos: &config.Kerberos{Conf: kdc.Conf, Principal: "alice", Keytab: kdc.Keytab(t, "alice", ""), NameNode: "nn/_HOST"},
			}, Patience{Once: true, Call: time.Hour, Request: time.Hour})
			mustDo(t, err)
			defer c.Close()
			enough := errors.New("the user has waited enough")
			ctx, end := context.WithCancelCause(t.Context())
			go func() { <-asked; end(enough) }()
			err = ask(ctx, c)
			if !errors.Is(err, enough) {
				t.Errorf("error %v; want one that wraps %q", err, enough)
			}
			for _, want := range []string{"KDC " + kdc.Address, kdc.Conf} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v; want %q in it", err, want)
				}
			}
		})
	}
}

// TestMasterBehindCA: a request to an ApplicationMaster goes through the ResourceManager's
// proxy, whose certificate is verified by the authority that the cluster file names.
func TestMasterBehindCA(t *testing.T) {
	ca, issue := authority(t)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"job":{"id":"job_1_0001"}}`)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{issue(time.Now().Add(time.Hour), "127.0.0.1")}}
	s.StartTLS()
	defer s.Close()
	c := errtest.Must(To(&config.Cluster{
		Name: "blue", User: "alice", ResourceManagers: []string{s.URL}, HistoryServer: s.URL, NameNodes: []string{"127.0.0.1:9"},
		CA: write(t, t.TempDir()+"/ca.pem", ca, 0o644),
	}, Patience{Once: true}))
	defer c.Close()
	if job, err := c.RM.AM("application_1_0001").Job(t.Context()); err != nil || job.ID != "job_1_0001" {
		t.Errorf("%+v, %v", job, err)
	}
}
