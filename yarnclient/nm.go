package yarnclient

import "context"

// NM is a NodeManager.
type NM struct{ c *client }

// NewNM prepares a client; it connects with the first call.
func NewNM(o Options) (*NM, error) {
	c, err := newClient("NodeManager", o)
	if err != nil {
		return nil, err
	}
	return &NM{c}, nil
}

// Close drops idle connections.
func (nm *NM) Close() { nm.c.close() }

// NodeInfo says what a NodeManager is.
type NodeInfo struct {
	ID            string `wire:"id" form:"node"` // "host:port"
	Host          string `wire:"nodeHostName" form:"host"`
	Healthy       bool   `wire:"nodeHealthy"`
	HealthReport  string `wire:"healthReport"`
	Version       string `wire:"nodeManagerVersion"`
	HadoopVersion string `wire:"hadoopVersion"`
	StartedMs     int64  `wire:"nmStartupTime"` // 0 before Hadoop 3.3
	LastUpdateMs  int64  `wire:"lastNodeUpdateTime"`
	MemoryMB      int64  `wire:"totalPmemAllocatedContainersMB"` // offered to containers
	VCores        int    `wire:"totalVCoresAllocatedContainers"`
}

// Info asks the NodeManager what it is.
func (nm *NM) Info(ctx context.Context) (NodeInfo, error) {
	var info NodeInfo
	err := nm.c.get(ctx, request{path: "/ws/v1/node/info"}, &info, "nodeInfo")
	return info, err
}

// NodeContainer is a container as its NodeManager knows it.
type NodeContainer struct {
	ID          string `wire:"id" form:"container"`
	State       string `wire:"state"`    // NEW, LOCALIZING, RUNNING, DONE, ...
	ExitCode    int    `wire:"exitCode"` // -1000 while it runs
	Diagnostics string `wire:"diagnostics"`
	User        string `wire:"user"`
	MemoryMB    int64  `wire:"totalMemoryNeededMB"`
	VCores      int    `wire:"totalVCoresNeeded"`
	Execution   string `wire:"executionType"` // GUARANTEED, OPPORTUNISTIC
	NodeID      string `wire:"nodeId" form:"node"`
	LogURL      string `wire:"containerLogsLink"`
}

// Containers lists the containers on the node.
func (nm *NM) Containers(ctx context.Context) ([]NodeContainer, error) {
	var list []NodeContainer
	err := nm.c.get(ctx, request{path: "/ws/v1/node/containers"}, &list, "containers", "container")
	return list, err
}

// Conf returns a property's value as the daemon has it; ErrNotFound if unset.
func (nm *NM) Conf(ctx context.Context, name string) (string, error) {
	return nm.c.conf(ctx, name)
}

// JMX returns the beans that query selects; see RM.JMX.
func (nm *NM) JMX(ctx context.Context, query string) ([]map[string]any, error) {
	return nm.c.jmx(ctx, query)
}
