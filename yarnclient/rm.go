package yarnclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
)

// RM is a ResourceManager, or several in high availability.
type RM struct{ c *client }

// NewRM prepares a client; it connects with the first call.
func NewRM(o Options) (*RM, error) {
	c, err := newClient("ResourceManager", o)
	if err != nil {
		return nil, err
	}
	return &RM{c}, nil
}

// Once is the same ResourceManager on the same connections, but a read that failed
// is not tried again.
func (rm *RM) Once() *RM {
	once := *rm.c
	once.retries = 0
	return &RM{&once}
}

// Close drops idle connections.
func (rm *RM) Close() { rm.c.close() }

// Address returns the web address in use, empty while none was found active.
func (rm *RM) Address() string {
	if p := rm.c.current.Load(); p != nil {
		return *p
	}
	return ""
}

// States of a ResourceManager, in ClusterInfo.HAState.
const (
	HAActive       = "ACTIVE"
	HAStandby      = "STANDBY"
	HAInitializing = "INITIALIZING"
)

// ClusterInfo says what a ResourceManager is.
type ClusterInfo struct {
	// ID changes whenever a ResourceManager starts or becomes active: the epoch
	// of everything it tells. It differs while HAState is INITIALIZING.
	ID            int64  `wire:"id"`
	StartedMs     int64  `wire:"startedOn"`
	State         string `wire:"state"`
	HAState       string `wire:"haState"`
	Version       string `wire:"resourceManagerVersion"`
	HadoopVersion string `wire:"hadoopVersion"`
	StateStore    string `wire:"rmStateStoreName"`
}

// Info asks the active ResourceManager what it is. With one address it is
// answered in any state: look at HAState.
func (rm *RM) Info(ctx context.Context) (ClusterInfo, error) {
	info, err := rm.info(ctx)
	if err != nil || info.HAState != HAStandby || len(rm.c.addresses) == 1 {
		return info, err
	}
	if _, err := rm.c.findActive(ctx); err != nil { // a standby answers this call itself
		return info, err
	}
	return rm.info(ctx)
}

func (rm *RM) info(ctx context.Context) (ClusterInfo, error) {
	return rm.c.infoOf(ctx, rm.c.do)
}

// infoOf asks by do what a ResourceManager is. One that has no state is none.
func (c *client) infoOf(ctx context.Context, do func(context.Context, request) (answer, error)) (ClusterInfo, error) {
	var info ClusterInfo
	r := request{path: "/ws/v1/cluster/info", limit: smallBytes}
	a, err := do(ctx, r)
	if err == nil {
		err = c.understood(r, a, &info, "clusterInfo")
	}
	if err == nil && info.HAState == "" {
		err = c.errorOf(a.base, r, a.status, withKind(errors.New("the answer has no haState"), ErrBadAnswer), notRestAdvice(c.service))
	}
	return info, err
}

// Active is Info, and an error unless the ResourceManager is active: what it
// answers in another state, with status 200, is wrong.
func (rm *RM) Active(ctx context.Context) (ClusterInfo, error) {
	info, err := rm.Info(ctx)
	if err == nil && info.HAState != HAActive {
		base := rm.Address()
		if base == "" {
			base = rm.c.addresses[0]
		}
		cause := withKind(fmt.Errorf("the ResourceManager is %s", firstWords([]byte(info.HAState))), ErrStandby)
		err = rm.c.errorOf(base, request{path: "/ws/v1/cluster/info"}, 0, cause, "name the other ResourceManagers in the cluster file too, or try again when one is active")
	}
	return info, err
}

// WaitActive waits until a ResourceManager is ACTIVE with at least nodes
// NodeManagers and returns what it is. After a restart there is a second in
// which everything is answered with status 200 and wrong; only the state tells.
// It ends early when waiting cannot help: not allowed, or not a
// ResourceManager.
func (rm *RM) WaitActive(ctx context.Context, nodes int) (ClusterInfo, error) {
	for attempt := 0; ; attempt++ {
		info, err := rm.Info(ctx)
		seen := rm.Address() + " is " + info.HAState
		if err == nil && info.HAState == HAActive {
			var m Metrics
			if nodes > 0 {
				m, err = rm.Metrics(ctx)
			}
			if err == nil && m.ActiveNodes >= nodes {
				return info, nil
			}
			seen = fmt.Sprintf("%d nodes are active", m.ActiveNodes)
		}
		if err != nil {
			if errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrNotRest) {
				return info, err
			}
			seen = err.Error()
		}
		if stop := wait(ctx, backoff(min(attempt, 2))); stop != nil {
			cause := fmt.Errorf("yarn: waiting for an active ResourceManager with %d nodes: %w; last seen: %s", nodes, stop, seen)
			if err != nil {
				return info, withKind(cause, err)
			}
			return info, cause
		}
	}
}

// Metrics are the cluster's sums. With node labels, the plain numbers count
// the default partition only; the Total ones count all.
type Metrics struct {
	AppsSubmitted       int   `wire:"appsSubmitted"`
	AppsCompleted       int   `wire:"appsCompleted"`
	AppsPending         int   `wire:"appsPending"`
	AppsRunning         int   `wire:"appsRunning"`
	AppsFailed          int   `wire:"appsFailed"`
	AppsKilled          int   `wire:"appsKilled"`
	AvailableMB         int64 `wire:"availableMB"`
	AllocatedMB         int64 `wire:"allocatedMB"`
	PendingMB           int64 `wire:"pendingMB"`
	AvailableVCores     int   `wire:"availableVirtualCores"`
	AllocatedVCores     int   `wire:"allocatedVirtualCores"`
	PendingVCores       int   `wire:"pendingVirtualCores"`
	ContainersAllocated int   `wire:"containersAllocated"`
	ContainersPending   int   `wire:"containersPending"`
	Nodes               int   `wire:"totalNodes"`
	ActiveNodes         int   `wire:"activeNodes"`
	LostNodes           int   `wire:"lostNodes"`
	UnhealthyNodes      int   `wire:"unhealthyNodes"`
	DecommissionedNodes int   `wire:"decommissionedNodes"`
	// TotalCapacity, TotalUsed and TotalContainers count all partitions.
	TotalCapacity   Resource `wire:"totalClusterResourcesAcrossPartition"`
	TotalUsed       Resource `wire:"totalUsedResourcesAcrossPartition"`
	TotalContainers int      `wire:"totalAllocatedContainersAcrossPartition"`
	// RMEventQueue and SchedulerEventQueue are waiting events (Hadoop 3.4).
	RMEventQueue        int `wire:"rmEventQueueSize"`
	SchedulerEventQueue int `wire:"schedulerEventQueueSize"`
}

// Resource is an amount of memory in MiB and of virtual cores.
type Resource struct {
	MemoryMB int64 `wire:"memory"`
	VCores   int   `wire:"vCores"`
}

// Metrics returns the cluster's sums.
func (rm *RM) Metrics(ctx context.Context) (Metrics, error) {
	var m Metrics
	err := rm.c.get(ctx, request{path: "/ws/v1/cluster/metrics"}, &m, "clusterMetrics")
	return m, err
}

// Conf returns a property's value as the daemon has it; ErrNotFound if unset.
func (rm *RM) Conf(ctx context.Context, name string) (string, error) {
	return rm.c.conf(ctx, name)
}

// JMX returns the beans that query selects, such as
// "Hadoop:service=ResourceManager,name=ClusterMetrics"; attributes by name.
func (rm *RM) JMX(ctx context.Context, query string) ([]map[string]any, error) {
	return rm.c.jmx(ctx, query)
}

// property is Hadoop's form of a setting.
type property struct {
	Name  string `wire:"name"`
	Value string `wire:"value"`
}

func propertyMap(list []property) map[string]string {
	m := make(map[string]string, len(list))
	for _, p := range list {
		m[p.Name] = p.Value
	}
	return m
}

func (c *client) conf(ctx context.Context, name string) (string, error) {
	// In JSON; in XML, references to other properties (${…}) are not filled in.
	r := request{path: "/conf", query: url.Values{"name": {name}}, limit: smallBytes}
	var p struct {
		Name  string `wire:"key"`
		Value string `wire:"value"`
	}
	if err := c.get(ctx, r, &p, "property"); err != nil {
		return "", err
	}
	if p.Name != name {
		return "", c.errorOf(c.addresses[0], r, 0, withKind(errors.New("property not in the answer"), ErrNotFound), "")
	}
	return p.Value, nil
}

func (c *client) jmx(ctx context.Context, query string) ([]map[string]any, error) {
	r := request{path: "/jmx", query: url.Values{"qry": {query}}}
	a, err := c.do(ctx, r)
	if err != nil {
		return nil, err
	}
	var out struct {
		Beans []map[string]any `json:"beans"`
	}
	if err := json.Unmarshal(a.body, &out); err != nil { // attributes are unknown beforehand
		cause := withKind(err, ErrBadAnswer)
		return nil, c.errorOf(a.base, r, a.status, cause, notRestAdvice(c.service))
	}
	return out.Beans, nil
}
