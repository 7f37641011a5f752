// Package programs has jars with programs that workloads run as MapReduce jobs, and
// that a cluster's Hadoop may lack: Hive, Mahout, and the tests of Hadoop's client.
//
// It does not run them; package hibench does.
package programs

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"heddle/harness/internal/mavenjars"
	"heddle/hibench"
)

// After a change of a pom.xml, 'go generate' writes the list of its jars' sums again.
//
//go:embed pom.xml *.sha256 mahout hive
//go:generate ../../internal/mavenjars/pin.sh . tests.sha256 dependency:copy -Dartifact=org.apache.hadoop:hadoop-mapreduce-client-jobclient:3.4.2:jar:tests
//go:generate ../../internal/mavenjars/pin.sh mahout jars.sha256 dependency:copy-dependencies -DincludeScope=runtime
//go:generate ../../internal/mavenjars/pin.sh hive jars.sha256 dependency:copy-dependencies -DincludeScope=runtime
var files embed.FS

const testsJar = "hadoop-mapreduce-client-jobclient-3.4.2-tests.jar"

// sets has the jars of each program: what they are, their folder in the user's cache,
// what Maven is told and their sums. Hive after 4.0.1 lacks its command line in Maven
// Central; Mahout's release is HiBench's.
var sets = map[hibench.Program]struct {
	name, folder, pom, sums string
	goal                    []string
}{
	hibench.Hive:   {"Hive 4.0.1 (97 MB)", "hive-4.0.1/jars", "hive/pom.xml", "hive/jars.sha256", nil},
	hibench.Mahout: {"Mahout 0.11.0 (8 MB)", "mahout-0.11.0/jars", "mahout/pom.xml", "mahout/jars.sha256", nil},
	hibench.Tests: {
		testsJar, "hadoop-tests-3.4.2", "pom.xml", "tests.sha256",
		[]string{"dependency:copy", "-Dartifact=org.apache.hadoop:hadoop-mapreduce-client-jobclient:3.4.2:jar:tests"},
	},
}

// Jars returns the folder with the jars of a program; for hibench.Tests, the path of the
// one jar. If the user's cache folder lacks them, it fetches them from Maven Central,
// and before that calls say with a text about it.
func Jars(ctx context.Context, p hibench.Program, say func(text string)) (string, error) {
	set := sets[p]
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for %s: %w; set XDG_CACHE_HOME", set.name, err)
	}
	pom, err := files.ReadFile(set.pom)
	pins, perr := files.ReadFile(set.sums)
	if err = errors.Join(err, perr); err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "heddle", filepath.FromSlash(set.folder))
	jars := mavenjars.Set{Name: set.name, POM: pom, Pins: pins, Goal: set.goal}
	err = jars.Ensure(ctx, dir, func() { say("fetching " + set.name + " with Maven, once") })
	if p == hibench.Tests {
		dir = filepath.Join(dir, testsJar)
	}
	return dir, err
}
