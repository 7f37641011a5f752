package doctor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// hostile are what a ResourceManager may answer, or whoever answers in its place,
// to run commands where a report is read or followed. %s is the command.
var hostile = map[string]string{
	"shell":           `x'; $(%s) '`,
	"terminal":        "x\x1b[2J%s",
	"line of Unicode": "x\u2028%s",
}

// lies are the places where a daemon's answers come into a report.
var lies = map[string]func(f *fake, text string){
	"admins":         func(f *fake, text string) { f.conf["yarn.admin.acl"] = text },
	"admins' groups": func(f *fake, text string) { f.conf["yarn.admin.acl"] = " " + text },
	"masters' label": func(f *fake, text string) {
		f.conf["yarn.resourcemanager.node-labels.am.default-node-label-expression"] = text
	},
	"queue": func(f *fake, text string) {
		f.says("scheduler", schedulerOf(text, "root."+text, "gpu"))
	},
	"label of a queue": func(f *fake, text string) { f.says("scheduler", schedulerOf("a", "root.a", text)) },
	"node": func(f *fake, text string) {
		f.says("nodes", fmt.Sprintf(`{"nodes":{"node":[{"id":%s,"state":"RUNNING"}]}}`, quoted(text)))
	},
	"store":   func(f *fake, text string) { f.conf["yarn.scheduler.configuration.store.class"] = text },
	"setting": func(f *fake, text string) { f.conf["yarn.cluster.max-application-priority"] = text },
}

func schedulerOf(name, path, label string) string {
	return fmt.Sprintf(schedulerStart+`{"queueName":%s,"queuePath":%s,"capacity":90,"nodeLabels":[%s]}]}}}}`, quoted(name), quoted(path),
		quoted(label))
}

// TestHostileAnswers: what a ResourceManager answers is shown on one line, marked as
// what was found, and is in nothing that the report tells to run.
func TestHostileAnswers(t *testing.T) {
	const command = "touch$IFS/tmp/x"
	for place, lie := range lies {
		for kind, form := range hostile {
			t.Run(place+"/"+kind, func(t *testing.T) {
				f := newFake(t)
				lie(f, fmt.Sprintf(form, command))
				r := f.examine(t)
				if text := f.text(t, r); strings.ContainsAny(text, "\x1b\u2028") {
					t.Errorf("a terminal would obey what the server said:\n%q", text)
				}
				for _, feature := range r.Features {
					for _, c := range feature.Checks {
						if strings.Contains(c.Next, command) {
							t.Errorf("%s: next: %s", c.ID, c.Next)
						}
						for _, p := range c.Set {
							if strings.Contains(p.Name+p.Value, command) {
								t.Errorf("%s: set %s = %s", c.ID, p.Name, p.Value)
							}
						}
					}
				}
			})
		}
	}
}

func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(out)
}
