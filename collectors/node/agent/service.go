package agent

import (
	"fmt"
	"net"
	"os"
)

// tellService tells systemd about a change of the agent's state, such as
// "READY=1", if systemd runs the agent as a service of Type=notify. Otherwise it
// does nothing. See sd_notify(3).
func tellService(state string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"}) // a name that begins with @ is an abstract address
	if err != nil {
		return fmt.Errorf("tell the service manager %s: %w", state, err)
	}
	defer c.Close()
	if _, err := c.Write([]byte(state)); err != nil {
		return fmt.Errorf("tell the service manager %s: %w", state, err)
	}
	return nil
}
