package hdfs

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// A read does not wait for ever for a DataNode that says nothing.
func TestSilentDataNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := readFrom(t)
		start := time.Now()
		_, err := read(lyingDataNode{})
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
					if got, err := read(lyingDataNode{after: stream}); err == nil && len(got) != len(content) {
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
		wantError(t, err, want)
	}
}

// content is that of the file that readFrom reads.
// content has a length of which a reader with a growing buffer takes the last
// chunk in two parts: the library then reads on before it hands out the second.
var content = bytes.Repeat([]byte("0123456789abcdef"), 100)[:1500]

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
