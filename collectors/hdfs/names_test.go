package hdfs

import (
	"strings"
	"testing"
	"testing/synctest"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/collectors/hdfs/jobsplit"
)

// A host name that could be more than a name in a file or a command is refused,
// in whatever answer it stands.
func TestHostNames(t *testing.T) {
	for host, good := range map[string]bool{
		"n1.example.org": true, "node_1": true, "10.0.0.1": true, "fe80::1": true, "": true,
		"$(id)": false, "`id`": false, "a b": false, "n1\n": false, "n1;id": false, "'": false, "-v": false, "../x": false, "n\x1b[2J": false,
	} {
		t.Run(host, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				node := &hdfspb.DatanodeInfo{Id: &hdfspb.DatanodeID{HostName: host, DatanodeUuid: "u"}}
				blocks := located(1)
				blocks.Blocks[0].Locs[1].Id.HostName = host
				nn := active(func(c fakeCall) fakeReply {
					switch c.method {
					case "getDatanodeReport":
						return fakeReply{message: &hdfspb.GetDatanodeReportResponse{Nodes: []*hdfspb.DatanodeInfo{node}}}
					case "getListing":
						return fakeReply{message: &hdfspb.GetListingResponse{DirList: &hdfspb.DirectoryListing{
							PartialListing: []*hdfspb.FileStatus{{FileType: hdfspb.FileStatus_FILE, Locations: blocks}},
						}}}
					}
					return fakeReply{message: &hdfspb.GetBlockLocationsResponse{Locations: blocks}}
				})
				c := fakeCluster{"a:1": nn}.client(t, "a:1")
				_, reportErr := c.DataNodes(t.Context())
				_, splitErr := c.SplitLocations(t.Context(), []jobsplit.Split{{Path: "/f", Length: 1}})
				var listErr error
				for _, err := range c.Locations(t.Context(), "/f") {
					listErr = err
				}
				for call, err := range map[string]error{"DataNodes": reportErr, "SplitLocations": splitErr, "Locations": listErr} {
					if good && err != nil || !good && (err == nil || !strings.Contains(err.Error(), "host name")) {
						t.Errorf("%s with host %q: %v", call, host, err)
					}
				}
			})
		})
	}
}

// The names in a folder are joined to paths: one with a slash, or that leads
// upwards, is refused.
func TestListedNames(t *testing.T) {
	for name, good := range map[string]bool{
		"a": true, ".x..": true, "ü \n": true, "..": false, ".": false, "a/b": false, "../../etc/x": false, "a\x00": false,
	} {
		synctest.Test(t, func(t *testing.T) {
			nn := active(func(fakeCall) fakeReply {
				return fakeReply{message: &hdfspb.GetListingResponse{DirList: &hdfspb.DirectoryListing{
					PartialListing: []*hdfspb.FileStatus{{FileType: hdfspb.FileStatus_FILE, Path: []byte(name)}},
				}}}
			})
			names, err := fakeCluster{"a:1": nn}.client(t, "a:1").Names(t.Context(), "/folder")
			if good != (err == nil) {
				t.Errorf("%q: %q, %v", name, names, err)
			}
		})
	}
}
