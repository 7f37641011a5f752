package yarnclient_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/traces/errtest"
	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// The body is compared with one that ResourceManager 3.4.2 took.
func TestSubmissionIsHadoopsJSON(t *testing.T) {
	const want = `{
		"application-id": "application_1_0001", "application-name": "n", "queue": "q", "priority": 3, "max-app-attempts": 2,
		"resource": {"memory": 512, "vCores": 1}, "application-type": "MAPREDUCE", "application-tags": {"tag": ["a", "B"]},
		"app-node-label-expression": "x", "am-container-node-label-expression": "y",
		"am-container-spec": {
			"local-resources": {"entry": [{"key": "job.xml", "value": {
				"resource": "hdfs://h:1/job.xml", "type": "FILE", "visibility": "APPLICATION", "size": 9, "timestamp": 7}}]},
			"environment": {"entry": [{"key": "A", "value": "1"}, {"key": "B", "value": "<2>"}]},
			"commands": {"command": "run <LOG_DIR>"},
			"credentials": {"secrets": {"entry": [{"key": "s", "value": "-_8"}]}},
			"application-acls": {"entry": [{"key": "MODIFY_APP", "value": "m"}, {"key": "VIEW_APP", "value": " "}]}
		}
	}`
	var sent []byte
	rm := submitter(t, roundTrip(func(req *http.Request) (*http.Response, error) {
		sent, _ = io.ReadAll(req.Body)
		return &http.Response{StatusCode: http.StatusAccepted, Header: http.Header{}, Body: http.NoBody}, nil
	}))
	mustDo(t, rm.Submit(t.Context(), yarnclient.Submission{
		ID: "application_1_0001", Name: "n", Type: "MAPREDUCE", Queue: "q", Priority: 3, Tags: []string{"a", "B"}, MaxAttempts: 2,
		Label: "x", AMLabel: "y", AM: yarnclient.Resource{MemoryMB: 512, VCores: 1}, Command: "run <LOG_DIR>",
		Env: map[string]string{"B": "<2>", "A": "1"},
		Files: map[string]yarnclient.LocalFile{"job.xml": {
			URL: "hdfs://h:1/job.xml", Type: "FILE", Visibility: "APPLICATION", Size: 9,
			TimestampMs: 7,
		}},
		Secrets: map[string][]byte{"s": {0xfb, 0xff}}, ViewACL: " ", ModifyACL: "m",
	}))
	var got, wanted any
	mustDo(t, errors.Join(json.Unmarshal(sent, &got), json.Unmarshal([]byte(want), &wanted)))
	if d := cmp.Diff(wanted, got); d != "" {
		t.Errorf("(-want +sent):\n%s", d)
	}
}

func TestSubmissionsRefused(t *testing.T) {
	fake := yarntest.New(yarntest.Config{Nodes: yarntest.Workers(1, 1, 1024, 1), Queues: []string{"default"}})
	rm := submitter(t, fake.Transport())
	for name, test := range map[string]struct {
		change func(*yarnclient.Submission)
		want   string // in the error, or in the diagnostics of the application that failed
		late   bool   // whether the scheduler refuses it after the answer
	}{
		"accepted":     {change: func(*yarnclient.Submission) {}},
		"queue":        {change: func(s *yarnclient.Submission) { s.Queue = "nope" }, want: "unknown queue: nope", late: true},
		"memory":       {change: func(s *yarnclient.Submission) { s.AM.MemoryMB = 1 << 20 }, want: "more memory than configured max"},
		"cores":        {change: func(s *yarnclient.Submission) { s.AM.VCores = 100 }, want: "more cores than configured max"},
		"label":        {change: func(s *yarnclient.Submission) { s.AMLabel = "nope" }, want: "label= nope"},
		"long tag":     {change: func(s *yarnclient.Submission) { s.Tags = []string{strings.Repeat("x", 101)} }, want: "too long"},
		"many tags":    {change: func(s *yarnclient.Submission) { s.Tags = make([]string, 51) }, want: "only 50"},
		"id not given": {change: func(s *yarnclient.Submission) { s.ID = "application_1_9999" }, want: "application_1_9999"},
	} {
		t.Run(name, func(t *testing.T) {
			app, err := rm.NewApplication(t.Context())
			if err != nil || app.Max.MemoryMB == 0 || app.Max.VCores == 0 {
				t.Fatalf("new application: %+v, %v", app, err)
			}
			s := yarnclient.Submission{ID: app.ID, Name: "n", Queue: "default", AM: yarnclient.Resource{MemoryMB: 512, VCores: 1}}
			test.change(&s)
			err = rm.Submit(t.Context(), s)
			if test.want != "" && !test.late {
				var remote *yarnclient.RemoteError
				if !errors.As(err, &remote) || remote.Status != http.StatusBadRequest || !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v; want a RemoteError of status 400 with %q", err, test.want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := rm.App(t.Context(), s.ID)
			if err != nil || (got.State == "FAILED") != test.late || !strings.Contains(got.Diagnostics, test.want) {
				t.Errorf("application %+v, %v; want diagnostics with %q", got, err, test.want)
			}
			if err := rm.Submit(t.Context(), s); err != nil {
				t.Errorf("the same id again: %v; want no error and no second application", err)
			}
		})
	}
}

// TestManyTags lists applications of more tags than fit into a request.
func TestManyTags(t *testing.T) {
	fake := yarntest.New(yarntest.Config{Nodes: yarntest.Workers(1, 1, 1024, 1), Queues: []string{"default"}})
	rm := submitter(t, fake.Transport())
	var tags []string
	for i := range 4000 {
		tags = append(tags, fmt.Sprintf("heddle-of-some-host-%d", i))
	}
	for _, tag := range []string{tags[3000], "another"} {
		s := yarnclient.Submission{
			ID: errtest.Must(rm.NewApplication(t.Context())).ID, Name: tag, Queue: "default",
			AM: yarnclient.Resource{MemoryMB: 512, VCores: 1},
		}
		s.Tags = []string{tag, "more"}
		mustDo(t, rm.Submit(t.Context(), s))
	}
	apps := errtest.Must(rm.Apps(t.Context(), yarnclient.AppFilter{Tags: tags}))
	if len(apps) != 1 || apps[0].Name != tags[3000] {
		t.Errorf("applications %+v, want that of one tag", apps)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func submitter(t *testing.T, transport http.RoundTripper) *yarnclient.RM {
	t.Helper()
	rm := errtest.Must(yarnclient.NewRM(yarnclient.Options{Addresses: []string{"rm:8088"}, User: "root", Transport: transport, Retries: -1}))
	return rm
}
