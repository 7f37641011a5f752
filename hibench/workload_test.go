package hibench

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSpecValidate(t *testing.T) {
	for name, tt := range map[string]struct {
		spec Spec
		want string // in the error; "": none
	}{
		"profile":           {Spec{Workload: "sort", Profile: "bigdata"}, ""},
		"size":              {Spec{Workload: "terasort", SizeBytes: 800}, ""},
		"unknown workload":  {Spec{Workload: "pi", Profile: "tiny"}, `unknown workload "pi": want aggregation, bayes, dfsioe-read, dfsioe-write, join, kmeans, scan, sleep, sort, terasort, wordcount, grep, script`},
		"script":            {Spec{Workload: "script", Script: "ml/kmeans", Profile: "tiny"}, ""},
		"script elsewhere":  {Spec{Workload: "script", Script: "../ml/kmeans", Profile: "tiny"}, "want the folder of a workload below bin/workloads"},
		"script of a size":  {Spec{Workload: "script", Script: "ml/kmeans", SizeBytes: 8}, "ml/kmeans: its size is a profile (tiny, "},
		"sort by a script":  {Spec{Workload: "sort", Script: "ml/kmeans", Profile: "tiny"}, "it has no script; only script has"},
		"profile of kmeans": {Spec{Workload: "kmeans", Profile: "tiny"}, "want a size in bytes"},
		"size of kmeans":    {Spec{Workload: "kmeans", SizeBytes: 8}, ""},
		"unknown profile":   {Spec{Workload: "sort", Profile: "medium"}, `unknown profile "medium": want tiny, small, large, huge, gigantic, bigdata`},
		"no size":           {Spec{Workload: "sort"}, "want a profile (tiny, "},
		"two sizes":         {Spec{Workload: "sort", Profile: "tiny", SizeBytes: 1}, "want one of them"},
		"negative size":     {Spec{Workload: "sort", SizeBytes: -5}, "-5 bytes are too few"},
		"too few rows":      {Spec{Workload: "terasort", SizeBytes: 799}, "700 bytes are too few for 8 maps: want at least 800"},
		"too many maps":     {Spec{Workload: "sort", Profile: "tiny", Maps: 32_001}, "too few for 32001 maps"},
		"tables":            {Spec{Workload: "join", Visits: 8}, ""},
		"tables by profile": {Spec{Workload: "scan", Profile: "bigdata"}, ""},
		"table of bytes":    {Spec{Workload: "join", SizeBytes: 1000}, "want visits"},
		"visits of a text":  {Spec{Workload: "sort", SizeBytes: 1000, Visits: 5}, "reads no tables"},
		"too few visits":    {Spec{Workload: "join", Visits: 7}, "7 visits are too few for 8 maps"},
		"pages alone":       {Spec{Workload: "join", Pages: 7}, "no size; want a profile (tiny, "},
		"profile and pages": {Spec{Workload: "join", Profile: "tiny", Pages: 7}, "want one of them"},
		"negative visits":   {Spec{Workload: "join", Visits: -7}, "-7 visits"},
		"tag of Hive":       {Spec{Workload: "join", Visits: 8, Settings: []Setting{{"hive.query.tag", "x"}}}, "tag of a run"},
		"negative maps":     {Spec{Workload: "sort", Profile: "tiny", Maps: -1}, "-1 maps"},
		"negative reduces":  {Spec{Workload: "sort", Profile: "tiny", Reduces: -1}, "-1 reduces"},
		"tag as setting":    {Spec{Workload: "sort", Profile: "tiny", Settings: []Setting{{"mapreduce.job.tags", "x"}}}, "tag of a run"},
		"maps as setting":   {Spec{Workload: "sort", Profile: "tiny", Settings: []Setting{{"mapreduce.job.maps", "4"}}}, "set the number of maps"},
		"no name":           {Spec{Workload: "sort", Profile: "tiny", Settings: []Setting{{"", "4"}}}, "want a property name"},
		"name with =":       {Spec{Workload: "sort", Profile: "tiny", Settings: []Setting{{"a=b", "4"}}}, "want a property name"},
		"name over 2 lines": {Spec{Workload: "sort", Profile: "tiny", Settings: []Setting{{"a\nb", "4"}}}, "want a property name"},
		"value not text":    {Spec{Workload: "sort", Profile: "tiny", Settings: []Setting{{"a", "\x01"}}}, "want plain text"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tt.spec.Validate()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error %v; want one with %q", err, tt.want)
			}
		})
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
		if err := writeOverlay(folder, "conf", base, []Setting{{"a", "1"}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range siteFiles {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		included := strings.Contains(string(text), `<xi:include href="`+filepath.Join(base, name)+`"/>`)
		if included != (name == "mapred-site.xml") || !strings.Contains(string(text), "<name>a</name><value>1</value>") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "log4j.properties")); err != nil || string(text) != "log" {
		t.Errorf("log4j.properties: %q, %v", text, err)
	}
	if err := writeOverlay(folder, "conf", filepath.Join(base, "none"), nil); err == nil || !strings.Contains(err.Error(), "configuration of the cluster") {
		t.Errorf("without a configuration: %v", err)
	}
}

func TestOverlayRefusesFinalProperties(t *testing.T) {
	base := t.TempDir()
	write(t, filepath.Join(base, "yarn-site.xml"), "<configuration><property><name> a </name><value>1</value><final>true</final></property></configuration>", 0o644)
	write(t, filepath.Join(base, "core-site.xml"), "not for us", 0o644)
	for value, want := range map[string]string{"1": "", "2": "yarn-site.xml marks a as final with value 1"} {
		err := writeOverlay(openRoot(t, t.TempDir()), "conf", base, []Setting{{"b", "0"}, {"a", value}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("a=%s: %v; want %q", value, err, want)
		}
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
