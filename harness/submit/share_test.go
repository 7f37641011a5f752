package submit

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"heddle/collectors/hdfs"
)

// TestShareTrustsOnlyItsOwn shares a file whose place in HDFS somebody has
// prepared. Where others could decide what tasks run, the file goes to a folder
// of the user's own.
func TestShareTrustsOnlyItsOwn(t *testing.T) {
	const content, forged = "content", "CONTENT"
	dir := func(owner string, mode fs.FileMode) hdfs.File { return hdfs.File{Dir: true, Owner: owner, Mode: mode} }
	file := func(owner string, mode fs.FileMode) hdfs.File { return hdfs.File{Owner: owner, Mode: mode} }
	for name, test := range map[string]struct {
		heddle, shared, file hdfs.File // of /heddle, /heddle/shared and the file; without an owner it is missing
		content              string
		own                  bool // want the user's own folder
	}{
		"nothing there":            {},
		"as this user made it":     {dir("ann", 0o755), dir("ann", 0o755), file("ann", 0o755), content, false},
		"as the superuser made it": {dir("hdfs", 0o755), dir("hdfs", 0o755), file("hdfs", 0o644), content, false},
		"the superuser's folder":   {dir("hdfs", 0o755), dir("hdfs", 0o755), hdfs.File{}, "", true}, // where this user may not write
		"another's file":           {dir("ann", 0o755), dir("ann", 0o755), file("mallory", 0o755), content, true},
		"another's forged file":    {dir("ann", 0o755), dir("ann", 0o755), file("mallory", 0o755), forged, true},
		"another's folder":         {dir("hdfs", 0o755), dir("mallory", 0o755), hdfs.File{}, "", true},
		"another's upper folder":   {dir("mallory", 0o755), dir("ann", 0o755), file("ann", 0o755), content, true},
		"a file for all":           {dir("ann", 0o755), dir("ann", 0o755), file("ann", 0o777), content, true},
		"a file for the group":     {dir("ann", 0o755), dir("ann", 0o755), file("ann", 0o775), content, true},
		"a folder for all":         {dir("ann", 0o755), dir("ann", 0o777), file("ann", 0o755), content, true},
		"an upper folder for all":  {dir("hdfs", 0o777), dir("ann", 0o755), hdfs.File{}, "", true},
		"forged content":           {dir("ann", 0o755), dir("ann", 0o755), file("ann", 0o755), forged, true},
		"cut content":              {dir("ann", 0o755), dir("ann", 0o755), file("ann", 0o755), content[1:], true},
		"a folder for a file":      {dir("ann", 0o755), dir("ann", 0o755), dir("ann", 0o755), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.hdfs.entries["/"] = hdfs.File{Path: "/", Dir: true, Mode: 0o755, Owner: "hdfs"}
			local := filepath.Join(t.TempDir(), "replay")
			mustDo(t, os.WriteFile(local, []byte(content), 0o755))
			const at = "/heddle/shared/ed7002b439e9ac84-replay" // the content's hash
			for place, have := range map[string]hdfs.File{"/heddle": test.heddle, "/heddle/shared": test.shared, at: test.file} {
				if have.Owner == "" {
					continue
				}
				have.Path = place
				if place == at {
					have.Length = int64(len(test.content))
					f.hdfs.content[at] = test.content
				}
				f.hdfs.entries[place] = have
			}
			f.hdfs.fail = func(call, name string) error {
				if call == "write" && f.hdfs.entries[path.Dir(name)].Owner != "ann" {
					return fs.ErrPermission
				}
				return nil
			}
			got := must(f.share(t.Context(), local))
			want := at
			if test.own {
				want = stagingOfAnn + "/heddle-shared/" + path.Base(at)
			}
			have := f.hdfs.entries[got.path]
			if got.path != want || f.hdfs.content[got.path] != content || got.bytes != int64(len(content)) ||
				got.modifiedMs != have.Modified.UnixMilli() {
				t.Errorf("shared as %+v with content %q, want %s", got, f.hdfs.content[got.path], want)
			}
			if got.public == test.own {
				t.Errorf("shared as %+v: public %v", got, got.public)
			}
		})
	}
}

// If the user's own folder is no better, the error says what to remove.
func TestShareRefusesForgedContent(t *testing.T) {
	f := newFixture(t)
	local := filepath.Join(t.TempDir(), "replay")
	mustDo(t, os.WriteFile(local, []byte("content"), 0o755))
	mustDo(t, f.hdfs.Mkdir(t.Context(), sharedFolder, 0o777))
	place, err := f.Share(t.Context(), local)
	if err != nil {
		t.Fatal(err)
	}
	mustDo(t, f.hdfs.Write(t.Context(), place, strings.NewReader("CONTENT"), 0o755))
	_, err = f.Share(t.Context(), local)
	wantError(t, err, place, "remove it")
}

// A file that changes while it is read is not used, whatever was read.
func TestShareSeesAChange(t *testing.T) {
	f := newFixture(t)
	local := filepath.Join(t.TempDir(), "replay")
	mustDo(t, os.WriteFile(local, []byte("content"), 0o755))
	place := must(f.Share(t.Context(), local))
	other := newSubmitter(f.rm, f.hdfs, "ann", f.site)
	f.hdfs.fail = func(call, name string) error {
		if have := f.hdfs.entries[place]; call == "open" && name == place {
			have.Modified = f.hdfs.now
			f.hdfs.entries[place] = have
		}
		return nil
	}
	again, err := other.Share(t.Context(), local)
	if err != nil || again == place {
		t.Errorf("shared as %s, %v; want the user's own folder", again, err)
	}
}
