// Package hdfspb has the protobuf messages of Hadoop IPC version 9 and of the
// NameNode calls that collectors/hdfs makes, and the proofs to DataNodes. The field numbers are Hadoop's.
// Message names are never sent, so the protobuf package has a name of our own,
// which does not clash with other HDFS clients in the same program. Fields that
// nobody reads are left out.
//
// The tests of collectors/hdfs fail if the generated code does not match the
// .proto files.
package hdfspb

//go:generate protoc -I ../../../.. --go_out=../../../.. --go_opt=paths=source_relative collectors/hdfs/internal/hdfspb/ipc.proto collectors/hdfs/internal/hdfspb/namenode.proto
