package cmd

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// buildVersion returns heddle's version. For a build without a version, it
// returns the commit from which heddle was built.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.Main.Version
}

// version returns what "heddle --version" prints: the version, the commit and
// the Go release.
func version() string {
	commit, changed := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = " with changes"
			}
		}
	}
	return fmt.Sprintf("%s, commit %s%s, %s", buildVersion(), commit, changed, runtime.Version())
}
