package config

import (
	"context"
	"net"
)

// DialContext connects to the cluster's nodes by the names that Hadoop uses
// for them, which it looks up in Hosts first.
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
