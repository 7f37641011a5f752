package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnwritten: a segment of the edit log that a killed NameNode had not begun to write
// is dropped, and nothing else: not one with edits, and nothing outside of the folder,
// whose owner is not root.
func TestUnwritten(t *testing.T) {
	l := &Lab{plan: newPlan(t.TempDir(), savedPlan{Cfg: Default(), Network: 100})}
	n, folder := l.master(), l.nodePath("master", "name", "current")
	mustDo(t, os.MkdirAll(folder, 0o755))
	unwritten, written, outside := strings.Repeat("\xff", 1<<10), "\xff\xff\xff\xbd\x00", filepath.Join(t.TempDir(), "outside")
	for path, text := range map[string]string{
		filepath.Join(folder, "edits_inprogress_9"): unwritten, filepath.Join(folder, "edits_1-8"): unwritten, outside: unwritten,
		filepath.Join(folder, "edits_inprogress_8"): written, filepath.Join(folder, "edits_inprogress_7"): "",
	} {
		mustDo(t, os.WriteFile(path, []byte(text), 0o600))
	}
	mustDo(t, l.dropUnwritten(n))
	list, err := os.ReadDir(folder)
	if err != nil || len(list) != 3 || list[0].Name() != "edits_1-8" || list[1].Name() != "edits_inprogress_7" ||
		list[2].Name() != "edits_inprogress_8" {
		t.Errorf("%v, %v: want all but segment 9", list, err)
	}
	mustDo(t, os.Symlink(outside, filepath.Join(folder, "edits_inprogress_5")))
	if err := l.dropUnwritten(n); err == nil {
		t.Error("a link out of the folder is followed")
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
}
