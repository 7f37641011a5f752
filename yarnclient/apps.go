package yarnclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// App is an application as the ResourceManager describes it. For a user
// without the right to view the application, all but the first few fields are
// zero.
type App struct {
	ID            string  `wire:"id" form:"application"`
	User          string  `wire:"user" form:"user"`
	Name          string  `wire:"name"`
	Queue         string  `wire:"queue"`
	State         string  `wire:"state"`       // state of the application: NEW … ACCEPTED, RUNNING, FINISHED, FAILED, KILLED
	FinalStatus   string  `wire:"finalStatus"` // result of the application: UNDEFINED, SUCCEEDED, FAILED, KILLED
	Type          string  `wire:"applicationType"`
	Tags          string  `wire:"applicationTags"` // the application's tags, comma-separated and in lower case
	Priority      int     `wire:"priority"`
	ClusterID     int64   `wire:"clusterId"` // id of the ResourceManager when the application was submitted; see ClusterInfo.ID
	Diagnostics   string  `wire:"diagnostics"`
	TrackingURL   string  `wire:"trackingUrl"`
	TrackingUI    string  `wire:"trackingUI"` // kind of page to which TrackingURL leads: UNASSIGNED (no page yet), ApplicationMaster, History
	AMHost        string  `wire:"amHostHttpAddress"`
	AMNode        string  `wire:"masterNodeId"`
	AMLabel       string  `wire:"amNodeLabelExpression"`
	Label         string  `wire:"appNodeLabelExpression"`
	AMLogs        string  `wire:"amContainerLogs"`
	StartedMs     int64   `wire:"startedTime"` // time when the application was submitted, in Unix ms
	LaunchedMs    int64   `wire:"launchTime"`  // time when the application's first ApplicationMaster was launched, in Unix ms
	FinishedMs    int64   `wire:"finishedTime"`
	ElapsedMs     int64   `wire:"elapsedTime"`
	ProgressPct   float64 `wire:"progress"`
	AllocatedMB   int64   `wire:"allocatedMB"` // memory of the application's containers; -1 after the application has ended
	VCores        int     `wire:"allocatedVCores"`
	Containers    int     `wire:"runningContainers"`
	MemoryMBSec   int64   `wire:"memorySeconds"`
	VCoreSec      int64   `wire:"vcoreSeconds"`
	PreemptedAMs  int     `wire:"numAMContainerPreempted"`
	PreemptedCont int     `wire:"numNonAMContainerPreempted"`
	// Requests are the container requests of the application for which the
	// scheduler has not allocated all containers yet.
	Requests []ResourceRequest `wire:"resourceRequests"`
	// Usage is the resources that the application uses in each partition of the
	// cluster. The nodes with one node label are a partition.
	Usage []PartitionUsage `wire:"resourceInfo>resourceUsagesByPartition"`
}

// Ended reports whether the application is in a final state: FINISHED, FAILED
// or KILLED.
func (a *App) Ended() bool {
	return a.State == "FINISHED" || a.State == "FAILED" || a.State == "KILLED"
}

// Priorities of the container requests of a MapReduce job. They tell whether a
// container is for the ApplicationMaster, a map or a reduce.
const (
	PriorityAM        = 0
	PriorityFailedMap = 5 // priority for a map that runs again after a failed attempt; its container may be on any host
	PriorityReduce    = 10
	PriorityMap       = 20
)

// ResourceRequest is one of the resource requests that an application has sent
// to the scheduler. It asks for a number of containers on a host, in a rack,
// or anywhere ("*"). One container may count in a request of each kind; the
// "*" request of a priority has the total.
type ResourceRequest struct {
	Priority   int      `wire:"priority"`
	Name       string   `wire:"resourceName"` // where the containers are requested: a host, a rack such as "/rack1", or "*" for anywhere
	Containers int      `wire:"numContainers"`
	Capability Resource `wire:"capability"`
	Relax      bool     `wire:"relaxLocality"`
	Label      string   `wire:"nodeLabelExpression"`
}

// PartitionUsage is the resources that an application uses, and those that it
// requests, in one partition of the cluster. A partition is the nodes of one
// node label; "" is the default partition.
type PartitionUsage struct {
	Partition string   `wire:"partitionName"`
	Used      Resource `wire:"used"`
	Reserved  Resource `wire:"reserved"`
	Pending   Resource `wire:"pending"`
	AMUsed    Resource `wire:"amUsed"`
	AMLimit   Resource `wire:"amLimit"`
}

// AppFilter selects applications of the ResourceManager's list. A field that is
// zero sets no condition.
type AppFilter struct {
	States      []string // states of the applications to list, such as RUNNING
	FinalStatus string
	User        string
	Queue       string // name of the queue whose applications are listed; Hadoop applies this condition to unfinished applications only
	Types       []string
	Tags        []string // application tags; only applications with at least one of these tags are listed
	Name        string
	Limit       int
	// Limits of the start times, and of the end times, of the applications to
	// list, in Unix ms. A time that equals a limit is within it. Zero sets no
	// limit.
	StartedFromMs, StartedToMs   int64
	FinishedFromMs, FinishedToMs int64
	// The field Without names the parts of an application that the
	// ResourceManager shall leave out, so that its answer is much smaller:
	// "resourceRequests", "timeouts", "appNodeLabelExpression",
	// "amNodeLabelExpression", "resourceInfo".
	Without []string
}

func (f *AppFilter) values() url.Values {
	v := url.Values{}
	list := func(key string, values []string) {
		if len(values) > 0 {
			v.Set(key, strings.Join(values, ","))
		}
	}
	text := func(key, value string) {
		if value != "" {
			v.Set(key, value)
		}
	}
	number := func(key string, n int64) {
		if n > 0 {
			v.Set(key, strconv.FormatInt(n, 10))
		}
	}
	list("states", f.States)
	list("applicationTypes", f.Types)
	list("applicationTags", f.Tags)
	list("deSelects", f.Without)
	text("finalStatus", f.FinalStatus)
	text("user", f.User)
	text("queue", f.Queue)
	text("name", f.Name)
	number("limit", int64(f.Limit))
	number("startedTimeBegin", f.StartedFromMs)
	number("startedTimeEnd", f.StartedToMs)
	number("finishedTimeBegin", f.FinishedFromMs)
	number("finishedTimeEnd", f.FinishedToMs)
	return v
}

// Apps lists the applications that the filter f selects.
func (rm *RM) Apps(ctx context.Context, f AppFilter) ([]App, error) {
	var apps []App
	err := rm.c.get(ctx, request{path: "/ws/v1/cluster/apps", query: f.values()}, &apps, "apps", "app")
	return apps, err
}

// App returns an application with its container requests.
func (rm *RM) App(ctx context.Context, id string) (App, error) {
	var a App
	err := rm.c.one(ctx, rm.c.do, request{path: appPath(id)}, &a, "app", "state", &a.State)
	return a, err
}

// AppState returns the ResourceManager's internal state of an application.
// Unlike App.State it can also be FINAL_SAVING, KILLING or FINISHING.
func (rm *RM) AppState(ctx context.Context, id string) (string, error) {
	v, err := rm.attribute(ctx, id, "state", nil)
	return v.State, err
}

// KillApp kills an application. It returns when the ResourceManager has
// accepted the request; the application may run a moment longer. If the
// application has ended, KillApp does nothing.
func (rm *RM) KillApp(ctx context.Context, id string) error {
	_, err := rm.attribute(ctx, id, "state", "KILLED")
	return err
}

// AppPriority returns an application's priority. A higher number is more
// urgent.
func (rm *RM) AppPriority(ctx context.Context, id string) (int, error) {
	v, err := rm.attribute(ctx, id, "priority", nil)
	return v.Priority, err
}

// SetAppPriority changes the priority of an application and returns the new
// priority. That is at most yarn.cluster.max-application-priority (default 0).
func (rm *RM) SetAppPriority(ctx context.Context, id string, priority int) (int, error) {
	v, err := rm.attribute(ctx, id, "priority", priority)
	return v.Priority, err
}

// attributes is the JSON body of a request that reads or changes one attribute
// of an application: its state or priority.
type attributes struct {
	State    string `wire:"state"`
	Priority int    `wire:"priority"`
}

func (rm *RM) attribute(ctx context.Context, id, name string, set any) (attributes, error) {
	r := request{path: appPath(id) + "/" + name}
	if set != nil {
		body, err := json.Marshal(map[string]any{name: set})
		if err != nil {
			return attributes{}, fmt.Errorf("yarn: %s of %s: %w", name, id, err)
		}
		r.method, r.body, r.bodyType = http.MethodPut, string(body), asJSON
	}
	var v attributes
	err := rm.c.get(ctx, r, &v, "app"+name)
	return v, err
}

func appPath(id string) string { return "/ws/v1/cluster/apps/" + url.PathEscape(id) }
