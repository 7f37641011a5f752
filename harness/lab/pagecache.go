package lab

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// programs returns the paths of Java's and Hadoop's files. The agent on the
// master keeps these files in memory. Otherwise a worker that drops its page
// cache would have to read program code again from its disk, whose rate limit
// is meant for data.
func (l *Lab) programs() []string {
	paths := []string{l.Java}
	for jars := range strings.SplitSeq(l.Classpath, ":") {
		paths = append(paths, strings.TrimSuffix(jars, "/*"))
	}
	if l.Archive != "" {
		paths = append(paths, l.Archive)
	}
	return paths
}

// forgetBlocks removes the workers' HDFS blocks from the page cache. Cached
// pages from an earlier start of the lab belong to deleted control groups: no
// node counts or drops them, yet reads would be served from them.
func (l *Lab) forgetBlocks() {
	for _, n := range l.workers() {
		_ = filepath.WalkDir(l.nodePath(n.name, "data"), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // go on: this is a folder, or the data folder is missing because the worker's DataNode has no blocks yet
			}
			f, err := os.Open(path)
			if err != nil {
				return nil
			}
			defer f.Close()
			_ = f.Sync() // write the file to disk first, as only pages already written can be removed from the page cache
			forgetPages(f)
			return nil
		})
	}
}
