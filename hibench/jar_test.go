package hibench

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writeJar writes a jar of the given files and returns its path.
func writeJar(t *testing.T, files map[string]string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, content := range files {
		f := must(z.Create(name))
		must(f.Write([]byte(content)))
	}
	mustDo(t, z.Close())
	file := filepath.Join(t.TempDir(), "my.jar")
	write(t, file, b.String(), 0o644)
	return file
}

const manifest = "META-INF/MANIFEST.MF"

func TestJarValidate(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "text.jar")
	write(t, text, "no zip", 0o644)
	plain := writeJar(t, map[string]string{
		"org/example/Words.class": "",
		manifest:                  "Manifest-Version: 1.0\r\n\r\nName: a\r\nMain-Class: not.This\r\n",
	})
	named := writeJar(t, map[string]string{manifest: "Manifest-Version: 1.0\nmain-class: org.exam\n ple.Driver\n"})
	for _, x := range []struct {
		name string
		jar  Jar
		want string // of the error; empty for none
	}{
		{"a class of the jar", Jar{Path: plain, Main: "org.example.Words"}, ""},
		{"the manifest's class", Jar{Path: named, Args: []string{"wordcount"}}, ""},
		{"the manifest's class, said twice", Jar{Path: named, Main: "org.example.Driver"}, ""},
		{"no file", Jar{Path: filepath.Join(folder, "none.jar")}, "no such file"},
		{"a folder", Jar{Path: folder}, "no regular file"},
		{"a text", Jar{Path: text, Main: "A"}, "is no jar"},
		{"no main", Jar{Path: plain}, "names no Main-Class; give the class with main"},
		{
			"another main than the manifest's",
			Jar{Path: named, Main: "org.example.Words"},
			"names the Main-Class org.example.Driver, which Hadoop runs",
		},
		{"a main that is not there", Jar{Path: plain, Main: "org.example.Sort"}, "has no class org.example.Sort"},
		{"a main that is no name", Jar{Path: plain, Main: "-Dx=y"}, "want the name of a Java class"},
		{
			"a manifest's main that is no name",
			Jar{Path: writeJar(t, map[string]string{manifest: "Main-Class: -Dx=y\n"})},
			"is not the name of a class",
		},
		{
			"a long manifest",
			Jar{Path: writeJar(t, map[string]string{manifest: strings.Repeat("x", 2*maxManifestBytes)}), Main: "A"},
			"has no class A",
		},
		{"a tag", Jar{Path: named, Args: []string{"-D", "mapreduce.job.tags=x"}}, "the tag of a run is set by the run itself"},
		{"a tag in one word", Jar{Path: named, Args: []string{"-Dmapreduce.job.tags=x"}}, "the tag of a run is set by the run itself"},
		{
			"a tag among the settings",
			Jar{Path: named, Settings: []Setting{{"mapreduce.job.tags", "x"}}},
			"the tag of a run is set by the run itself",
		},
		{"a control character", Jar{Path: named, Settings: []Setting{{"a", "\x00"}}}, "XML allows no others"},
		{"a zero byte", Jar{Path: named, Args: []string{"a\x00"}}, "want no zero byte"},
		{"many arguments", Jar{Path: named, Args: make([]string, maxArgs+1)}, "want at most"},
		{"reduces", Jar{Path: named, Settings: []Setting{{"mapreduce.job.reduces", "2"}}}, ""},
	} {
		err := x.jar.Validate()
		if (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
}

// TestRunJar: Hadoop is called as the command hadoop jar would be, with folders in
// place of the words for them, and the tag and the settings in files.
func TestRunJar(t *testing.T) {
	args := []string{"--from={input}", "a b", "{output}"}
	for _, x := range []struct {
		name  string
		files map[string]string
		main  string
		want  []string // behind the jar
	}{
		{"its main class", map[string]string{"A.class": ""}, "A", []string{"A", "--from=/in", "a b", "/bench/output-heddle-x-1"}},
		{"the manifest's", map[string]string{manifest: "Main-Class: B\n"}, "", []string{"--from=/in", "a b", "/bench/output-heddle-x-1"}},
		{
			"the manifest's, said twice",
			map[string]string{manifest: "Main-Class: B\n"},
			"B",
			[]string{"--from=/in", "a b", "/bench/output-heddle-x-1"},
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			h := newFakeHadoop(t)
			env := h.env(t)
			file := writeJar(t, x.files)
			r := must(NewJar(env, Jar{Path: file, Main: x.main, Args: args, Settings: []Setting{{"mapreduce.job.reduces", "2"}}}))
			mustDo(t, r.Run(t.Context(), "heddle-x-1", "/in", Setting{"a", "b"}))
			want := slices.Concat([]string{"--config", "$RUN/heddle-x-1/conf", "jar", file}, x.want)
			if got := h.jobs(t, env); len(got) != 1 || !slices.Equal(got[0], want) {
				t.Errorf("calls %q, want %q", got, want)
			}
			site, err := os.ReadFile(filepath.Join(env.RunDir, "heddle-x-1", "conf", "mapred-site.xml"))
			for _, part := range []string{
				"<name>mapreduce.job.tags</name><value>heddle-x-1<", "<name>mapreduce.job.reduces</name><value>2<",
				"<name>a</name><value>b<",
			} {
				if err != nil || !strings.Contains(string(site), part) {
					t.Errorf("mapred-site.xml: %v: no %s", err, part)
				}
			}
			h.does(t, "echo Exception in thread main >&2; exit 3\n")
			wantError(t, r.Run(context.Background(), "heddle-x-2", "/in"), "ended with status 3", "Exception in thread main")
		})
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte("Main-Class: a\n b\n"))
	f.Add([]byte("\r\n\r\nMain-Class:"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, err := z.Create(manifest)
		if err == nil {
			_, err = w.Write(text)
		}
		if err = errors.Join(err, z.Close()); err != nil {
			t.Fatal(err)
		}
		r := must(zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len())))
		if name, err := mainClass(r); err == nil && name != "" && !className.MatchString(name) {
			t.Errorf("%q names %q", text, name)
		}
	})
}
