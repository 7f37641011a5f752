package hdfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"heddle/collectors/hdfs/internal/hdfspb"
)

// DataNode is an HDFS DataNode as the NameNode describes it.
type DataNode struct {
	// UUID identifies the DataNode for ever. Host, IP and Port say where it is;
	// Port is for data transfer.
	UUID, Host, IP string
	Port           int
	// Live is false if the NameNode has missed the DataNode's heartbeats for
	// too long.
	Live bool
	// Capacity and Remaining are bytes on the DataNode's disks.
	Capacity, Remaining int64
	// CacheCapacity and CacheUsed are bytes of the DataNode's HDFS cache.
	CacheCapacity, CacheUsed int64
}

// DataNodes returns all DataNodes of the cluster, sorted by host. It returns
// fs.ErrPermission to users who are not superusers.
func (c *Client) DataNodes(ctx context.Context) ([]DataNode, error) {
	var all []DataNode
	// The NameNode lists live and dead DataNodes in two calls. A DataNode that
	// dies between the two calls is in both lists; then its entry in the list of
	// live DataNodes is used.
	for _, kind := range []hdfspb.GetDatanodeReportRequest_Type{hdfspb.GetDatanodeReportRequest_LIVE, hdfspb.GetDatanodeReportRequest_DEAD} {
		resp := &hdfspb.GetDatanodeReportResponse{}
		err := c.call(ctx, "getDatanodeReport", &hdfspb.GetDatanodeReportRequest{Type: &kind}, resp)
		if errors.Is(err, fs.ErrPermission) {
			err = fmt.Errorf("user %s must be a member of dfs.permissions.superusergroup: %w", c.options.User, err)
		}
		if err == nil {
			err = checkHosts(resp.Nodes)
		}
		if err != nil {
			return nil, fmt.Errorf("datanode report: %w", err)
		}
		for _, n := range resp.Nodes {
			all = append(all, dataNodeOf(n, kind == hdfspb.GetDatanodeReportRequest_LIVE))
		}
	}
	slices.SortStableFunc(all, func(a, b DataNode) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Port, b.Port), cmp.Compare(a.UUID, b.UUID))
	})
	return slices.CompactFunc(all, func(a, b DataNode) bool { return a.UUID == b.UUID }), nil
}

func dataNodeOf(n *hdfspb.DatanodeInfo, live bool) DataNode {
	return DataNode{
		UUID:          n.GetId().GetDatanodeUuid(),
		Host:          n.GetId().GetHostName(),
		IP:            n.GetId().GetIpAddr(),
		Port:          int(n.GetId().GetXferPort()),
		Live:          live,
		Capacity:      int64(n.Capacity),
		Remaining:     int64(n.Remaining),
		CacheCapacity: int64(n.CacheCapacity),
		CacheUsed:     int64(n.CacheUsed),
	}
}
