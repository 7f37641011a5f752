package config

import (
	"net"
	"testing"
)

func TestDialContext(t *testing.T) {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	c := Cluster{Hosts: map[string]string{"r1n1": "127.0.0.1"}}
	conn, err := c.DialContext()(t.Context(), "tcp", net.JoinHostPort("r1n1", port))
	if err != nil {
		t.Fatalf("dial by a name of hosts: %v", err)
	}
	conn.Close()
}
