package hdfs

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/encoding/protowire"
)

// TestFilesFromADataNode reads a file from DataNodes that do as they should,
// and from some that do not: none makes the library panic, or allocate what
// did not come.
func TestFilesFromADataNode(t *testing.T) {
	read := readFrom(t)
	for name, c := range map[string]struct {
		stream []byte
		says   string // empty: the content is read
	}{
		"as it should be": {stream: join(readAnswer(512, 0), packet(content[:1000]), packet(content[1000:]), packet(nil))},
		"one message of 32 GiB": {
			binary.AppendUvarint(nil, 32<<30-1), "DataNode 10.0.0.9:9866: announced a message of 34359738367 bytes; want at most 1048576",
		},
		"a negative length of data": {
			join(readAnswer(512, 0), header(4+4, -1), make([]byte, 4)), "announced -1 bytes of data",
		},
		"2 GiB of data": {
			join(readAnswer(512, 0), header(2<<30-1, 2<<30-1)), "announced a packet of 2147483647 bytes; want 4 to 16777216",
		},
		"2 GiB of data in a small packet": {
			join(readAnswer(1, 0), header(100, 2<<30-1)), "which does not match 2147483647 bytes of data with checksums",
		},
		"a negative packet":           {join(readAnswer(512, 0), header(-1, 10)), "announced a packet of -1 bytes"},
		"no bytes between checksums":  {join(readAnswer(0, 0), packet(content)), "announced a checksum for each 0 bytes"},
		"begins before the block":     {join(readAnswer(512, 1<<63), packet(content)), "from byte -9223372036854775808 on"},
		"ends early":                  {join(readAnswer(512, 0), packet(content[:1000]), packet(nil)), "ended before the length"},
		"closes early":                {join(readAnswer(512, 0), packet(content[:1000])), "unexpected EOF"},
		"a header that is no message": {join(readAnswer(512, 0), []byte{0, 0, 0, 4, 0, 1, 0xff}), "DataNode 10.0.0.9:9866"},
	} {
		t.Run(name, func(t *testing.T) {
			check := allocatesAtMost(t, 2<<20)
			got, err := read(c.stream)
			check()
			wantRead(t, got, err, c.says)
		})
	}
}

// wantRead fails the test unless a read gave the content, or an error that says what it
// should say, if that is not empty.
func wantRead(t *testing.T, got []byte, err error, says string) {
	t.Helper()
	switch {
	case says == "" && (err != nil || !bytes.Equal(got, content)):
		t.Errorf("read %d bytes, %v; want the %d written", len(got), err, len(content))
	case says != "" && (err == nil || !strings.Contains(err.Error(), says)):
		t.Errorf("error %v, want one that says %q", err, says)
	}
}

// A read does not wait for ever for a DataNode that says nothing.
func TestSilentDataNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := readFrom(t)
		start := time.Now()
		_, err := read(nil)
		if err == nil || !strings.Contains(err.Error(), "DataNode 10.0.0.9:9866") || time.Since(start) != dataNodeSilence {
			t.Errorf("after %v: %v, want an error after %v", time.Since(start), err, dataNodeSilence)
		}
	})
}

// FuzzDataNode: whatever a DataNode sends, a read ends, and allocates little. What the
// process allocates for an earlier input meanwhile counts too, so a read that seems to
// allocate much is measured again.
func FuzzDataNode(f *testing.F) {
	f.Add(join(readAnswer(512, 0), packet(content), packet(nil)))
	f.Add(join(readAnswer(512, 0), packet(nil)))
	f.Add(join(readAnswer(1, 0), header(100, 2<<30-1)))
	f.Add(binary.AppendUvarint(nil, 32<<30-1))
	read := readFrom(f)
	f.Fuzz(func(t *testing.T, stream []byte) {
		if stream == nil {
			stream = []byte{}
		}
		most, allocated := uint64(4<<20+10*len(stream)), uint64(math.MaxUint64)
		for range 3 {
			if allocated > most {
				allocated = min(allocated, allocatedBy(func() {
					if got, err := read(stream); err == nil && len(got) != len(content) {
						t.Errorf("read %d bytes of %d without an error", len(got), len(content))
					}
				}))
			}
		}
		if allocated > most {
			t.Errorf("%d bytes allocated, want at most %d", allocated, most)
		}
	})
}

// TestFilesFromANameNode: the library allocates no frame that has not come.
func TestFilesFromANameNode(t *testing.T) {
	for announced, want := range map[string]string{
		"\x7f\xff\xff\xff": "NameNode a:1: announced an answer of 2147483647 bytes, above the 134217728",
		"\xff\xff\xff\xfb": "NameNode a:1: announced an answer of -5 bytes, a negative length",
		"\x08\x00\x00\x00": "NameNode a:1: connection lost: unexpected EOF",
	} {
		nn := &fakeNameNode{raw: func(c net.Conn) {
			for range 2 { // writes: as whom, and the first call
				c.Read(make([]byte, 4096))
			}
			io.WriteString(c, announced+"ab")
		}}
		check := allocatesAtMost(t, 2<<20)
		_, err := fakeCluster{"a:1": nn}.client(t, "a:1").Files(t.Context())
		check()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one that says %q", announced, err, want)
		}
	}
}

// content is of the file that readFrom reads.
// content has a length of which a reader with a growing buffer takes the last
// chunk in two parts: the library then reads on before it hands out the second.
var content = bytes.Repeat([]byte("0123456789abcdef"), 100)[:1500]

// readFrom returns what reads a file of one block, of which the only replica's
// DataNode answers with stream and closes; with nil, it says nothing.
func readFrom(t testing.TB) (read func(stream []byte) ([]byte, error)) {
	block := message(
		1, message(1, "pool", 2, 7, 3, 1, 4, len(content)), 2, 0,
		3, message(1, message(1, "10.0.0.9", 2, "worker", 3, "uuid", 4, 9866, 5, 0, 6, 0)),
		4, 0, 5, message(1, "", 2, "", 3, "", 4, ""),
	)
	answers := map[string][]byte{
		"getServerDefaults": message(1, message(1, 1<<27, 2, 512, 3, 65536, 4, 1, 5, 4096)),
		"getFileInfo": message(1, message(1, 2, 2, "f", 3, len(content), 4, message(1, 0o644), 5, "o", 6, "g", 7, 0, 8, 0,
			10, 1, 11, 1<<27)),
		"getBlockLocations": message(1, message(1, len(content), 2, block, 3, 0, 5, 1)),
		"renewLease":        nil,
	}
	nn := active(func(c fakeCall) fakeReply {
		answer, ok := answers[c.method]
		if !ok {
			panic("asked for " + c.method)
		}
		return fakeReply{message: unknown(answer)}
	})
	var stream []byte
	dn := &fakeNameNode{raw: func(c net.Conn) {
		sent := stream
		buf := make([]byte, 64<<10)
		if _, err := c.Read(buf); err == nil { // the request comes in one write
			c.Write(sent)
		}
		if sent == nil {
			io.Copy(io.Discard, c)
		}
	}}
	client := fakeCluster{"a:1": nn, "10.0.0.9:9866": dn}.client(t, "a:1")
	var once sync.Once
	var files *colinmarc.Client
	ctx := t.Context()
	return func(s []byte) ([]byte, error) {
		once.Do(func() { files = must(client.Files(ctx)) })
		stream = s
		return files.ReadFile("/f")
	}
}

// message is a protobuf message of field numbers and their values.
func message(fields ...any) []byte {
	var b []byte
	for i := 0; i < len(fields); i += 2 {
		number := protowire.Number(fields[i].(int))
		switch v := fields[i+1].(type) {
		case int:
			b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(v))
		case uint64:
			b = protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), v)
		case int32:
			b = protowire.AppendFixed32(protowire.AppendTag(b, number, protowire.Fixed32Type), uint32(v))
		case int64:
			b = protowire.AppendFixed64(protowire.AppendTag(b, number, protowire.Fixed64Type), uint64(v))
		case string:
			b = protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), v)
		case []byte:
			b = protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), v)
		}
	}
	return b
}

// readAnswer agrees to a request to read a block.
func readAnswer(bytesPerChecksum int, chunkOffset uint64) []byte {
	const success, crc32c = 0, 2
	m := message(1, success, 4, message(1, message(1, crc32c, 2, bytesPerChecksum), 2, chunkOffset))
	return append(binary.AppendUvarint(nil, uint64(len(m))), m...)
}

// header is what a packet begins with.
func header(size, dataBytes int) []byte {
	m := message(1, int64(0), 2, int64(0), 3, 0, 4, int32(dataBytes))
	b := binary.BigEndian.AppendUint32(nil, uint32(int32(size)))
	return append(binary.BigEndian.AppendUint16(b, uint16(len(m))), m...)
}

// packet is a whole packet, with a checksum for each 512 bytes.
func packet(data []byte) []byte {
	var sums []byte
	for rest := data; len(rest) > 0; rest = rest[min(512, len(rest)):] {
		sums = binary.BigEndian.AppendUint32(sums, crc32.Checksum(rest[:min(512, len(rest))], crc32.MakeTable(crc32.Castagnoli)))
	}
	return join(header(4+len(sums)+len(data), len(data)), sums, data)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
