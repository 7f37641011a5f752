package hdfs

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"heddle/collectors/hdfs/internal/hdfspb"
)

func FuzzReadReply(f *testing.F) {
	f.Add(fileReply(5).frame())
	f.Add(exception("java.io.IOException").frame())
	f.Add(fakeReply{garbage: true}.frame())
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n"))
	f.Add([]byte{0x07, 0xff, 0xff, 0xff, 1, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := readFrame(bufio.NewReader(bytes.NewReader(b)))
		if err != nil {
			return
		}
		if len(frame) == 0 || len(frame) > len(b)-4 {
			t.Fatalf("a frame of %d bytes from %d", len(frame), len(b))
		}
		header, body, err := parseReply(frame)
		if err != nil {
			return
		}
		if header.CallId == nil || len(body) > len(frame) {
			t.Fatalf("header %v, body of %d bytes from %d", header, len(body), len(frame))
		}
		// What follows in a call must stand whatever the message holds.
		_ = remoteError("m", "a:1", header).Error()
		for _, m := range []proto.Message{&hdfspb.GetListingResponse{}, &hdfspb.ListCacheDirectivesResponse{}} {
			if proto.Unmarshal(body, m) != nil {
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

// A length that promises much does not make us allocate much.
func TestLongFrameIsNotTrusted(t *testing.T) {
	frame := binary.BigEndian.AppendUint32(nil, maxFrameBytes)
	frame = append(frame, make([]byte, 100)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := readFrame(bufio.NewReader(bytes.NewReader(frame))); err == nil {
		t.Error("a cut frame is taken")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes allocated for a frame of 100", n)
	}
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
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(b), "\n// source: ")
	return strings.Split(body, "\n")
}
