package hibench

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
)

// clusterEnv is the Env of a real cluster, named by the environment:
// HADOOP_HOME, HADOOP_CONF_DIR, HEDDLE_TEST_NAMENODE and HEDDLE_TEST_RM.
func clusterEnv(t *testing.T) Env {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: needs a Hadoop cluster")
	}
	home, conf, nn := os.Getenv("HADOOP_HOME"), os.Getenv("HADOOP_CONF_DIR"), os.Getenv("HEDDLE_TEST_NAMENODE")
	if home == "" || conf == "" || nn == "" || os.Getenv("HEDDLE_TEST_RM") == "" {
		t.Skip("no cluster: set HADOOP_HOME, HADOOP_CONF_DIR, HEDDLE_TEST_NAMENODE (host:port) and HEDDLE_TEST_RM (URL)")
	}
	client, err := hdfs.NewClient(hdfs.ClientOptions{Addresses: []string{nn}, User: "root"})
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
	return Env{
		HadoopHome: home, ConfDir: conf, User: "root", FS: HDFS(client), RunDir: t.TempDir(),
		DataDir: dataDir,
		Master:  "master", Workers: []string{"r1n1", "r1n2", "r2n1", "r2n2"},
	}
}

// On a real cluster: every workload gives valid output and jobs under its tag.
func TestCluster(t *testing.T) {
	env := clusterEnv(t)
	t.Run("examples", func(t *testing.T) { testOnCluster(t, env) })
	t.Run("checkout", func(t *testing.T) {
		env := env
		if env.Checkout = os.Getenv("HEDDLE_HIBENCH"); env.Checkout == "" {
			t.Skip("no HiBench checkout: set HEDDLE_HIBENCH")
		}
		testOnCluster(t, env)
	})
}

func testOnCluster(t *testing.T, env Env) {
	for _, name := range Workloads() {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			env := env
			env.DataDir += "/" + t.Name()
			r, err := New(env, Spec{
				Workload: name, SizeBytes: 16 << 20, Maps: 4, Reduces: 2,
				Settings: []Setting{{"dfs.blocksize", "4194304"}},
			})
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
			res, err := r.Run(ctx, tag)
			if err != nil {
				t.Fatal(err)
			}
			if res.InputBytes != data.Bytes || res.ExitCode != 0 {
				t.Errorf("result %+v; want %d bytes of input and status 0", res, data.Bytes)
			}
			check, err := r.Check(ctx, tag, nil)
			if err != nil {
				t.Error(err)
			}
			t.Logf("%s: %+v, client %s, %+v", r.spec, data, res.End.Sub(res.Start), check)
			if env.Checkout == "" {
				if res.Report != nil {
					t.Errorf("report %+v without a checkout", res.Report)
				}
			} else if rep := res.Report; rep.InputBytes != data.Bytes || rep.Duration > res.End.Sub(res.Start) {
				t.Errorf("report %+v; want %d bytes and no more than the client's %s", rep, data.Bytes, res.End.Sub(res.Start))
			}
			for tag, n := range map[string]int{data.Tag: 1, tag: 1, tag + "-again-prep": 0} {
				if apps := len(appsTagged(t, tag, "&finalStatus=SUCCEEDED")); apps != n {
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
	env := clusterEnv(t)
	r, err := New(env, Spec{Workload: "sort", SizeBytes: 1 << 20, Maps: 1, Reduces: 1})
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
			apps = appsTagged(t, tag+"-prep", "")
		case err := <-ended:
			t.Fatalf("ended before it could be stopped: %v", err)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "kill those with tag "+tag+"-prep") {
		t.Errorf("error %v; want context.Canceled and the tag", err)
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lines {
		if line, _ := os.ReadFile(name); bytes.Contains(line, []byte(env.RunDir)) {
			t.Errorf("still there: %s: %q", name, line)
		}
	}
	if state := apps[0].State; state == "FINISHED" || state == "KILLED" {
		t.Errorf("application %s: %s; want it to go on", apps[0].ID, state)
	}
	url := os.Getenv("HEDDLE_TEST_RM") + "/ws/v1/cluster/apps/" + apps[0].ID + "/state?user.name=root"
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
func appsTagged(t *testing.T, tag, filter string) []app {
	t.Helper()
	res, err := http.Get(os.Getenv("HEDDLE_TEST_RM") + "/ws/v1/cluster/apps?applicationTags=" + tag + filter)
	if err != nil {
		t.Fatalf("ask the ResourceManager at HEDDLE_TEST_RM: %v", err)
	}
	defer res.Body.Close()
	var answer struct{ Apps struct{ App []app } }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer.Apps.App
}
