package yarnclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// App is an application as the ResourceManager describes it. For a user
// without the right to view the application, all but the first few fields are
// zero.
type App struct {
	ID          string `wire:"id" form:"application"`
	User        string `wire:"user" form:"user"`
	Name        string `wire:"name"`
	Queue       string `wire:"queue"`
	State       string `wire:"state"`       // state of the application: NEW … ACCEPTED, RUNNING, FINISHED, FAILED, KILLED
	FinalStatus string `wire:"finalStatus"` // result of the application: UNDEFINED, SUCCEEDED, FAILED, KILLED
	Type        string `wire:"applicationType"`
	Tags        string `wire:"applicationTags"` // the application's tags, comma-separated and in lower case
	Priority    int    `wire:"priority"`
	Diagnostics string `wire:"diagnostics"`
	AMHost      string `wire:"amHostHttpAddress"`
	AMNode      string `wire:"masterNodeId"`
	AMLabel     string `wire:"amNodeLabelExpression"`
	Label       string `wire:"appNodeLabelExpression"`
	StartedMs   int64  `wire:"startedTime"` // time when the application was submitted, in Unix ms
	LaunchedMs  int64  `wire:"launchTime"`  // time when the application's first ApplicationMaster was launched, in Unix ms
	FinishedMs  int64  `wire:"finishedTime"`
	Containers  int    `wire:"runningContainers"`
	// MemorySeconds is the memory of the containers that the application has had, in MiB, times
	// how long it had them, in s.
	MemorySeconds int64 `wire:"memorySeconds"`
	// Requests are the container requests of the application for which the
	// scheduler has not allocated all containers yet: a row for each host, rack and
	// priority, 500 KB for 900 maps. Use, which the Capacity scheduler alone tells, is
	// a fortieth of that.
	Requests []ResourceRequest `wire:"resourceRequests"`
	Use      []PartitionUse    `wire:"resourceInfo>resourceUsagesByPartition"`
}

// Unfinished are the states of applications that have not ended.
var Unfinished = []string{"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED", "RUNNING"}

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
	Priority   int    `wire:"priority"`
	Name       string `wire:"resourceName"` // where the containers are requested: a host, a rack such as "/rack1", or "*" for anywhere
	Containers int    `wire:"numContainers"`
	Label      string `wire:"nodeLabelExpression"`
}

// AppFilter selects applications of the ResourceManager's list. A field that is
// zero sets no condition.
type AppFilter struct {
	States []string // states of the applications to list, such as RUNNING
	Types  []string
	Tags   []string // application tags; only applications with at least one of these tags are listed
	// StartedFromMs is the earliest start time of the applications to list, in Unix ms.
	StartedFromMs int64
	// EndedFromMs is the earliest end of the applications to list, in Unix ms: those that run are not.
	EndedFromMs int64
	// The field Without names the parts of an application that the
	// ResourceManager shall leave out, so that its answer is much smaller:
	// "resourceRequests", "timeouts", "appNodeLabelExpression",
	// "amNodeLabelExpression", "resourceInfo".
	Without []string
}

func (f *AppFilter) values() url.Values {
	v := url.Values{}
	for key, values := range map[string][]string{
		"states": f.States, "applicationTypes": f.Types,
		"applicationTags": f.Tags, "deSelects": f.Without,
	} {
		if len(values) > 0 {
			v.Set(key, strings.Join(values, ","))
		}
	}
	if f.StartedFromMs > 0 {
		v.Set("startedTimeBegin", strconv.FormatInt(f.StartedFromMs, 10))
	}
	if f.EndedFromMs > 0 {
		v.Set("finishedTimeBegin", strconv.FormatInt(f.EndedFromMs, 10))
	}
	return v
}

// Apps lists the applications that the filter f selects.
func (rm *RM) Apps(ctx context.Context, f AppFilter) ([]App, error) {
	tags := f.Tags
	if len(strings.Join(tags, ",")) > mostTagBytes {
		f.Tags = nil
	}
	apps, err := get[[]App](ctx, rm.c, request{path: "/ws/v1/cluster/apps", query: f.values()}, "apps", "app")
	if len(f.Tags) < len(tags) {
		wanted := map[string]bool{}
		for _, tag := range tags {
			wanted[tag] = true
		}
		apps = slices.DeleteFunc(apps, func(a App) bool {
			return !slices.ContainsFunc(strings.Split(a.Tags, ","), func(tag string) bool { return wanted[tag] })
		})
	}
	return apps, err
}

// mostTagBytes is how long a list of tags is sent. A ResourceManager refuses 64 KiB with status 414, which some 1,500
// jobs have; of more tags all applications are listed, and selected here.
const mostTagBytes = 16 << 10

// ReadApps reads a list of applications that somebody kept of a ResourceManager's answer.
func ReadApps(in io.Reader) (apps []App, err error) {
	body, err := io.ReadAll(io.LimitReader(in, mostKeptBytes))
	if err == nil {
		err = decode(body, &apps, "apps", "app")
	}
	if err == nil && len(apps) == 0 {
		err = errors.New("it lists none; want the answer of a ResourceManager to /ws/v1/cluster/apps")
	}
	if err != nil {
		return nil, fmt.Errorf("read list of applications: %w", err)
	}
	return apps, nil
}

// mostKeptBytes is how much of such a list is read: some 500,000 applications.
const mostKeptBytes = 1 << 30

// App returns an application without its Requests.
func (rm *RM) App(ctx context.Context, id string) (App, error) {
	var a App
	brief := url.Values{"deSelects": {"resourceRequests"}}
	err := rm.c.one(ctx, rm.c.do, request{path: appPath(id), query: brief}, &a, "app", "state", &a.State)
	return a, err
}

// AppState returns the ResourceManager's internal state of an application.
// Unlike App.State it can also be FINAL_SAVING, KILLING or FINISHING.
func (rm *RM) AppState(ctx context.Context, id string) (string, error) {
	return rm.appState(ctx, request{path: appPath(id) + "/state"})
}

// KillApp kills an application. It returns when the ResourceManager has
// accepted the request; the application may run a moment longer. If the
// application has ended, KillApp does nothing.
func (rm *RM) KillApp(ctx context.Context, id string) error {
	_, err := rm.appState(ctx, request{method: http.MethodPut, path: appPath(id) + "/state", body: `{"state":"KILLED"}`, bodyType: asJSON})
	return err
}

func (rm *RM) appState(ctx context.Context, r request) (string, error) {
	v, err := get[struct {
		State string `wire:"state"`
	}](ctx, rm.c, r, "appstate")
	return v.State, err
}

func appPath(id string) string { return "/ws/v1/cluster/apps/" + url.PathEscape(id) }
