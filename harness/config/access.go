package config

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
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

// Token reads the agent's bearer token. The warning, if any, says that the
// file is open to others. Neither it nor the error holds the token.
func (a Agent) Token() (token, warning string, err error) {
	info, err := os.Stat(a.TokenFile)
	if err != nil {
		return "", "", fmt.Errorf("read token of the agent on %s: %w", a.Node, err)
	}
	if info.Size() > 4096 {
		return "", "", fmt.Errorf("read token of the agent on %s: %s has %d bytes, too many for a token", a.Node, a.TokenFile, info.Size())
	}
	data, err := os.ReadFile(a.TokenFile)
	if err != nil {
		return "", "", fmt.Errorf("read token of the agent on %s: %w", a.Node, err)
	}
	token = strings.TrimSpace(string(data))
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", "", fmt.Errorf("read token of the agent on %s: %s does not hold one line of printable characters", a.Node, a.TokenFile)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		warning = fmt.Sprintf("token file %s can be read by others (mode %04o); chmod 600 it", a.TokenFile, mode)
	}
	return token, warning, nil
}
