//go:build !linux

package lab

import "golang.org/x/sys/unix"

// endsWithParent has ctrl-C at the terminal not reach a process.
func endsWithParent() *unix.SysProcAttr { return &unix.SysProcAttr{Setpgid: true} }
