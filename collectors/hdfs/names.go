package hdfs

import (
	"bytes"
	"fmt"
	"regexp"

	"heddle/collectors/hdfs/internal/hdfspb"
)

// hostName matches names and addresses of DataNodes. A DataNode chooses its
// name freely and the NameNode passes it on. Callers put names into files and
// commands, so any other form is refused.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_:][A-Za-z0-9._:-]{0,254}$`)

func checkHosts(nodes []*hdfspb.DatanodeInfo) error {
	for _, n := range nodes {
		if host := n.GetId().GetHostName(); host != "" && !hostName.MatchString(host) {
			return fmt.Errorf("the NameNode reports a DataNode with the host name %.80q: want letters, digits and ._:-", host)
		}
	}
	return nil
}

func checkBlocks(located *hdfspb.LocatedBlocks) error {
	for _, b := range located.GetBlocks() {
		if err := checkHosts(b.Locs); err != nil {
			return err
		}
	}
	return nil
}

// checkNames checks the names in the NameNode's listing of a folder, since
// callers join them to paths. If the listed path is a file, its entry has no
// name.
func checkNames(entries []*hdfspb.FileStatus) error {
	for _, e := range entries {
		if name := e.Path; bytes.ContainsAny(name, "/\x00") || string(name) == "." || string(name) == ".." {
			return fmt.Errorf("the NameNode lists %.80q, which is not allowed as a file name", name)
		}
		if err := checkBlocks(e.GetLocations()); err != nil {
			return err
		}
	}
	return nil
}
