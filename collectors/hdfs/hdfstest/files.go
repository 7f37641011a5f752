package hdfstest

import (
	"maps"
	"path"
	"slices"

	"google.golang.org/protobuf/proto"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/internal/hdfspb"
)

// list returns the fake NameNode's answer to the call getListing: the file at
// the requested path, or the files directly in that folder, with their blocks.
// It returns nil for other calls, and if there are no such files.
func (nn *NameNode) list(method string, request []byte) *hdfspb.GetListingResponse {
	asked := &hdfspb.GetListingRequest{}
	if method != "getListing" || proto.Unmarshal(request, asked) != nil {
		return nil
	}
	found := &hdfspb.DirectoryListing{}
	for _, p := range slices.Sorted(maps.Keys(nn.files)) {
		switch asked.GetSrc() {
		case p:
			found.PartialListing = append(found.PartialListing, status("", nn.files[p]))
		case path.Dir(p):
			found.PartialListing = append(found.PartialListing, status(path.Base(p), nn.files[p]))
		}
	}
	if len(found.PartialListing) == 0 {
		return nil
	}
	return &hdfspb.GetListingResponse{DirList: found}
}

func status(name string, f hdfs.File) *hdfspb.FileStatus {
	s := &hdfspb.FileStatus{
		FileType: hdfspb.FileStatus_FILE, Path: []byte(name), FileId: f.ID, Length: uint64(f.Length), BlockSize: uint64(f.BlockSize),
		BlockReplication: uint32(f.Replication), Owner: f.Owner,
		Permission: &hdfspb.FileStatus_Permission{Perm: uint32(f.Mode.Perm())},
		Locations:  &hdfspb.LocatedBlocks{FileLength: uint64(f.Length)},
	}
	if !f.Modified.IsZero() {
		s.ModificationTime = uint64(f.Modified.UnixMilli())
	}
	for _, b := range f.Blocks {
		located := &hdfspb.LocatedBlock{
			B: &hdfspb.ExtendedBlock{BlockId: b.ID, NumBytes: uint64(b.Length)}, Offset: uint64(b.Offset),
		}
		for _, r := range b.Replicas {
			located.Locs = append(located.Locs, &hdfspb.DatanodeInfo{Location: r.Rack, Id: &hdfspb.DatanodeID{HostName: r.Host, IpAddr: r.IP}})
			located.IsCached = append(located.IsCached, r.Cached)
		}
		s.Locations.Blocks = append(s.Locations.Blocks, located)
	}
	return s
}
