// Package hdfstest runs a fake NameNode for tests, over real sockets. It
// answers the calls of a client that only reads, knows the files that a test
// gives it, and can be told to show faults. It has no DataNodes: files have
// locations but no contents.
package hdfstest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"heddle/collectors/hdfs"
	"heddle/collectors/hdfs/internal/hdfspb"
)

// NameNode is a fake NameNode that a test has started.
type NameNode struct {
	// Address is the fake NameNode's RPC address, "host:port".
	Address string

	listener net.Listener
	serving  sync.WaitGroup
	files    map[string]hdfs.File // files of the fake HDFS, by path

	bad   atomic.Pointer[Misdeed]
	next  atomic.Pointer[Misdeed] // fault that the fake NameNode shows after a number of further RPC calls
	calls atomic.Int32
	mu    sync.Mutex
	conns map[net.Conn]bool
}

// Start starts an active fake NameNode without files. The NameNode is stopped
// when the test ends.
func Start(t testing.TB) *NameNode {
	nn, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nn.Close)
	return nn
}

// New starts an active fake NameNode with the given files. The NameNode runs
// until Close is called.
func New(files ...hdfs.File) (*NameNode, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start NameNode: %w", err)
	}
	nn := &NameNode{Address: l.Addr().String(), listener: l, files: map[string]hdfs.File{}, conns: map[net.Conn]bool{}}
	for _, f := range files {
		nn.files[f.Path] = f
	}
	nn.serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			nn.keep(c)
			nn.serving.Go(func() {
				defer nn.drop(c)
				if bad := nn.bad.Load(); bad != nil {
					bad.serve(c)
					return
				}
				_ = nn.serve(c) // the error is ignored, since serving a client ends with an error when the client leaves
			})
		}
	})
	return nn, nil
}

// Close stops the fake NameNode and closes its connections.
func (nn *NameNode) Close() {
	nn.listener.Close()
	nn.dropAll()
	nn.serving.Wait()
}

// Misbehave closes all connections and makes later ones show the fault m. If m
// is nil, later connections work normally again.
func (nn *NameNode) Misbehave(m *Misdeed) {
	nn.bad.Store(m)
	nn.dropAll()
}

// MisbehaveAfter makes the fake NameNode answer the given number of further
// RPC calls correctly, and show the fault m afterwards.
func (nn *NameNode) MisbehaveAfter(calls int, m *Misdeed) {
	nn.calls.Store(int32(calls))
	nn.next.Store(m)
}

func (nn *NameNode) keep(c net.Conn) {
	nn.mu.Lock()
	defer nn.mu.Unlock()
	nn.conns[c] = true
}

func (nn *NameNode) drop(c net.Conn) {
	nn.mu.Lock()
	defer nn.mu.Unlock()
	delete(nn.conns, c)
	c.Close()
}

func (nn *NameNode) dropAll() {
	nn.mu.Lock()
	defer nn.mu.Unlock()
	for c := range nn.conns {
		c.Close()
	}
}

func (nn *NameNode) serve(c net.Conn) error {
	calls, err := greet(c)
	if err != nil {
		return err
	}
	for {
		method, id, err := calls.next()
		if err != nil {
			return err
		}
		answer := answerTo(method, id)
		if list := nn.list(method, calls.request); list != nil {
			answer = reply(id, list)
		}
		if m := nn.next.Load(); m != nil && nn.calls.Add(-1) < 0 {
			nn.bad.Store(m)
			return nil
		}
		if _, err := c.Write(answer); err != nil {
			return err
		}
	}
}

// answerTo returns the answer to one RPC call, as a NameNode without any files
// would send it.
func answerTo(method string, id uint32) []byte {
	folder := &hdfspb.FileStatus{FileType: hdfspb.FileStatus_DIR}
	switch method {
	case "getHAServiceState":
		return reply(id, &hdfspb.GetHAServiceStateResponse{State: hdfspb.GetHAServiceStateResponse_ACTIVE})
	case "getFileInfo":
		return reply(id, &hdfspb.GetFileInfoResponse{Fs: folder})
	case "getListing":
		return reply(id, &hdfspb.GetListingResponse{DirList: &hdfspb.DirectoryListing{}})
	case "getDatanodeReport":
		return reply(id, &hdfspb.GetDatanodeReportResponse{})
	case "listCachePools":
		return reply(id, &hdfspb.ListCachePoolsResponse{})
	case "getServerDefaults":
		return reply(id, serverDefaults())
	}
	return refusal(id, "org.apache.hadoop.ipc.RpcNoSuchMethodException", "Unknown method "+method, hdfspb.ResponseHeader_ERROR_NO_SUCH_METHOD)
}

// serverDefaults returns a message that is sent as a
// GetServerDefaultsResponseProto, with values for block size, checksum, packet
// size, replication and buffer size. It is encoded by hand, since package
// hdfspb does not have this message.
func serverDefaults() proto.Message {
	var defaults []byte
	for i, v := range []uint64{128 << 20, 512, 64 << 10, 1, 4096} {
		defaults = protowire.AppendTag(defaults, protowire.Number(i+1), protowire.VarintType)
		defaults = protowire.AppendVarint(defaults, v)
	}
	m := &hdfspb.Empty{}
	m.ProtoReflect().SetUnknown(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), defaults))
	return m
}

// calls reads the RPC calls that a client sends on one connection.
type calls struct {
	r       *bufio.Reader
	request []byte // request message, still encoded, of the client's latest RPC call
}

// greet reads and checks the greeting of Hadoop IPC with which a client's
// connection starts.
func greet(c net.Conn) (*calls, error) {
	r := bufio.NewReader(c)
	hello := make([]byte, 7)
	if _, err := io.ReadFull(r, hello); err != nil {
		return nil, err
	}
	if string(hello[:4]) != "hrpc" {
		return nil, fmt.Errorf("a client begins with %q", hello)
	}
	return &calls{r: r}, nil
}

// next returns the method and the id of a client's next call. It skips the
// message that only names the user.
func (c *calls) next() (method string, id uint32, err error) {
	for {
		var size [4]byte
		if _, err := io.ReadFull(c.r, size[:]); err != nil {
			return "", 0, err
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(c.r, frame); err != nil {
			return "", 0, err
		}
		header, name := &hdfspb.RequestHeader{}, &hdfspb.MethodHeader{}
		head, n := protowire.ConsumeBytes(frame)
		if n < 0 {
			return "", 0, protowire.ParseError(n)
		}
		if err := proto.Unmarshal(head, header); err != nil {
			return "", 0, err
		}
		if header.GetCallId() < 0 {
			continue
		}
		frame = frame[n:]
		if head, n = protowire.ConsumeBytes(frame); n < 0 {
			return "", 0, protowire.ParseError(n)
		}
		c.request, _ = protowire.ConsumeBytes(frame[n:])
		if err := proto.Unmarshal(head, name); err != nil {
			return "", 0, err
		}
		return name.GetMethodName(), uint32(header.GetCallId()), nil
	}
}

func reply(id uint32, m proto.Message) []byte {
	return frame(&hdfspb.ResponseHeader{CallId: new(id), Status: hdfspb.ResponseHeader_SUCCESS.Enum()}, m)
}

func refusal(id uint32, class, text string, detail hdfspb.ResponseHeader_Detail) []byte {
	return frame(&hdfspb.ResponseHeader{
		CallId: new(id), Status: hdfspb.ResponseHeader_ERROR.Enum(),
		ExceptionClass: class, ErrorMessage: text, ErrorDetail: detail,
	})
}

// frame returns the messages as one frame of Hadoop IPC: the total length, then
// each message after its own length.
func frame(messages ...proto.Message) []byte {
	b := make([]byte, 4)
	for _, m := range messages {
		encoded, err := proto.Marshal(m)
		if err != nil {
			panic(err)
		}
		b = protowire.AppendBytes(b, encoded)
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}
