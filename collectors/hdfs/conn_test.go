package hdfs

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/collectors/hdfs/ipc"
)

func FuzzReadReply(f *testing.F) {
	f.Add(fileReply(5).frame())
	f.Add(exception("java.io.IOException").frame())
	f.Add(fakeReply{garbage: true}.frame())
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n"))
	f.Add([]byte{0x07, 0xff, 0xff, 0xff, 1, 2})
	f.Add([]byte{0xff, 0xff, 0xff, 0xfb, 1, 2})
	f.Add([]byte{0, 0, 0, 5, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Add(must(ipc.AppendFrame(nil, successHeader(), emptyEntries(1000))))
	f.Fuzz(func(t *testing.T, b []byte) {
		// An element of two bytes becomes a message of some 200.
		defer allocatesAtMost(t, 1<<20+500*len(b))()
		frame, err := ipc.ReadFrame(bufio.NewReader(bytes.NewReader(b)), ipc.MaxFrameBytes)
		if err != nil {
			return
		}
		if len(frame) == 0 || len(frame) > len(b)-4 {
			t.Fatalf("a frame of %d bytes from %d", len(frame), len(b))
		}
		header, body, err := ipc.ParseReply(frame)
		if err != nil {
			return
		}
		if header.CallId == nil || len(body) > len(frame) {
			t.Fatalf("header %v, body of %d bytes from %d", header, len(body), len(frame))
		}
		// What follows in a call must stand whatever the message holds.
		_ = remoteError("a:1", header).Error()
		for _, m := range []proto.Message{&hdfspb.GetListingResponse{}, &hdfspb.ListCachePoolsResponse{}} {
			if unmarshal(body, m) != nil {
				continue
			}
			if l, ok := m.(*hdfspb.GetListingResponse); ok {
				for _, s := range l.GetDirList().GetPartialListing() {
					fileOf("/", s)
				}
			}
		}
	})
}

// What is allocated for a frame follows the bytes that came of it.
func TestLongFrameIsNotTrusted(t *testing.T) {
	for _, came := range []int{0, 100, 1 << 20, 10 << 20} {
		frame := binary.BigEndian.AppendUint32(make([]byte, 0, 4+came), ipc.MaxFrameBytes)
		frame = append(frame, make([]byte, came)...)
		check := allocatesAtMost(t, 256<<10+10*came)
		if _, err := ipc.ReadFrame(bufio.NewReader(bytes.NewReader(frame)), ipc.MaxFrameBytes); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a frame cut after %d bytes: %v", came, err)
		}
		check()
	}
}

// Megabytes of empty messages would become gigabytes.
func TestManyMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := fakeReply{message: emptyEntries(maxMessages + 1)}
		c := fakeCluster{"a:1": active(func(fakeCall) fakeReply { return answer })}.client(t, "a:1")
		defer allocatesAtMost(t, 20*maxMessages)()
		_, err := c.Names(t.Context(), "/d")
		wantError(t, err, "NameNode a:1: answer to getListing not understood: more than 4194304 messages")
	})
}

// emptyEntries is a listing of n files of which nothing is said.
func emptyEntries(n int) proto.Message {
	const listing, file = 1, 1
	entry := protowire.AppendBytes(protowire.AppendTag(nil, file, protowire.BytesType), nil)
	return unknown(protowire.AppendBytes(protowire.AppendTag(nil, listing, protowire.BytesType), bytes.Repeat(entry, n)))
}

// unknown is a message of just these bytes.
func unknown(b []byte) proto.Message {
	m := &hdfspb.Empty{}
	m.ProtoReflect().SetUnknown(b)
	return m
}

func successHeader() proto.Message {
	return &hdfspb.ResponseHeader{CallId: proto.Uint32(1), Status: hdfspb.ResponseHeader_SUCCESS.Enum()}
}

// allocatesAtMost fails a test whose process has allocated more when the
// function that it returns is called.
func allocatesAtMost(t testing.TB, bytes int) (check func()) {
	before := allocated()
	return func() {
		if n := allocated() - before; n > uint64(bytes) {
			t.Errorf("%d bytes allocated, want at most %d", n, bytes)
		}
	}
}

// allocatedBy returns how many bytes the process allocated while it ran do.
func allocatedBy(do func()) uint64 {
	before := allocated()
	do()
	return allocated() - before
}

func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// The generated code is what protoc makes of the .proto files.
func TestGeneratedCodeIsCurrent(t *testing.T) {
	for _, tool := range []string{"protoc", "protoc-gen-go"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: needs protobuf-compiler and google.golang.org/protobuf/cmd/protoc-gen-go", tool)
		}
	}
	const dir = "collectors/hdfs/internal/hdfspb/"
	out := t.TempDir()
	cmd := exec.Command("protoc", "-I", "../..", "--go_out="+out, "--go_opt=paths=source_relative", dir+"ipc.proto", dir+"namenode.proto")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("protoc: %v\n%s", err, b)
	}
	for _, name := range []string{"ipc.pb.go", "namenode.pb.go"} {
		want, got := afterVersions(t, out+"/"+dir+name), afterVersions(t, "internal/hdfspb/"+name)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s is old, run go generate ./collectors/hdfs/internal/hdfspb (-protoc +committed)\n%s", name, d)
		}
	}
}

// afterVersions leaves out the head that names the tools' versions.
func afterVersions(t *testing.T, file string) []string {
	b := must(os.ReadFile(file))
	_, body, _ := strings.Cut(string(b), "\n// source: ")
	return strings.Split(body, "\n")
}
