package capture

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// weighed counts the bytes that a ResourceManager sends. It compresses each answer as
// Hadoop does for clients that take it, as Go's do.
type weighed struct {
	to http.RoundTripper

	mu                sync.Mutex
	calls             map[string]int // by path
	plain, compressed int64
	theirs            time.Duration // what the cluster's side of the calls computed
}

func (w *weighed) RoundTrip(r *http.Request) (*http.Response, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadTime()
	resp, err := w.to.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if r.URL.Path == "/ws/v1/cluster/nodes" {
		body = inFull(body)
	}
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	_, _ = z.Write(body)
	_ = z.Close()
	w.mu.Lock()
	w.calls[r.URL.Path]++
	w.plain += int64(len(body))
	w.compressed += int64(small.Len())
	w.mu.Unlock()
	unpacked, err := gzip.NewReader(&small) // read by the client, at its own cost, as from a ResourceManager
	if err != nil {
		return nil, err
	}
	resp.Body, resp.ContentLength = unpacked, -1
	resp.Header.Del("Content-Length")
	took := threadTime() - began
	w.mu.Lock()
	defer w.mu.Unlock()
	w.theirs += took
	return resp, nil
}

// inFull puts into the fake's list of nodes what Hadoop 3.4 writes of each node beside what
// the fake does: 1.5 kB, with numbers that differ.
func inFull(list []byte) []byte {
	const resource = `{"memory":%[1]d,"vCores":%[2]d,"resourceInformations":{"resourceInformation":[` +
		`{"attributes":{},"maximumAllocation":9223372036854775807,"minimumAllocation":0,"name":"memory-mb","resourceType":"COUNTABLE","units":"Mi","value":%[1]d},` +
		`{"attributes":{},"maximumAllocation":9223372036854775807,"minimumAllocation":0,"name":"vcores","resourceType":"COUNTABLE","units":"","value":%[2]d}]}}`
	now := time.Now().UnixMilli()
	n := int64(0)
	return regexp.MustCompile(`"healthReport"`).ReplaceAllFunc(list, func(at []byte) []byte {
		n++
		used := (n*7919 + now/1000*31) % 8192
		return fmt.Appendf(nil, `"lastHealthUpdate":%d,"version":"3.4.2","memUtilization":%.5f,"cpuUtilization":%.6f,"numRunningOpportContainers":0,"usedMemoryOpportGB":0,`+
			`"usedVirtualCoresOpport":0,"numQueuedContainers":0,"allocationTags":{},"resourceUtilization":{"nodePhysicalMemoryMB":%d,"nodeVirtualMemoryMB":%d,`+
			`"nodeCPUUsage":%.16f,"aggregatedContainersPhysicalMemoryMB":%d,"aggregatedContainersVirtualMemoryMB":%d,"containersCPUUsage":0.0},`+
			`"usedResource":%s,"availableResource":%s,"nodeAttributesInfo":{},"totalResourceToo":%s,"healthReport"`,
			now-n*977%60_000, float64(used)/81.92, float64(used%997)/9.97, used, used, float64(used%1009)/1009*8, used/2, used,
			fmt.Sprintf(resource, used, used/1024), fmt.Sprintf(resource, 8192-used, 8-used/1024), fmt.Sprintf(resource, 8192, 8))
	})
}

func threadTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func processTime() time.Duration {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestThousandNodes captures a cluster of 1,000 nodes with agents for some seconds of virtual
// time. The ResourceManager sends less than 1 MB a second for it. What this side computes is
// logged; it has the agents' side of their calls in it.
func TestThousandNodes(t *testing.T) {
	const seconds = 10
	if testing.Short() {
		t.Skip("computes for some seconds")
	}
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, yarntest.Workers(25, 40, 8192, 8), nil)
		w := &weighed{to: c.Transport(), calls: map[string]int{}}
		rm, err := yarnclient.NewRM(yarnclient.Options{Addresses: []string{"rm:8088"}, Transport: w, Retries: -1})
		c.must(err)
		c.clients.RM, c.watch.RM = rm, rm
		agents := &fakeAgent{start: time.Now()}
		for rack := range 25 {
			for n := range 40 {
				c.addAgent(fmt.Sprintf("r%dn%d", rack+1, n+1), agents, nil)
			}
		}
		s := c.start()
		<-time.After(2 * time.Second)
		w.mu.Lock()
		plain, compressed, theirs, began := w.plain, w.compressed, w.theirs, processTime()
		clear(w.calls)
		w.mu.Unlock()
		<-time.After(seconds * time.Second)
		w.mu.Lock()
		plain, compressed, theirs = w.plain-plain, w.compressed-compressed, w.theirs-theirs
		ours := processTime() - began - theirs
		t.Logf("a second: %.2f MB, compressed %.3f MB; this side and the agents compute %.1f %% of a core, the cluster's %.1f %%; calls %v",
			float64(plain)/1e6/seconds, float64(compressed)/1e6/seconds, 100*ours.Seconds()/seconds, 100*theirs.Seconds()/seconds, w.calls)
		if compressed > seconds*1e6 {
			t.Errorf("%d bytes a second, want less than 1 MB", compressed/seconds)
		}
		w.mu.Unlock()
		_, err = s.Stop(t.Context())
		c.must(err)
	})
}
