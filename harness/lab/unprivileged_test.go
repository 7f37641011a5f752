package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestGive gives the lab's user a folder that was root's. What is outside stays
// root's, even if links lead there.
func TestGive(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("gives files away as root")
	}
	p := testPlan(Default())
	dir := t.TempDir()
	outside, folder := filepath.Join(dir, "outside"), filepath.Join(dir, "data")
	for _, path := range []string{outside, filepath.Join(folder, "current", "block")} {
		mustDo(t, os.MkdirAll(filepath.Dir(path), 0o755))
		mustDo(t, os.WriteFile(path, nil, 0o644))
	}
	for _, link := range []func(string, string) error{os.Symlink, os.Link} {
		name := filepath.Join(folder, "link")
		if _, err := os.Lstat(name); err == nil {
			name = filepath.Join(folder, "second-name")
		}
		mustDo(t, link(outside, name))
	}
	mustDo(t, p.give(folder))
	for path, want := range map[string]int{
		folder: p.uid(), filepath.Join(folder, "current"): p.uid(), filepath.Join(folder, "current", "block"): p.uid(),
		filepath.Join(folder, "link"): p.uid(), outside: 0,
	} {
		info := must(os.Lstat(path))
		if got := int(owner(info).Uid); got != want {
			t.Errorf("%s belongs to user %d, want %d", path, got, want)
		}
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v; want mode 0700", info.Mode(), err)
	}
	link := filepath.Join(dir, "link")
	mustDo(t, os.Symlink(folder, link))
	if err := p.give(link); err == nil {
		t.Error("a link in the place of a folder was taken")
	}
}

// Two labs never have one user.
func TestLabsHaveUsersOfTheirOwn(t *testing.T) {
	seen := map[int]bool{}
	for network := firstNet; network <= lastNet; network++ {
		p := newPlan("/state/lab", savedPlan{Cfg: Default(), Network: network})
		if uid := p.uid(); seen[uid] || uid < 60706 || uid > 61183 {
			t.Errorf("the lab of network %d has user %d", network, uid)
		}
		seen[p.uid()] = true
	}
}

// A lab does not run as somebody of this machine.
func TestNetworkOfAFreeUser(t *testing.T) {
	bin := t.TempDir()
	// Here every id but one is somebody's.
	getent := fmt.Sprintf("#!/bin/sh\n[ \"$1 $2\" != 'passwd %d' ]\n", uidOf(157))
	mustDo(t, os.WriteFile(filepath.Join(bin, "getent"), []byte(getent), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	got, err := pickNetwork(filepath.Join(t.TempDir(), "nosuchlab"))
	if err != nil || got != 157 {
		t.Errorf("network %d, %v; want 157, whose user id is free", got, err)
	}
}

func TestViews(t *testing.T) {
	base := t.TempDir()
	// Test folders are below one that only their owner may enter.
	mustDo(t, os.Chmod(filepath.Dir(base), 0o755))
	at := func(parts ...string) string { return filepath.Join(append([]string{base}, parts...)...) }
	for _, dir := range []string{"home/state/lab", "home/cache/jars", "other/inner/java", "open/jars", "shut"} {
		mustDo(t, os.MkdirAll(at(dir), 0o755))
	}
	for _, dir := range []string{"home", "home/state", "other", "other/inner", "shut"} {
		mustDo(t, os.Chmod(at(dir), 0o700))
	}
	mustDo(t, os.Symlink(at("home/cache/jars"), at("open/link")))
	home := view{at("home"), []string{"/state/lab"}}
	for name, test := range map[string]struct {
		root, jars, java string
		want             []view
	}{
		"all open":    {"open", "open/jars", "open", nil},
		"root's home": {"home/state/lab", "open/jars", "open", []view{home}},
		"two homes": {
			"home/state/lab", "home/cache/jars", "other/inner/java",
			[]view{{at("other"), []string{"/inner/java"}}, {home.Over, []string{"/state/lab", "/cache/jars"}}},
		},
		"one in the other": {"home/state/lab", "home/state/lab", "open", []view{home}},
		"a link":           {"home/state/lab", "open/link", "open", []view{{home.Over, []string{"/state/lab", "/cache/jars"}}}},
	} {
		l := &Lab{plan: newPlan(at(test.root), savedPlan{Cfg: Default(), Java: at(test.java), Classpath: at(test.jars) + "/*"})}
		got, err := l.views()
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	l := &Lab{plan: newPlan(at("open"), savedPlan{Cfg: Default(), Java: at("shut"), Classpath: at("open") + "/*"})}
	if got, err := l.views(); err == nil {
		t.Errorf("a folder that the lab's user cannot read is taken: %v", got)
	}
}
