// Package hdfspb holds the messages of Hadoop IPC version 9 and of the NameNode
// calls that collectors/hdfs makes. Field numbers are Hadoop's; names never
// travel, so the package name is ours and does not clash with other HDFS
// clients linked into the same program. Fields nobody reads are left out.
//
// The tests of collectors/hdfs fail when the generated code does not match the
// .proto files.
package hdfspb

//go:generate protoc -I ../../../.. --go_out=../../../.. --go_opt=paths=source_relative collectors/hdfs/internal/hdfspb/ipc.proto collectors/hdfs/internal/hdfspb/namenode.proto
