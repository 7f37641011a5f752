package doctor

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/lab"
	"heddle/harness/lab/labtest"
	"heddle/harness/require"
)

// owned is a lab whose owner set it up by hand.
type owned struct {
	t       *testing.T
	lab     *lab.Lab
	cluster config.Cluster
	binary  string
}

// TestLabFixed: a cluster whose owner knows nothing of heddle gets everything by
// its fix plan: the XML into Hadoop's files, the restarts, the commands.
func TestLabFixed(t *testing.T) {
	labtest.Need(t)
	o := ownLab(t)
	root := filepath.Dir(o.cluster.Hadoop.Conf)
	folder := root + "/nodes/${lab.node}/cache"
	o.unset("hdfs-site.xml", "dfs.datanode.pmem.cache.dirs")
	for name, value := range map[string]string{
		"yarn.node-labels.enabled": "false", "yarn.admin.acl": "yarn,hdfs", "yarn.cluster.max-application-priority": "0",
		"yarn.scheduler.configuration.store.class": "file", "yarn.node-labels.fs-store.root-dir": "file://" + root + "/nodes/master/tmp/labels-of-its-owner",
	} {
		o.set("yarn-site.xml", name, value)
	}
	o.unset("yarn-site.xml", "yarn.resourcemanager.node-labels.am.default-node-label-expression")
	o.unset("capacity-scheduler.xml", require.Queues+`root(\.replay)?\.accessible-node-labels(\..*)?`)
	o.unset("capacity-scheduler.xml", require.Queues+`(schedule-asynchronously|node-locality).*`)
	o.restart("datanode")
	o.restart("resourcemanager")
	o.await("the owner's cluster", func(r *Report) bool {
		steered := r.Feature(Steered)
		return r.Feature(Captured).Verdict == Yes && steered.Verdict == No && r.Feature(Cached).Verdict == No
	})

	fix := DefaultFix()
	fix.File, fix.CacheFolder = o.lab.ClusterFile(), folder
	plan, err := PlanFix(t.Context(), &o.cluster, fix)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"datanode", "resourcemanager"}; !slices.Equal(plan.Restart, want) {
		t.Errorf("restart %v, want %v", plan.Restart, want)
	}
	o.paste(plan)
	for _, daemon := range plan.Restart {
		o.restart(daemon)
	}
	o.await("the ResourceManager with labels", func(r *Report) bool {
		return slices.ContainsFunc(r.Feature(Steered).Checks, func(c Check) bool { return c.ID == "labels" && c.Status == OK }) &&
			slices.ContainsFunc(r.Feature(Captured).Checks, func(c Check) bool { return c.ID == "nodeManagers" && strings.HasPrefix(c.Found, "3 ") })
	})
	for _, command := range plan.Then {
		o.run(strings.Replace(command, "HOST:PORT", "master:45454", 1))
	}
	o.await("a cluster that has everything", func(r *Report) bool {
		for _, f := range r.Features {
			if slices.ContainsFunc(f.Checks, func(c Check) bool { return c.Status != OK }) {
				return false
			}
		}
		return true
	})
	again, err := PlanFix(t.Context(), &o.cluster, fix)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Changes) != 0 || len(again.Then) != 0 {
		t.Errorf("after the plan there is one more: %+v", again)
	}
}

// ownLab brings up a lab of two workers.
func ownLab(t *testing.T) *owned {
	t.Helper()
	binary, err := labtest.Binary()
	if err != nil {
		t.Fatal(err)
	}
	c := labtest.Default()
	c.Name, c.Executable, c.Nodes, c.Replication = "fixed", binary, 2, 1
	down := func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := lab.Down(ctx, c.Name, true); err != nil {
			t.Error(err)
		}
	}
	down()
	t.Cleanup(down)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	l, err := lab.Up(ctx, c, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &owned{t, l, l.Cluster(), binary}
}

// unset removes the properties whose names match a pattern from a file.
func (o *owned) unset(file, pattern string) {
	o.t.Helper()
	o.edit(file, func(text string) string {
		return regexp.MustCompile(`(?m)^ *<property><name>(`+pattern+`)</name>.*\n`).ReplaceAllString(text, "")
	})
}

// set changes a property in a file, or adds it.
func (o *owned) set(file, name, value string) {
	o.t.Helper()
	o.unset(file, regexp.QuoteMeta(name))
	var escaped strings.Builder
	if err := xml.EscapeText(&escaped, []byte(value)); err != nil {
		o.t.Fatal(err)
	}
	o.edit(file, func(text string) string {
		return strings.Replace(text, "</configuration>", fmt.Sprintf("  <property><name>%s</name><value>%s</value></property>\n</configuration>", name, escaped.String()), 1)
	})
}

func (o *owned) edit(file string, change func(string) string) {
	o.t.Helper()
	path := filepath.Join(o.cluster.Hadoop.Conf, file)
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(change(string(text))), 0o644)
	}
	if err != nil {
		o.t.Fatal(err)
	}
}

// paste does what the comments of the plan's XML say.
func (o *owned) paste(plan *FixPlan) {
	o.t.Helper()
	var text bytes.Buffer
	if err := plan.WriteXML(&text); err != nil {
		o.t.Fatal(err)
	}
	for _, part := range strings.Split(text.String(), "<!-- ")[1:] {
		comment, properties, _ := strings.Cut(part, "-->\n")
		file, _, _ := strings.Cut(comment, ",")
		if !strings.HasSuffix(file, ".xml") {
			continue
		}
		var elements struct {
			Properties []struct {
				Name  string `xml:"name"`
				Value string `xml:"value"`
			} `xml:"property"`
		}
		if err := xml.Unmarshal([]byte("<configuration>"+properties+"</configuration>"), &elements); err != nil {
			o.t.Fatal(err)
		}
		for _, p := range elements.Properties {
			o.set(file, p.Name, p.Value)
		}
	}
}

// restart restarts a daemon on all nodes that have it.
func (o *owned) restart(daemon string) {
	o.t.Helper()
	for _, d := range o.lab.Status(o.t.Context()).Daemons {
		if d.Daemon != daemon {
			continue
		}
		if err := o.lab.Kill(o.t.Context(), d.Node, daemon, unix.SIGTERM); err != nil {
			o.t.Fatal(err)
		}
		if err := o.lab.Start(o.t.Context(), d.Node, daemon); err != nil {
			o.t.Fatal(err)
		}
	}
}

// run runs one of the plan's commands as a user would.
func (o *owned) run(command string) {
	o.t.Helper()
	cmd := exec.CommandContext(o.t.Context(), "sh", "-ec", command)
	cmd.Env = append(os.Environ(), o.lab.Env()...)
	cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(o.binary)+":"+filepath.Join(o.cluster.Hadoop.Home, "bin")+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		o.t.Fatalf("%s: %v\n%s", command, err, out)
	}
}

// await examines the cluster until it is as wanted.
func (o *owned) await(what string, good func(*Report) bool) {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), 2*time.Minute)
	defer cancel()
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		r, err := Examine(ctx, &o.cluster)
		if err == nil && good(r) {
			return
		}
		select {
		case <-ctx.Done():
			var text strings.Builder
			if r != nil {
				_ = doc.WriteText(&text, r.Doc(), false) // a strings.Builder takes all
			}
			o.t.Fatalf("waited for %s in vain: %v\n%s", what, err, text.String())
		case <-tick.C:
		}
	}
}
