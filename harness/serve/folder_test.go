package serve

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"heddle/harness/doc"
)

const small = "cluster: lab\nworkloads: [{name: wordcount, size: 64MiB, maps: 4, reduces: 1}]\n"

// TestFolder has the list of runs, and the page of each.
func TestFolder(t *testing.T) {
	root := t.TempDir()
	simulate(t, root, "first", small, nil)
	dir := simulate(t, root, "second", small, nil)
	check(t, os.Mkdir(filepath.Join(root, "no run"), 0o755))
	f := NewFolder(root)
	list := ask(t, f, "/").Body.String()
	for _, want := range []string{`<a href="run/first">first</a>`, `<a href="run/second">second</a>`, ">wordcount<", ">finished<", `class="sorted"`} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %s", want)
		}
	}
	if strings.Contains(list, "no run") {
		t.Error("a folder that is no run is in the list")
	}
	page := ask(t, f, "/run/second").Body.String()
	if !strings.Contains(page, "<h1>second</h1>") || !strings.Contains(page, "Where this is from") {
		t.Error("it is no report")
	}
	if again := ask(t, f, "/run/second").Body.String(); again != page || len(f.pages.kept) != 2 {
		t.Errorf("the page is made again; %d are kept", len(f.pages.kept))
	}
	check(t, os.Remove(filepath.Join(dir, "trials", "r01-wordcount-yarn", "trace.heddle")))
	if w := ask(t, f, "/run/second"); w.Code != 500 || !strings.Contains(w.Body.String(), "trace.heddle") {
		t.Errorf("without its trace: status %d, %.300s", w.Code, w.Body)
	}
	if w := ask(t, NewFolder(filepath.Join(root, "gone")), "/"); w.Code != 404 {
		t.Errorf("no folder: status %d", w.Code)
	}
}

// TestFolderReadsNothingElse asks for what is outside of the folder, in all ways.
func TestFolderReadsNothingElse(t *testing.T) {
	outside := t.TempDir()
	secret := simulate(t, outside, "secret", small, nil)
	root := filepath.Join(outside, "runs")
	dir := simulate(t, root, "mine", small, nil)
	check(t, os.Symlink(secret, filepath.Join(root, "link")))
	f := NewFolder(root)
	if list := ask(t, f, "/").Body.String(); strings.Contains(list, "run/link") || !strings.Contains(list, "run/mine") {
		t.Error("the list has a link")
	}
	for _, path := range []string{
		"/run/link", "/run/../secret", "/run/..", "/run/.", "/run/", "/run", "/run/mine/..", "/run/mine/../../secret", "/run/mine/", "/run/mine/manifest.json", "/run//mine",
		"/run/%2e%2e%2fsecret", "/run/..%2fsecret", "/run/" + url.PathEscape(secret), "/run/mine%00", "/../secret", "/manifest.json", "/run/link%2f", "/run/mine%5c..",
	} {
		if w := ask(t, f, path); w.Code != 404 || strings.Contains(w.Body.String(), "Where this is from") {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
	trace := filepath.Join(dir, "trials", "r01-wordcount-yarn", "trace.heddle")
	for name, plant := range map[string]func(path string) error{
		"a link out of the folder": func(path string) error {
			return os.Symlink(filepath.Join(secret, "trials", "r01-wordcount-yarn", "trace.heddle"), path)
		},
		"a pipe": func(path string) error { return syscall.Mkfifo(path, 0o600) },
	} {
		check(t, os.Remove(trace))
		check(t, plant(trace))
		if w := ask(t, f, "/run/mine"); w.Code != 500 || !strings.Contains(w.Body.String(), errOutside.Error()) {
			t.Errorf("%s: status %d: %.300s", name, w.Code, w.Body)
		}
	}
}

// TestHostileRunNames: names of folders are shown as text, and their links lead to them.
func TestHostileRunNames(t *testing.T) {
	root := t.TempDir()
	dir := simulate(t, root, "plain", small, nil)
	f := NewFolder(root)
	for _, name := range []string{`<img src=x onerror=alert(1)>`, `"'><script>alert(1)<`, "javascript:alert(1)", "\u202egnp.exe", "a\nb", "\xff\xfe", "50%", "a?b#c", "..." + strings.Repeat("n", 200)} {
		next := filepath.Join(root, name)
		check(t, os.Rename(dir, next))
		dir = next
		f.pages.kept = nil // the list serves for a moment
		list := ask(t, f, "/").Body.String()
		if strings.Contains(list, "<img") || strings.Contains(list, "<script>alert") || strings.Contains(list, "\u202e") || strings.Contains(list, `href="javascript`) {
			t.Errorf("%q is not text", name)
		}
		_, rest, _ := strings.Cut(list, `href="run/`)
		link, _, _ := strings.Cut(rest, `"`)
		w := ask(t, f, "/run/"+link)
		if w.Code != 200 || !strings.Contains(w.Body.String(), "Where this is from") {
			t.Errorf("%q: its link %q: status %d: %.200s", name, link, w.Code, w.Body)
		}
	}
}

// TestPages makes no page twice, no more at a time than allowed, and keeps no more than
// there is room for.
func TestPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPages(2)
		made, at, most := map[string]int{}, 0, 0
		gate := make(chan struct{})
		get := func(ctx context.Context, name, state string) error {
			_, err := p.get(ctx, name, state, func(ctx context.Context) (doc.Doc, error) {
				p.mu.Lock()
				made[name+state]++
				at++
				most = max(most, at)
				p.mu.Unlock()
				defer func() { p.mu.Lock(); at--; p.mu.Unlock() }()
				select {
				case <-gate:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				if name == "fails" {
					return nil, errors.New("as it must")
				}
				return doc.Doc{doc.Heading(name)}, nil
			})
			return err
		}
		ctx, leave := context.WithCancel(t.Context())
		for range 3 {
			go get(ctx, "a", "1") //nolint:errcheck // its client has left
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		for range 5 {
			for _, name := range []string{"a", "b", "c"} {
				go get(t.Context(), name, "1") //nolint:errcheck // it cannot fail
			}
		}
		synctest.Wait()
		close(gate)
		synctest.Wait()
		if most != 2 || made["b1"] != 1 && made["b1"] != 2 {
			t.Errorf("%d pages were made at a time; made %v", most, made)
		}
		if err := get(t.Context(), "fails", ""); err == nil || p.find("fails", "") != nil {
			t.Error("an error is kept as a page")
		}
		if check(t, get(t.Context(), "a", "2")); p.find("a", "1") != nil || p.find("a", "2") == nil || p.find("b", "1") == nil {
			t.Error("of a name, the page of another state is kept")
		}
		p.keep(keptPage{"large", "", make([]byte, mostKept-1)})
		if p.find("large", "") == nil || p.find("b", "1") != nil {
			t.Error("more is kept than there is room for")
		}
		p.keep(keptPage{"too large", "", make([]byte, mostKept+1)})
		if len(p.kept) != 1 {
			t.Errorf("%d pages are kept", len(p.kept))
		}
	})
}
