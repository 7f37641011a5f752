package runs

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// Build identifies the heddle program that made a run.
type Build struct {
	// Version is that of the release, or else Go's version of the module.
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"` // the commit
	// Time is when the commit was made.
	Time string `json:"time,omitempty"`
	// Modified is true if heddle was built from source code that differed from
	// the commit Revision.
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
}

// The release script sets these with the linker's option -X, since it builds from
// source code that has no history. Other builds have what Go found in their repository.
var releaseVersion, releaseRevision, releaseTime string

// ThisBuild returns what is known of the program that calls it.
func ThisBuild() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(info, Build{Version: releaseVersion, Revision: releaseRevision, Time: releaseTime})
}

// buildOf returns what a release says of itself, and otherwise what Go recorded.
func buildOf(info *debug.BuildInfo, release Build) Build {
	b := Build{Version: cmp.Or(info.Main.Version, "unknown"), Go: info.GoVersion}
	if release.Version != "" {
		release.Go = b.Go
		return release
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String returns the version, the commit, its day and the Go release in one line.
func (b Build) String() string {
	day, _, _ := strings.Cut(b.Time, "T")
	text := b.Version
	if day != "" {
		text += " of " + day
	}
	text += ", commit " + cmp.Or(b.Revision, "unknown")
	if b.Modified {
		text += " with changes"
	}
	return text + ", " + b.Go
}
