package runs

import (
	"runtime/debug"
	"testing"
)

func TestBuild(t *testing.T) {
	vcs := []debug.BuildSetting{
		{Key: "vcs", Value: "git"},
		{Key: "vcs.revision", Value: "abc"},
		{Key: "vcs.time", Value: "2026-11-26T06:00:00Z"},
	}
	changed := append(vcs[:len(vcs):len(vcs)], debug.BuildSetting{Key: "vcs.modified", Value: "true"})
	main := func(version string, settings ...debug.BuildSetting) debug.BuildInfo {
		return debug.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Version: version}, Settings: settings}
	}
	release := Build{Version: "1.2.0", Revision: "def", Time: "2027-01-02T03:04:05Z"}
	for _, x := range []struct {
		name    string
		info    debug.BuildInfo
		release Build
		want    string
	}{
		{"a release", main("(devel)"), release, "1.2.0 of 2027-01-02, commit def, go1.26"},
		{"a release that was built in a changed tree", main("v0.0.0", changed...), release, "1.2.0 of 2027-01-02, commit def, go1.26"},
		{"a module's version", main("v1.3.1"), Build{}, "v1.3.1, commit unknown, go1.26"},
		{"in a repository", main("v0.0.0-2026", vcs...), Build{}, "v0.0.0-2026 of 2026-11-26, commit abc, go1.26"},
		{"in a changed one", main("(devel)", changed...), Build{}, "(devel) of 2026-11-26, commit abc with changes, go1.26"},
		{"without a repository", main("(devel)"), Build{}, "(devel), commit unknown, go1.26"},
		{"without anything", debug.BuildInfo{}, Build{}, "unknown, commit unknown, "},
	} {
		if got := buildOf(&x.info, x.release).String(); got != x.want {
			t.Errorf("%s: %q, want %q", x.name, got, x.want)
		}
	}
}
