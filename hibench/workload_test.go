package hibench

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"
)

// TestSpecValidate has testdata/specs.yaml say which workloads are accepted, and why others are not.
func TestSpecValidate(t *testing.T) {
	text := must(os.ReadFile("testdata/specs.yaml"))
	var list []struct {
		Name, Error string
		Spec        Spec
	}
	if err := yaml.Load(text, &list, yaml.WithKnownFields()); err != nil || len(list) < 70 {
		t.Fatalf("%d workloads, %v", len(list), err)
	}
	for _, c := range list {
		err := c.Spec.Validate()
		wantError(t, err, c.Error)
	}
}

// Every map of a valid spec writes something, together no more than the size.
func TestSizes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Spec{
			Workload:  rapid.SampledFrom(Workloads()).Draw(t, "workload"),
			SizeBytes: rapid.Int64Range(1, 1<<45).Draw(t, "size"),
			Maps:      rapid.IntRange(0, 10_000).Draw(t, "maps"),
		}
		if s.Validate() != nil {
			return
		}
		s = s.withDefaults()
		unit := workloads[s.Workload].unitBytes
		if b := s.bytes(); b > s.SizeBytes || b <= s.SizeBytes-unit || s.dataSize()/int64(s.Maps) < 1 {
			t.Errorf("%+v: %d bytes", s, b)
		}
	})
}

// Data of two shapes never share a folder; what does not shape it is not in the name.
func TestDataName(t *testing.T) {
	name := func(settings ...Setting) string {
		return Spec{Workload: "sort", Profile: "small", Maps: 4, Settings: settings}.dataName()
	}
	if got := name(Setting{"mapreduce.job.queuename", "q"}); got != "small-4maps" {
		t.Errorf("got %s, want small-4maps", got)
	}
	a, b := Setting{"dfs.blocksize", "1"}, Setting{"dfs.replication", "2"}
	if name(a, b) != name(b, a) {
		t.Error("the order of settings matters")
	}
	if name(a) == name(b) || name(a) == name() || name(a) == name(Setting{"dfs.blocksize", "0"}, b) {
		t.Errorf("names %s, %s, %s are not all different", name(a), name(b), name())
	}
	if name(Setting{"dfs.blocksize", "0"}, a) != name(a) {
		t.Error("an earlier value of the same setting matters")
	}
}

func TestSettings(t *testing.T) {
	got := Settings(map[string]string{"b": "2", "a": "1"})
	if diff := cmp.Diff([]Setting{{"a", "1"}, {"b", "2"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestOverlay(t *testing.T) {
	base, folder := t.TempDir(), openRoot(t, t.TempDir())
	dir := filepath.Join(folder.Name(), "conf")
	write(t, filepath.Join(base, "mapred-site.xml"), "<configuration/>", 0o600)
	write(t, filepath.Join(base, "log4j.properties"), "log", 0o644)
	for range 2 { // again into the same folder
		mustDo(t, writeOverlay(folder, "conf", base, []Setting{{"a", "1"}}))
	}
	for _, name := range siteFiles {
		text := must(os.ReadFile(filepath.Join(dir, name)))
		included := strings.Contains(string(text), `<xi:include href="`+filepath.Join(base, name)+`"/>`)
		if included != (name == "mapred-site.xml") || !strings.Contains(string(text), "<name>a</name><value>1</value>") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "log4j.properties")); err != nil || string(text) != "log" {
		t.Errorf("log4j.properties: %q, %v", text, err)
	}
	wantError(t, writeOverlay(folder, "conf", filepath.Join(base, "none"), nil), "configuration of the cluster")
}

func TestOverlayRefusesFinalProperties(t *testing.T) {
	base := t.TempDir()
	write(t, filepath.Join(base, "yarn-site.xml"),
		"<configuration><property><name> a </name><value>1</value><final>true</final></property></configuration>", 0o644)
	write(t, filepath.Join(base, "core-site.xml"), "not for us", 0o644)
	for value, want := range map[string]string{"1": "", "2": "yarn-site.xml marks a as final with value 1"} {
		err := writeOverlay(openRoot(t, t.TempDir()), "conf", base, []Setting{{"b", "0"}, {"a", value}})
		wantError(t, err, want)
	}
}

// Any setting comes out of the XML as it went in.
func TestSiteXML(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		char := rapid.RuneFrom([]rune("ab<>&\"' é\n\t${}]]>"))
		want := []Setting{{rapid.StringOf(char).Draw(t, "name"), rapid.StringOf(char).Draw(t, "value")}}
		var got struct {
			Property []struct {
				Name  string `xml:"name"`
				Value string `xml:"value"`
			} `xml:"property"`
		}
		if err := xml.Unmarshal(siteXML("/conf/a b.xml", want), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Property) != 1 || got.Property[0].Name != want[0].Name || got.Property[0].Value != want[0].Value {
			t.Errorf("got %q, want %q", got.Property, want)
		}
	})
}
