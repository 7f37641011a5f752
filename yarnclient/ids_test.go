package yarnclient

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
)

// Callers make paths of ids and names: an answer with another text in their place
// is refused, whoever gives it.
func TestIDsOfAnswers(t *testing.T) {
	calls := map[string]struct {
		answer string // %s is the id
		good   string
		call   func(o Options) error
	}{
		"application": {`{"apps":{"app":[{"id":%s}]}}`, "application_1795263621469_0002", func(o Options) error {
			_, err := must(NewRM(o)).Apps(bg, AppFilter{})
			return err
		}},
		"user of an application": {`{"app":{"id":"application_1_0001","state":"RUNNING","user":%s}}`, "some.user@x", func(o Options) error {
			_, err := must(NewRM(o)).App(bg, "application_1_0001")
			return err
		}},
		"application attempt": {`{"appAttempts":{"appAttempt":[{"appAttemptId":%s}]}}`, "appattempt_1_0002_000001", func(o Options) error {
			_, err := must(NewRM(o)).Attempts(bg, "application_1_0001")
			return err
		}},
		"container": {`{"containers":{"container":[{"containerId":%s}]}}`, "container_e17_1795263621469_0002_01_000001", func(o Options) error {
			_, err := must(NewRM(o)).Containers(bg, "appattempt_1_0001_000001")
			return err
		}},
		"node": {`{"nodes":{"node":[{"id":%s}]}}`, "r1n1.example.org:45454", func(o Options) error {
			_, err := must(NewRM(o)).Nodes(bg)
			return err
		}},
		"host": {`{"nodes":{"node":[{"nodeHostName":%s}]}}`, "r1n1.example.org", func(o Options) error {
			_, err := must(NewRM(o)).Nodes(bg)
			return err
		}},
		"job": {`{"job":{"id":%s}}`, "job_1795263621469_12345", func(o Options) error {
			_, err := must(NewHistory(o)).Job("job_1_0001").Job(bg)
			return err
		}},
		"user of a job": {`{"job":{"user":%s}}`, "root", func(o Options) error {
			_, err := must(NewHistory(o)).Job("job_1_0001").Job(bg)
			return err
		}},
		"task": {`{"tasks":{"task":[{"id":%s}]}}`, "task_1_0002_m_000000", func(o Options) error {
			_, err := must(NewHistory(o)).Job("job_1_0001").Tasks(bg)
			return err
		}},
		"task attempt": {`{"taskAttempts":{"taskAttempt":[{"id":%s}]}}`, "attempt_1_0002_r_000000_1", func(o Options) error {
			_, err := must(NewHistory(o)).Job("job_1_0001").Attempts(bg, "task_1_0001_m_000000")
			return err
		}},
		"queue": {
			`{"scheduler":{"schedulerInfo":{"queueName":"root","queuePath":"root","queues":{"queue":[{"queueName":"a","queuePath":%s}]}}}}`,
			"root.data sets.größe_1", func(o Options) error {
				_, err := must(NewRM(o)).Scheduler(bg)
				return err
			},
		},
		"queue's name": {
			`{"scheduler":{"schedulerInfo":{"rootQueue":{"queueName":"root","childQueues":{"queue":[{"queueName":%s}]}}}}}`,
			"root.users.a_dot_b@x", func(o Options) error {
				_, err := must(NewRM(o)).Scheduler(bg)
				return err
			},
		},
		"label of a queue": {
			`{"scheduler":{"schedulerInfo":{"queueName":"root","queuePath":"root","nodeLabels":["*",%s]}}}`, "gpu-2_x",
			func(o Options) error {
				_, err := must(NewRM(o)).Scheduler(bg)
				return err
			},
		},
		"label of a queue's capacity": {`{"scheduler":{"schedulerInfo":{"queueName":"root","capacities":{"queueCapacitiesByPartition":[{"partitionName":%s}]}}}}`, "gpu-2_x", func(o Options) error {
			_, err := must(NewRM(o)).Scheduler(bg)
			return err
		}},
		"label": {`{"nodeLabelInfo":[{"name":%s}]}`, "gpu-2_x", func(o Options) error {
			_, err := must(NewRM(o)).NodeLabels(bg)
			return err
		}},
		"label of a node": {`{"nodes":{"node":[{"id":"n:1","nodeLabels":[%s]}]}}`, "gpu-2_x", func(o Options) error {
			_, err := must(NewRM(o)).Nodes(bg)
			return err
		}},
		"node with labels": {
			`{"nodeToLabels":{"entry":[{"key":%s,"value":{"nodeLabelInfo":[{"name":"x"}]}}]}}`, "r1n1.example.org:0",
			func(o Options) error {
				_, err := must(NewRM(o)).NodesToLabels(bg)
				return err
			},
		},
		"label of a mapping": {
			`{"nodeToLabels":{"entry":[{"key":"n:1","value":{"nodeLabelInfo":[{"name":%s}]}}]}}`, "gpu-2_x",
			func(o Options) error {
				_, err := must(NewRM(o)).NodesToLabels(bg)
				return err
			},
		},
	}
	for name, c := range calls {
		ask := func(id string) error {
			text, err := json.Marshal(id)
			if err != nil {
				return err
			}
			body := []byte(strings.Replace(c.answer, "%s", string(text), 1))
			return c.call(Options{
				Addresses: []string{"http://server.test:1"}, Retries: -1,
				Transport: roundTripper(func(*http.Request) (*http.Response, error) {
					return textAnswer(200, "application/json", body), nil
				}),
			})
		}
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "queue") || strings.Contains(name, "label") { // these get into settings and commands
				for _, bad := range []string{
					"{{lookup('pipe','id')}}", "a{%x%}", "a#}", "a$(id)", "a`id`", "a;id", "a'b", `a"b`, `a\b`, "a|b", "a&b",
					"a>b", "a=b", "a\u2028b",
				} {
					if err := ask(bad); !errors.Is(err, ErrBadAnswer) {
						t.Errorf("%q: error %v; want ErrBadAnswer", bad, err)
					}
				}
			}
			for _, good := range []string{c.good, ""} {
				if err := ask(good); err != nil {
					t.Errorf("%q: %v", good, err)
				}
			}
			for _, bad := range []string{
				"../../../etc/x", c.good + "/../x", "/etc/passwd", "..", c.good + "\n", "\n" + c.good, "-rf", c.good + "\x1b[2J", "a/b",
				strings.Repeat("1", 1001),
			} {
				if err := ask(bad); !errors.Is(err, ErrBadAnswer) {
					t.Errorf("%q: error %v; want ErrBadAnswer", bad, err)
				}
			}
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
