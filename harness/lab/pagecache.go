package lab

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// programs are Java's and Hadoop's files, which the master's agent keeps in
// memory: workers drop page caches for cold reads, and would read their code
// again, some time, from disks that are slow for the sake of data.
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

// forgetBlocks drops what the page cache has of the blocks that workers store.
// Pages of an earlier start belong to control groups that are gone: no node's
// cache would count them, nor drop them, and reads would find them.
func (l *Lab) forgetBlocks() {
	for _, n := range l.workers() {
		_ = filepath.WalkDir(l.nodePath(n.name, "data"), func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // there is none yet
			}
			f, err := os.Open(path)
			if err != nil {
				return nil
			}
			defer f.Close()
			_ = f.Sync() // dirty pages stay
			forgetPages(f)
			return nil
		})
	}
}
