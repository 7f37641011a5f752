package yarnclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync/atomic"
)

// RM is a client of a cluster's ResourceManager, or of all its
// ResourceManagers in high availability.
type RM struct{ c *client }

// NewRM returns a client of a ResourceManager. The client connects when its
// first method is called.
func NewRM(o Options) (*RM, error) {
	c, err := newClient("ResourceManager", o)
	if err != nil {
		return nil, err
	}
	return &RM{c}, nil
}

// Once returns a second client of the same ResourceManager, which does not
// repeat failed calls. Both clients share their connections.
func (rm *RM) Once() *RM {
	once := *rm.c
	once.retries = 0
	return &RM{&once}
}

// Each returns a client for each of the ResourceManagers, in the order of their
// addresses. It asks this one even if another is active; only a standby itself
// may send its requests on to the active one. All share their connections.
func (rm *RM) Each() []*RM {
	var each []*RM
	for i := range rm.c.addresses {
		one := *rm.c
		one.addresses, one.current = rm.c.addresses[i:i+1], new(atomic.Pointer[string])
		one.current.Store(&one.addresses[0])
		each = append(each, &RM{&one})
	}
	return each
}

// Close closes the idle HTTP connections.
func (rm *RM) Close() { rm.c.close() }

// Address returns the web address of the ResourceManager in use, "" if no
// active one was found yet.
func (rm *RM) Address() string {
	if p := rm.c.current.Load(); p != nil {
		return *p
	}
	return ""
}

// States of a ResourceManager, for ClusterInfo.HAState.
const (
	HAActive       = "ACTIVE"
	HAStandby      = "STANDBY"
	HAInitializing = "INITIALIZING"
)

// ClusterInfo describes a ResourceManager and its state.
type ClusterInfo struct {
	// ID is a number that changes whenever a ResourceManager starts or becomes
	// active. While HAState is INITIALIZING, ID does not have its final value
	// yet.
	ID            int64  `wire:"id"`
	HAState       string `wire:"haState"`
	Version       string `wire:"resourceManagerVersion"`
	HadoopVersion string `wire:"hadoopVersion"`
}

// Info returns the active ResourceManager's description of itself. With a
// single address, the ResourceManager there answers in any state, so check
// HAState.
func (rm *RM) Info(ctx context.Context) (ClusterInfo, error) {
	info, err := rm.info(ctx)
	if err != nil || info.HAState != HAStandby || len(rm.c.addresses) == 1 {
		return info, err
	}
	// a standby ResourceManager answers this request itself and does not redirect it, so the other addresses are tried
	if _, err := rm.c.findActive(ctx); err != nil {
		return info, err
	}
	return rm.info(ctx)
}

func (rm *RM) info(ctx context.Context) (ClusterInfo, error) {
	return rm.c.infoOf(ctx, rm.c.do)
}

// infoOf returns a ResourceManager's description of itself. Its parameter do
// is the function that sends the request.
func (c *client) infoOf(ctx context.Context, do func(context.Context, request) (answer, error)) (ClusterInfo, error) {
	var info ClusterInfo
	err := c.one(ctx, do, request{path: "/ws/v1/cluster/info", limit: smallBytes}, &info, "clusterInfo", "haState", &info.HAState)
	return info, err
}

// one fills v, a pointer to a struct, from the answer to a request for one thing.
// What the answer calls by name, and v holds in field, must not be empty: an answer
// without it comes from another service, or from one that is not well, and would
// else be taken for a thing of which all is zero.
func (c *client) one(ctx context.Context, do func(context.Context, request) (answer, error),
	r request, v any, path, name string, field *string,
) error {
	a, err := do(ctx, r)
	if err == nil {
		err = c.understood(r, a, v, path)
	}
	if err == nil && *field == "" {
		err = c.errorOf(a.base, r, a.status, withKind(errors.New("the answer has no "+name), ErrBadAnswer), notRestAdvice(c.service))
	}
	return err
}

// Active is like Info, but fails unless the ResourceManager is active. In other
// states a ResourceManager answers with status 200 and wrong content.
func (rm *RM) Active(ctx context.Context) (ClusterInfo, error) {
	info, err := rm.Info(ctx)
	if err == nil && info.HAState != HAActive {
		cause := withKind(fmt.Errorf("the ResourceManager is %s", firstWords([]byte(info.HAState))), ErrStandby)
		err = rm.c.errorOf(cmp.Or(rm.Address(), rm.c.addresses[0]), request{path: "/ws/v1/cluster/info"}, 0, cause,
			"list all ResourceManagers in the cluster file, or try again when one is active")
	}
	return info, err
}

// WaitActive waits until a ResourceManager is active and has at least the given
// number of NodeManagers. For about a second after a restart, answers have
// status 200 and wrong content; only the state shows this. WaitActive fails
// early if waiting does not help: access is denied, or the address is not a
// ResourceManager's.
func (rm *RM) WaitActive(ctx context.Context, nodes int) (ClusterInfo, error) {
	for attempt := 0; ; attempt++ {
		info, err := rm.Info(ctx)
		seen := rm.Address() + " is " + info.HAState
		if err == nil && info.HAState == HAActive {
			var m metrics
			if nodes > 0 {
				m, err = rm.metrics(ctx)
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

// Resource is an amount of memory in MiB and a number of virtual cores.
type Resource struct {
	MemoryMB int64 `wire:"memory"`
	VCores   int   `wire:"vCores"`
}

// Conf returns the value of one of the ResourceManager's properties. The error
// is ErrNotFound if the property is not set.
func (rm *RM) Conf(ctx context.Context, name string) (string, error) {
	return rm.c.conf(ctx, name)
}

// JMX returns the attributes of the ResourceManager's JMX beans that match
// query, such as "Hadoop:service=ResourceManager,name=ClusterMetrics".
func (rm *RM) JMX(ctx context.Context, query string) ([]map[string]any, error) {
	return rm.c.jmx(ctx, query)
}

// property is one setting in the XML form of Hadoop's configuration files.
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
	// The answer is requested as JSON, since the XML answer does not replace
	// references such as ${…} in the value.
	r := request{path: "/conf", query: url.Values{"name": {name}}, limit: smallBytes}
	p, err := get[struct {
		Name  string `wire:"key"`
		Value string `wire:"value"`
	}](ctx, c, r, "property")
	if err != nil {
		return "", err
	}
	if p.Name != name {
		return "", c.errorOf(c.addresses[0], r, 0, withKind(errors.New("the answer does not have the property"), ErrNotFound), "")
	}
	return p.Value, nil
}

type metrics struct {
	ActiveNodes int    `wire:"activeNodes"`
	Scheduler   string `wire:"schedulerEventQueueSize"`
	Others      string `wire:"rmEventQueueSize"`
}

func (rm *RM) metrics(ctx context.Context) (metrics, error) {
	return get[metrics](ctx, rm.c, request{path: "/ws/v1/cluster/metrics", limit: smallBytes}, "clusterMetrics")
}

// Queued returns how many events the ResourceManager has still to handle: those of
// nodes, applications and labels. Until they are handled, the scheduler knows less than
// the ResourceManager's other answers say. -1 means that it does not say, as before
// Hadoop 3.4.
func (rm *RM) Queued(ctx context.Context) (int64, error) {
	m, err := rm.metrics(ctx)
	if err != nil {
		return 0, err
	}
	scheduler, err := strconv.ParseInt(m.Scheduler, 10, 64)
	others, err2 := strconv.ParseInt(m.Others, 10, 64)
	if err != nil || err2 != nil {
		return -1, nil
	}
	return scheduler + others, nil
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
	// the attributes of JMX beans vary, so encoding/json decodes them; the function decode needs a struct with known fields
	if err := json.Unmarshal(withoutBare(a.body), &out); err != nil {
		cause := withKind(err, ErrBadAnswer)
		return nil, c.errorOf(a.base, r, a.status, cause, notRestAdvice(c.service))
	}
	return out.Beans, nil
}
