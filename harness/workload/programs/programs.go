// Package programs has jars with programs that workloads run as MapReduce jobs, and
// that a cluster's Hadoop may lack.
//
// It does not run them; package hibench does. Hive's jars are in package hive.
package programs

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"heddle/harness/internal/mavenjars"
)

//go:embed pom.xml *.sha256 mahout
var files embed.FS

// HadoopTests returns the path of the jar with the tests of Hadoop's MapReduce
// client, among which are the programs of the workloads sleep and dfsioe. If the
// user's cache folder lacks it, it fetches it from Maven Central, and before that
// calls say with a text about it.
//
//go:generate ../../internal/mavenjars/pin.sh . tests.sha256 dependency:copy -Dartifact=org.apache.hadoop:hadoop-mapreduce-client-jobclient:3.4.2:jar:tests
func HadoopTests(ctx context.Context, say func(text string)) (string, error) {
	return jar(ctx, say, "hadoop-tests-3.4.2", "tests.sha256", "org.apache.hadoop:hadoop-mapreduce-client-jobclient:3.4.2:jar:tests", "hadoop-mapreduce-client-jobclient-3.4.2-tests.jar")
}

// Mahout returns the folder with the jars of Mahout's MapReduce programs, in the version
// of HiBench's. If the user's cache folder lacks them, it fetches them from Maven
// Central, and before that calls say with a text about it.
//
//go:generate ../../internal/mavenjars/pin.sh mahout jars.sha256 dependency:copy-dependencies -DincludeScope=runtime
func Mahout(ctx context.Context, say func(text string)) (string, error) {
	return ensure(ctx, say, "mahout-0.11.0", "mahout/pom.xml", "mahout/jars.sha256", mavenjars.Set{Name: "Mahout 0.11.0 (7 MB)"})
}

// jar returns the path of one jar, in a folder of the user's cache. Maven fetches it
// by the name artifact if the folder is not there.
func jar(ctx context.Context, say func(text string), folder, sums, artifact, name string) (string, error) {
	dir, err := ensure(ctx, say, folder, "pom.xml", sums, mavenjars.Set{Name: name, Goal: []string{"dependency:copy", "-Dartifact=" + artifact}})
	return filepath.Join(dir, name), err
}

// ensure returns a folder of the user's cache with jars, which Maven fetches if the folder
// is not there.
func ensure(ctx context.Context, say func(text string), folder, pom, sums string, set mavenjars.Set) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for %s: %w; set XDG_CACHE_HOME", set.Name, err)
	}
	var perr error
	set.POM, err = files.ReadFile(pom)
	set.Pins, perr = files.ReadFile(sums)
	if err = errors.Join(err, perr); err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "heddle", folder)
	return dir, set.Ensure(ctx, dir, func() { say("fetching " + set.Name + " with Maven, once") })
}
