package lab

import "golang.org/x/sys/unix"

// endsWithParent has a process end when its parent does, however that ends. A ctrl-C at
// the terminal does not reach it.
func endsWithParent() *unix.SysProcAttr {
	return &unix.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
}
