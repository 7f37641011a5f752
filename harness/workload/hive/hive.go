// Package hive has the jars of Hive, the program that runs SQL queries as
// MapReduce jobs, for clusters whose file names no Hive.
//
// It does not run Hive; package hibench does.
package hive

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"heddle/harness/internal/mavenjars"
)

// version is the Hive version that is fetched from Maven Central. Later
// versions lack the command line there.
const version = "4.0.1"

//go:embed pom.xml jars.sha256
var files embed.FS

// Jars returns the folder with the jars of a Hive that runs queries with
// MapReduce and an embedded Derby database. If the user's cache folder lacks
// them, it fetches them from Maven Central, which takes about a minute. After a
// change of pom.xml, 'go generate' writes the list of their sums again.
//
//go:generate ../../internal/mavenjars/pin.sh . jars.sha256 dependency:copy-dependencies -DincludeScope=runtime
func Jars(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for Hive: %w; set XDG_CACHE_HOME, or name a Hive in the cluster file", err)
	}
	set := mavenjars.Set{Name: "Hive " + version}
	var perr error
	set.POM, err = files.ReadFile("pom.xml")
	set.Pins, perr = files.ReadFile("jars.sha256")
	if err = errors.Join(err, perr); err != nil {
		return "", err
	}
	jars := filepath.Join(cache, "heddle", "hive-"+version, "jars")
	return jars, set.Ensure(ctx, jars, func() {})
}
