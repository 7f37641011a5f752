package emulate

import "golang.org/x/sys/unix"

// KillManager kills the ResourceManager.
func (c *Cluster) KillManager() { c.manager.Stop(unix.SIGKILL) }
