package lab

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPreflightNamesWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	err := Preflight(Default())
	var missing *MissingError
	if !errors.As(err, &missing) {
		t.Fatalf("error %v, want a *MissingError", err)
	}
	for _, pkg := range []string{"default-jre-headless", "maven", "iproute2"} {
		if !slices.Contains(missing.Packages(), pkg) || !strings.Contains(err.Error(), pkg) {
			t.Errorf("%v does not name %s", err, pkg)
		}
	}
	if os.Geteuid() != 0 && !strings.Contains(err.Error(), "root") {
		t.Errorf("%v does not say that it needs root", err)
	}
	c := Default()
	c.HadoopHome = "/opt/hadoop"
	if errors.As(Preflight(c), &missing); slices.Contains(missing.Packages(), "maven") {
		t.Error("Maven is asked for where Hadoop is unpacked already")
	}
}

// TestPreflightOfASecuredLab: what the realm needs is asked for only where there is one.
func TestPreflightOfASecuredLab(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	c := Default()
	var missing *MissingError
	if errors.As(Preflight(c), &missing); strings.Contains(missing.Error(), "krb5") {
		t.Errorf("%v is asked of a lab that is not secured", missing)
	}
	c.Kerberos = true
	if errors.As(Preflight(c), &missing); !strings.Contains(missing.Error(),
		"kinit: a lab with --kerberos has a Kerberos realm of its own (Debian package krb5-user)") {
		t.Errorf("%v does not say what kinit is for and where it comes from", missing)
	}
}

func TestJavaVersion(t *testing.T) {
	for version, least := range map[string]int{"1.8.0_402": 8, "11.0.2": 11, "17.0.15": 17, "24": 24} {
		home := fakeRoot(t, map[string]string{"bin/java": "", "release": "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"" + version + "\"\n"})
		t.Setenv("JAVA_HOME", home)
		for _, r := range releases {
			ok := least >= r.leastJava && least < 24
			if got, err := javaHome(r); (err == nil) != ok || ok && got != home {
				t.Errorf("Hadoop %s on Java %s: %q, error %v", r.version, version, got, err)
			}
		}
	}
}

func TestUnpackedDistribution(t *testing.T) {
	home := fakeRoot(t, map[string]string{
		"share/hadoop/common/hadoop-common-3.4.1.jar":                   "",
		"share/hadoop/common/lib/guava.jar":                             "",
		"share/hadoop/hdfs/hadoop-hdfs-3.4.1.jar":                       "",
		"share/hadoop/yarn/lib/guice.jar":                               "",
		"share/hadoop/mapreduce/hadoop-mapreduce-examples-3.4.1.jar":    "",
		"share/hadoop/mapreduce/sources/hadoop-mapreduce-examples.html": "",
	})
	d := must(unpacked(home, "/cache"))
	want := strings.Join([]string{"common/lib/*", "common/*", "hdfs/*", "yarn/lib/*", "mapreduce/*"}, ":"+home+"/share/hadoop/")
	if d.classpath != home+"/share/hadoop/"+want || d.cache != "/cache/hadoop-3.4.1-local" ||
		filepath.Base(d.examples) != "hadoop-mapreduce-examples-3.4.1.jar" {
		t.Errorf("got %+v", d)
	}
	wantError(t, errOf(unpacked(t.TempDir(), "/cache")), "--hadoop-home")
}

func TestClassListIsWhole(t *testing.T) {
	list := must(classList())
	for name, d := range jvms {
		if slices.Contains([]daemon{failoverController, journalNode, zooKeeper}, name) {
			continue // the list is of a lab with one master
		}
		if !strings.Contains(string(list), strings.ReplaceAll(d.main, ".", "/")+" ") &&
			!strings.Contains(string(list), strings.ReplaceAll(d.main, ".", "/")+"\n") {
			t.Errorf("no %s in the class list; run TestRecordClasses with -record", d.main)
		}
	}
}

func TestArchiveKeyFollowsTheJars(t *testing.T) {
	root := fakeRoot(t, map[string]string{"jars/a.jar": "a", "java/release": "x"})
	d := distribution{classpath: root + "/jars/*"}
	before := must(archiveKey(d, root+"/java"))
	mustDo(t, os.WriteFile(root+"/jars/a.jar", []byte("other"), 0o644))
	after, err := archiveKey(d, root+"/java")
	if err != nil || before == after {
		t.Errorf("key %s before and %s after a jar changed, error %v", before, after, err)
	}
}
