package cmd

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"heddle/collectors/hdfs/hdfstest"
	"heddle/yarnclient/yarntest"
)

// daemons are a cluster's, over sockets.
type daemons struct {
	rm, history      *yarntest.Moody
	rmAt, historyAt  string // "host:port"
	nn               *hdfstest.NameNode
	file             string // the cluster file
	experiment, runs string
	listed           chan struct{} // closed when jobs were listed a few times
}

func startDaemons(t *testing.T) *daemons {
	yarn := yarntest.New(yarntest.Config{
		Nodes: yarntest.Workers(1, 2, 4096, 8),
		Conf: map[string]string{
			"hadoop.security.authentication":             "simple",
			"mapreduce.jobhistory.done-dir":              "/history/done",
			"mapreduce.jobhistory.intermediate-done-dir": "/history/done_intermediate",
			"yarn.app.mapreduce.am.staging-dir":          "/staging",
			"dfs.namenode.http-address":                  "127.0.0.1:1",
		},
	})
	d := &daemons{nn: hdfstest.Start(t), rm: &yarntest.Moody{}, history: &yarntest.Moody{Well: yarn}, listed: make(chan struct{})}
	listings := 0
	var mu sync.Mutex
	d.rm.Well = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/apps") {
			mu.Lock()
			if listings++; listings == 3 {
				close(d.listed)
			}
			mu.Unlock()
		}
		yarn.ServeHTTP(w, r)
	})
	serve := func(h http.Handler) string {
		s := httptest.NewServer(h)
		t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
		return strings.TrimPrefix(s.URL, "http://")
	}
	d.rmAt, d.historyAt = serve(d.rm), serve(d.history)
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		mustDo(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	d.file = write("moody.yaml", fmt.Sprintf("resourceManagers: [http://%s]\nnameNodes: [%s]\nhistoryServer: http://%s\nuser: root\nhadoop: {home: none, conf: none}\n", d.rmAt, d.nn.Address, d.historyAt))
	d.experiment = write("first.yaml", "cluster: ./moody.yaml\nworkloads:\n  - {name: wordcount, size: 1MiB}\n")
	d.runs = filepath.Join(folder, "runs")
	return d
}

// command is a command line against the daemons.
func (d *daemons) command(name string) []string {
	switch name {
	case "doctor":
		return []string{"heddle", "doctor", "--cluster", d.file}
	case "run":
		return []string{"heddle", "run", "--runs", d.runs, d.experiment}
	case "capture":
		return []string{"heddle", "capture", "--cluster", d.file, "--runs", d.runs, "job_1_0001"}
	case "capture --live":
		return []string{"heddle", "capture", "--cluster", d.file, "--runs", d.runs, "--live"}
	case "labels show":
		return []string{"heddle", "labels", "show", "--cluster", d.file}
	}
	panic(name)
}

// try runs a command, and returns its exit code and all it said. A capture that
// lives is told to stop once it has looked around.
func (d *daemons) try(name string) (code int, said string) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	stop, stopped := context.WithCancel(ctx)
	defer stopped()
	go func() {
		select {
		case <-d.listed:
			stopped()
		case <-stop.Done():
		}
	}()
	app := newApp()
	var out bytes.Buffer
	app.Writer, app.ErrWriter = &out, &out
	err := app.RunContext(stop, d.command(name))
	if ctx.Err() != nil {
		return -1, fmt.Sprint("it did not end by itself: ", err)
	}
	if err != nil {
		code = exitCode(ctx, err)
		fmt.Fprintln(&out, "heddle:", err)
	}
	return code, out.String()
}

// TestWellDaemons is what the commands of TestHostileDaemons come to if nothing
// misbehaves.
func TestWellDaemons(t *testing.T) {
	for _, c := range []struct {
		name string
		code int
		says string
	}{
		{"doctor", 0, "captured: yes"},
		{"run", exitFailed, "hold cluster"}, // the daemons keep no files, so there is no lease
		{"capture", exitFailed, "job_1_0001"},
		{"capture --live", 0, ""},
	} {
		code, said := startDaemons(t).try(c.name)
		if code != c.code || !strings.Contains(said, c.says) {
			t.Errorf("%s ends with code %d, want %d, and should say %q:\n%s", c.name, code, c.code, c.says, said)
		}
	}
}

// wellDaemonLate matches what is said of a daemon that did not answer in time,
// unless it is the one that misbehaves: that one's address is replaced.
var wellDaemonLate = regexp.MustCompile(`(localhost|127\.0\.0\.1):\d+\S*: (no (whole )?answer|the cluster did not answer [^;]*) within`)

// TestHostileDaemons has one daemon of a cluster misbehave in every way that
// yarntest and hdfstest know, against each command that begins by asking it. All
// end by themselves with code 3, and name the daemon's host and port; where the
// answers are such as Hadoop might give, a command may also go on.
func TestHostileDaemons(t *testing.T) {
	type trial struct {
		server, misdeed, command string
		lie                      bool
		misbehave                func(d *daemons) (address string)
		code                     int
		said                     string
	}
	var trials []*trial
	bad := yarntest.Misdeeds()
	for _, command := range []string{"doctor", "run", "capture", "capture --live"} {
		for _, m := range bad {
			// heddle asks it for its version first, which is no number.
			lie := m.Lie || slices.Contains([]string{"starting", "text for numbers", "boundless numbers"}, m.Name)
			trials = append(trials, &trial{
				server: "history server", misdeed: m.Name, command: command, lie: lie,
				misbehave: func(d *daemons) string {
					d.history.Misbehave(m)
					return d.historyAt
				},
			})
		}
		if command == "capture" { // asks the others as it does live
			continue
		}
		for _, m := range bad {
			trials = append(trials, &trial{
				server: "ResourceManager", misdeed: m.Name, command: command, lie: m.Lie,
				misbehave: func(d *daemons) string {
					d.rm.Misbehave(m)
					return d.rmAt
				},
			})
		}
		for _, m := range hdfstest.Misdeeds() {
			trials = append(trials, &trial{server: "NameNode", misdeed: m.Name, command: command, misbehave: func(d *daemons) string {
				d.nn.Misbehave(&m)
				return d.nn.Address
			}})
		}
	}
	// Some that misbehave only after they have said what they are.
	later := []string{"doctor", "run", "capture --live"}
	if testing.Short() { // they take half a minute, of waiting
		later = nil
	}
	for _, command := range later {
		for _, m := range bad {
			if !slices.Contains([]string{"silent", "closes", "a body byte a second", "cut off", "503", "a web page", "302 to a login page"},
				m.Name) {
				continue
			}
			if command == "run" { // it asks both again once it holds the cluster, which these daemons keep no lease for
				continue
			}
			trials = append(trials, &trial{
				server: "ResourceManager", misdeed: "later " + m.Name, command: command,
				misbehave: func(d *daemons) string {
					d.rm.Spare = "/ws/v1/cluster/info"
					d.rm.Misbehave(m)
					return d.rmAt
				},
			})
			trials = append(trials, &trial{
				server: "history server", misdeed: "later " + m.Name, command: command,
				misbehave: func(d *daemons) string {
					d.history.Spare = "/ws/v1/history/info"
					d.history.Misbehave(m)
					return d.historyAt
				},
			})
		}
		for _, m := range hdfstest.Misdeeds() {
			if !slices.Contains([]string{
				"silent", "closes after the first call", "a byte a second", "standby", "no message but bytes",
				"demands Kerberos", "an empty answer",
			}, m.Name) {
				continue
			}
			// That there are no DataNodes is an answer.
			trials = append(trials, &trial{
				server: "NameNode", misdeed: "later " + m.Name, command: command, lie: m.Name == "an empty answer",
				misbehave: func(d *daemons) string {
					d.nn.MisbehaveAfter(2, &m)
					return d.nn.Address
				},
			})
		}
	}
	try := func(x *trial, d *daemons, address string) {
		x.code, x.said = d.try(x.command)
		x.said = strings.ReplaceAll(x.said, address, "HOST:PORT")
		if _, err := os.Stat(d.runs); err == nil && x.code == exitCluster && !x.lie && !strings.HasPrefix(x.misdeed, "later") {
			x.said += "\na run folder was made"
			x.code = -1
		}
	}
	// At once, since most of the time is waiting.
	var group errgroup.Group
	group.SetLimit(100)
	for _, x := range trials {
		d := startDaemons(t)
		address := x.misbehave(d)
		group.Go(func() error {
			try(x, d, address)
			return nil
		})
	}
	_ = group.Wait() // no trial fails
	// On a busy machine daemons that do not misbehave may be late too. Such a trial
	// says nothing of the one that does, so it is tried again, alone.
	for _, x := range trials {
		for range 3 {
			if !wellDaemonLate.MatchString(x.said) {
				break
			}
			t.Logf("%s, %s, %s is tried again:\n%.500s", x.command, x.server, x.misdeed, x.said)
			d := startDaemons(t)
			try(x, d, x.misbehave(d))
		}
	}
	for _, x := range trials {
		t.Run(x.command+"/"+x.server+"/"+x.misdeed, func(t *testing.T) {
			switch {
			case x.lie && (x.code == 0 || x.code == exitFailed):
			case x.code != exitCluster:
				t.Errorf("code %d, want %d:\n%.2000s", x.code, exitCluster, x.said)
			case !strings.Contains(x.said, "HOST:PORT"):
				t.Errorf("does not name host and port:\n%.2000s", x.said)
			case len(x.said) > 50_000:
				t.Errorf("says %d bytes:\n%.2000s", len(x.said), x.said)
			}
		})
	}
}
