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

// JMX returns the beans that query selects; see RM.JMX.
func (nm *NM) JMX(ctx context.Context, query string) ([]map[string]any, error) {
	return nm.c.jmx(ctx, query)
}
