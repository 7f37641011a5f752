//go:build !linux

package lab

import (
	"os"

	"heddle/harness/internal/units"
)

// On systems other than Linux a lab can be described, for simulations, but
// cannot be run. NeedLinux returns an error that says so before anything is
// started.

func mountMemory(string, units.Size, int) error  { return NeedLinux() }
func detach(string) error                        { return NeedLinux() }
func keepFiles()                                 {}
func forgetPages(*os.File)                       {}
func deviceOf(string) (string, error)            { return "", NeedLinux() }
func removeNetwork(string) error                 { return NeedLinux() }
func namespaces(string) []string                 { return nil }
func freeNetwork(int, []int) (int, error)        { return 0, NeedLinux() }
func (l *Lab) buildNetwork() error               { return NeedLinux() }
func (l *Lab) shapeLink(node, units.Rate) error  { return NeedLinux() }
func (l *Lab) shapeUplink(int, units.Rate) error { return NeedLinux() }
