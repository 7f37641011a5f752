package config

import (
	"context"
	"net"
)

// DialContext returns a function that opens connections to the cluster's nodes.
// The function looks up a node's name in the cluster file's Hosts first, and
// only then asks the system.
func (c *Cluster) DialContext() func(ctx context.Context, network, address string) (net.Conn, error) {
	var dialer net.Dialer
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if host, port, err := net.SplitHostPort(address); err == nil {
			if to, ok := c.Hosts[host]; ok {
				address = net.JoinHostPort(to, port)
			}
		}
		return dialer.DialContext(ctx, network, address)
	}
}
