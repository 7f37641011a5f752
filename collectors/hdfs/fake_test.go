package hdfs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/collectors/hdfs/ipc"
)

// fakeCluster is a set of NameNodes by address, reached over pipes in memory.
type fakeCluster map[string]*fakeNameNode

// fakeNameNode answers calls as its functions say.
type fakeNameNode struct {
	// ha is the answer to getHAServiceState.
	ha fakeReply
	// answer answers every other call.
	answer func(fakeCall) fakeReply
	// raw, if set, has the whole connection instead.
	raw func(net.Conn)
	// down refuses connections.
	down bool

	mu    sync.Mutex
	calls []fakeCall // without getHAServiceState
}

type fakeCall struct {
	user, method string
	id, retry    int32
	clientID     string
	nth          int // of this NameNode, from 0
	body         []byte
}

// decode is the request as m.
func (c fakeCall) decode(m proto.Message) {
	if err := proto.Unmarshal(c.body, m); err != nil {
		panic(err)
	}
}

type fakeReply struct {
	message        proto.Message // nil: Empty
	class, text    string        // exception instead
	fatal          bool
	detail         hdfspb.ResponseHeader_Detail
	id             int32         // 0: the call's
	after          time.Duration // answer so much later
	cut            bool          // end the connection instead
	never, garbage bool          // no answer; an answer that is no message
}

func exception(class string) fakeReply {
	return fakeReply{class: class, text: "because\n\tat org.apache.hadoop.Foo.bar(Foo.java:1)"}
}

// noHA is how a NameNode without HA answers getHAServiceState.
var noHA = fakeReply{class: "org.apache.hadoop.ha.ServiceFailedException", text: "HA for namenode is not enabled"}

func active(answer func(fakeCall) fakeReply) *fakeNameNode {
	return inState(hdfspb.GetHAServiceStateResponse_ACTIVE, answer)
}

func inState(s hdfspb.GetHAServiceStateResponse_State, answer func(fakeCall) fakeReply) *fakeNameNode {
	return &fakeNameNode{ha: fakeReply{message: &hdfspb.GetHAServiceStateResponse{State: s}}, answer: answer}
}

// client returns a client of the cluster that asks in the order of addresses.
func (f fakeCluster) client(t testing.TB, addresses ...string) *Client {
	t.Helper()
	c := must(New(Options{
		NameNodes: addresses, User: "me", DialContext: f.dial,
		CallTimeout: 10 * time.Second, RetryFor: 20 * time.Second,
	}))
	t.Cleanup(func() { c.Close() })
	return c
}

func (f fakeCluster) dial(_ context.Context, _, address string) (net.Conn, error) {
	nn := f[address]
	nn.mu.Lock()
	defer nn.mu.Unlock()
	if nn.down {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	ours, theirs := net.Pipe()
	go func() {
		defer theirs.Close()
		if nn.raw != nil {
			nn.raw(theirs)
			return
		}
		if err := nn.serve(theirs); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
			panic(err)
		}
	}()
	return tcpLike{ours}, nil
}

// tcpLike takes a deadline after the other side has closed, as TCP does and a
// pipe does not.
type tcpLike struct{ net.Conn }

func (c tcpLike) SetDeadline(t time.Time) error     { _ = c.Conn.SetDeadline(t); return nil }
func (c tcpLike) SetReadDeadline(t time.Time) error { _ = c.Conn.SetReadDeadline(t); return nil }

func (nn *fakeNameNode) seen() []fakeCall {
	nn.mu.Lock()
	defer nn.mu.Unlock()
	return nn.calls
}

func (nn *fakeNameNode) setDown(down bool) {
	nn.mu.Lock()
	defer nn.mu.Unlock()
	nn.down = down
}

func (nn *fakeNameNode) setState(s hdfspb.GetHAServiceStateResponse_State) {
	nn.mu.Lock()
	defer nn.mu.Unlock()
	nn.ha = fakeReply{message: &hdfspb.GetHAServiceStateResponse{State: s}}
}

func (nn *fakeNameNode) serve(c net.Conn) error {
	r := bufio.NewReader(c)
	hello := make([]byte, 7)
	if _, err := io.ReadFull(r, hello); err != nil {
		return err
	}
	if string(hello) != "hrpc\x09\x00\x00" {
		return fmt.Errorf("hello is %q", hello)
	}
	var user string
	var writing sync.Mutex
	for {
		frame, err := ipc.ReadFrame(r, ipc.MaxFrameBytes)
		if err != nil {
			return err
		}
		header := &hdfspb.RequestHeader{}
		frame = next(frame, header)
		if header.GetRpcKind() != 2 || len(header.ClientId) != 16 {
			return fmt.Errorf("request header %v", header)
		}
		if header.GetCallId() == ipc.ContextCall {
			ctx := &hdfspb.ConnectionContext{}
			next(frame, ctx)
			user = ctx.GetUserInfo().GetEffectiveUser()
			continue
		}
		method := &hdfspb.MethodHeader{}
		frame = next(frame, method)
		body, _ := protowire.ConsumeBytes(frame)
		call := fakeCall{
			user: user, method: method.GetMethodName(), body: body,
			id: header.GetCallId(), retry: header.GetRetryCount(), clientID: string(header.ClientId),
		}
		go nn.handle(call, c, &writing)
	}
}

func (nn *fakeNameNode) handle(call fakeCall, c net.Conn, writing *sync.Mutex) {
	var reply fakeReply
	switch {
	case call.method != "getHAServiceState":
		nn.mu.Lock()
		call.nth = len(nn.calls)
		nn.calls = append(nn.calls, call)
		nn.mu.Unlock()
		reply = nn.answer(call)
	default:
		nn.mu.Lock()
		reply = nn.ha
		nn.mu.Unlock()
	}
	if reply.after > 0 {
		<-time.After(reply.after)
	}
	if reply.never {
		return
	}
	if reply.cut {
		c.Close()
		return
	}
	if reply.id == 0 {
		reply.id = call.id
	}
	writing.Lock()
	defer writing.Unlock()
	c.Write(reply.frame())
	if reply.fatal {
		c.Close()
	}
}

func (r fakeReply) frame() []byte {
	header := &hdfspb.ResponseHeader{
		CallId:         new(uint32(r.id)),
		Status:         hdfspb.ResponseHeader_SUCCESS.Enum(),
		ExceptionClass: r.class, ErrorMessage: r.text, ErrorDetail: r.detail,
	}
	if r.class != "" {
		header.Status = hdfspb.ResponseHeader_ERROR.Enum()
		if r.fatal {
			header.Status = hdfspb.ResponseHeader_FATAL.Enum()
		}
		return must(ipc.AppendFrame(nil, header))
	}
	if r.message == nil {
		r.message = &hdfspb.Empty{}
	}
	if r.garbage {
		// Field 1 as a message that is longer than what follows.
		frame := must(ipc.AppendFrame(nil, header))
		frame = append(frame, 2, 0x0a, 0x7f)
		frame[3] += 3
		return frame
	}
	return must(ipc.AppendFrame(nil, header, r.message))
}

func next(frame []byte, m proto.Message) []byte {
	b, n := protowire.ConsumeBytes(frame)
	if n < 0 {
		panic("fake NameNode: cut frame")
	}
	if err := proto.Unmarshal(b, m); err != nil {
		panic(err)
	}
	return frame[n:]
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
