package hibench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/colinmarc/hdfs/v2"

	"heddle/harness/lab/labtest"
	"heddle/hibench"
)

// cluster is the shared lab.
type cluster struct {
	hibench.Env
	rm string // web address
}

func sharedCluster(t *testing.T) cluster {
	t.Helper()
	c := labtest.Shared(t).Cluster()
	client, err := hdfs.NewClient(hdfs.ClientOptions{Addresses: c.NameNodes, User: c.User})
	if err != nil {
		t.Fatal(err)
	}
	dataDir := fmt.Sprintf("/heddle-test/hibench-%d", os.Getpid())
	t.Cleanup(func() {
		if err := client.RemoveAll(dataDir); err != nil {
			t.Errorf("remove %s: %v", dataDir, err)
		}
		client.Close()
	})
	return cluster{hibench.Env{
		HadoopHome: c.Hadoop.Home, ConfDir: c.Hadoop.Conf, User: c.User, FS: hibench.HDFS(client), RunDir: t.TempDir(),
		DataDir: dataDir,
		Workers: []string{"r1n1", "r1n2", "r2n1", "r2n2"},
	}, c.ResourceManagers[0]}
}

// On a real cluster: workloads give valid output and jobs under their tags. The
// examples jar runs all workloads in package experiment's tests.
func TestCluster(t *testing.T) {
	c := sharedCluster(t)
	t.Run("examples", func(t *testing.T) { testOnCluster(t, c, "wordcount") })
	t.Run("checkout", func(t *testing.T) {
		c := c
		if c.Checkout = os.Getenv("HEDDLE_HIBENCH"); c.Checkout == "" {
			t.Skip("no HiBench checkout: set HEDDLE_HIBENCH=DIR")
		}
		testOnCluster(t, c, "sort", "terasort", "wordcount")
	})
}

func testOnCluster(t *testing.T, c cluster, workloads ...string) {
	for _, name := range workloads {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			env := c.Env
			env.DataDir += "/" + t.Name()
			spec := hibench.Spec{
				Workload: name, SizeBytes: 16 << 20, Maps: 4, Reduces: 2,
				Settings: []hibench.Setting{{Name: "dfs.blocksize", Value: "4194304"}},
			}
			r, err := hibench.New(env, spec)
			if err != nil {
				t.Fatal(err)
			}
			way := "jar"
			if env.Checkout != "" {
				way = "checkout"
			}
			tag := fmt.Sprintf("heddle-%d-%s-%s", os.Getpid(), way, name)
			data, err := r.Prepare(ctx, tag)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := r.Prepare(ctx, tag+"-again"); err != nil || !again.Reused || again.Bytes != data.Bytes {
				t.Errorf("second Prepare: %+v, %v; want the data of the first, %+v", again, err, data)
			}
			report, err := r.Run(ctx, tag)
			if err != nil {
				t.Fatal(err)
			}
			check, err := r.Check(ctx, tag, nil)
			if err != nil {
				t.Error(err)
			}
			t.Logf("%s: %+v, %+v", spec, data, check)
			if (report != "") != (env.Checkout != "") || report != "" && strings.Fields(report)[3] != fmt.Sprint(data.Bytes) {
				t.Errorf("report %q; want %d bytes, and none without a checkout", report, data.Bytes)
			}
			for tag, n := range map[string]int{data.Tag: 1, tag: 1, tag + "-again-prep": 0} {
				if apps := len(c.appsTagged(t, tag, "&finalStatus=SUCCEEDED")); apps != n {
					t.Errorf("%d applications succeeded under tag %s, want %d", apps, tag, n)
				}
			}
			if err := r.Remove(); err != nil {
				t.Error(err)
			}
		})
	}
}

// On a real cluster: a run that is stopped leaves no client process, and an
// application that its tag finds.
func TestClusterStop(t *testing.T) {
	c := sharedCluster(t)
	r, err := hibench.New(c.Env, hibench.Spec{Workload: "sort", SizeBytes: 1 << 20, Maps: 1, Reduces: 1})
	if err != nil {
		t.Fatal(err)
	}
	tag := fmt.Sprintf("heddle-%d-stop", os.Getpid())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := r.Prepare(ctx, tag)
		ended <- err
	}()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	var apps []app
	for len(apps) == 0 {
		select {
		case <-poll.C:
			apps = c.appsTagged(t, tag+"-prep", "")
		case err := <-ended:
			t.Fatalf("ended before it could be stopped: %v", err)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "kill applications with tag "+tag+"-prep") {
		t.Errorf("error %v; want context.Canceled and the tag", err)
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lines {
		if line, _ := os.ReadFile(name); bytes.Contains(line, []byte(c.RunDir)) {
			t.Errorf("still there: %s: %q", name, line)
		}
	}
	if state := apps[0].State; state == "FINISHED" || state == "KILLED" {
		t.Errorf("application %s: %s; want it to go on", apps[0].ID, state)
	}
	url := c.rm + "/ws/v1/cluster/apps/" + apps[0].ID + "/state?user.name=root"
	req, err := http.NewRequest(http.MethodPut, url, strings.NewReader(`{"state":"KILLED"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	t.Logf("kill %s: %s", apps[0].ID, res.Status)
}

// app is what the ResourceManager says of an application.
type app struct{ ID, State string }

// appsTagged asks the ResourceManager for applications under a tag.
func (c cluster) appsTagged(t *testing.T, tag, filter string) []app {
	t.Helper()
	res, err := http.Get(c.rm + "/ws/v1/cluster/apps?applicationTags=" + tag + filter)
	if err != nil {
		t.Fatalf("ask the ResourceManager: %v", err)
	}
	defer res.Body.Close()
	var answer struct{ Apps struct{ App []app } }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer.Apps.App
}
