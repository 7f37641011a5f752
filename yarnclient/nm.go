package yarnclient

import "context"

// NM is a client of a NodeManager.
type NM struct{ c *client }

// NewNM returns a client of a NodeManager. The client connects when its first
// method is called.
func NewNM(o Options) (*NM, error) {
	c, err := newClient("NodeManager", o)
	if err != nil {
		return nil, err
	}
	return &NM{c}, nil
}

// Close closes the idle HTTP connections.
func (nm *NM) Close() { nm.c.close() }

// JMX returns the attributes of the NodeManager's JMX beans that match query,
// such as "Hadoop:service=NodeManager,name=NodeManagerMetrics".
func (nm *NM) JMX(ctx context.Context, query string) ([]map[string]any, error) {
	return nm.c.jmx(ctx, query)
}
