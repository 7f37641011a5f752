package hdfs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"heddle/collectors/hdfs/internal/hdfspb"
)

const (
	clientProtocol = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
	// maxFrameBytes is the default of Hadoop's ipc.maximum.response.length.
	maxFrameBytes = 128 << 20
	// trustedBytes is the length up to which memory for a frame is allocated
	// before its bytes have arrived.
	trustedBytes = 64 << 10
	// maxMessages limits the protobuf messages in one answer: two bytes of an
	// answer can become a message that takes some 200 bytes of memory. A real
	// message has 50 bytes or more, so that 128 MiB contain at most 2.5
	// million.
	maxMessages = 4 << 20

	contextCallID = -3
	noRetryCount  = -1
)

// conn is one connection to one NameNode. Many calls share it, and their
// replies may come in any order.
type conn struct {
	address string
	c       net.Conn
	writing chan struct{} // a lock: it holds one value while a frame is written

	mu      sync.Mutex
	pending map[int32]chan reply
	err     error         // why the connection was closed
	done    chan struct{} // closed when the connection is closed
}

// reply is the answer to a call: a header and, if the call succeeded, a
// message.
type reply struct {
	header *hdfspb.ResponseHeader
	body   []byte
}

// lostError means that a connection broke during a call. The NameNode may or
// may not have carried out the call.
type lostError struct{ err error }

func (e *lostError) Error() string { return "connection lost: " + e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// protocolError means that the other side does not speak Hadoop IPC.
type protocolError struct{ what string }

func (e *protocolError) Error() string {
	return e.what + "; is this the NameNode's RPC address (dfs.namenode.rpc-address, usually port 8020)?"
}

// open connects to a NameNode and sends the name of the user. It does not wait
// for an answer, since a NameNode answers only calls.
func (c *Client) open(ctx context.Context, address string) (*conn, error) {
	nc, err := c.options.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	cn := &conn{
		address: address, c: nc,
		writing: make(chan struct{}, 1),
		pending: make(map[int32]chan reply),
		done:    make(chan struct{}),
	}
	hello := []byte{'h', 'r', 'p', 'c', 9, 0, 0} // the greeting: magic text, version, service class, no SASL
	hello, err = appendFrame(hello,
		requestHeader(contextCallID, noRetryCount, c.clientID[:]),
		&hdfspb.ConnectionContext{
			UserInfo: &hdfspb.UserInformation{EffectiveUser: proto.String(c.options.User)},
			Protocol: proto.String(clientProtocol),
		})
	if err != nil {
		nc.Close()
		return nil, err
	}
	go cn.read()
	if err := cn.write(ctx, hello); err != nil {
		cn.close(err)
		return nil, err
	}
	return cn, nil
}

// call sends one request and waits for its reply, or until ctx or the
// connection ends.
func (cn *conn) call(ctx context.Context, clientID []byte, id, retry int32, method string, req proto.Message) (reply, error) {
	frame, err := appendFrame(nil,
		requestHeader(id, retry, clientID),
		&hdfspb.MethodHeader{
			MethodName:      proto.String(method),
			Protocol:        proto.String(clientProtocol),
			ProtocolVersion: proto.Uint64(1),
		}, req)
	if err != nil {
		return reply{}, err
	}
	answer := make(chan reply, 1)
	cn.mu.Lock()
	if cn.err != nil {
		cn.mu.Unlock()
		return reply{}, cn.err
	}
	cn.pending[id] = answer
	cn.mu.Unlock()
	defer cn.forget(id)

	if err := cn.write(ctx, frame); err != nil {
		return reply{}, err
	}
	select {
	case r := <-answer:
		return r, nil
	case <-ctx.Done():
		return reply{}, ctx.Err()
	case <-cn.done:
		select {
		case r := <-answer: // the answer came just before the connection ended
			return r, nil
		default:
			return reply{}, cn.err
		}
	}
}

func (cn *conn) forget(id int32) {
	cn.mu.Lock()
	delete(cn.pending, id)
	cn.mu.Unlock()
}

// write sends a whole frame, or closes the connection.
func (cn *conn) write(ctx context.Context, frame []byte) error {
	select {
	case cn.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-cn.done:
		return cn.err
	}
	defer func() { <-cn.writing }()
	stop := context.AfterFunc(ctx, func() { _ = cn.c.SetWriteDeadline(time.Unix(1, 0)) })
	n, err := cn.c.Write(frame)
	if !stop() {
		// The connection cannot be used again: the frame was cut off, or the
		// deadline would hit the next one.
		cn.close(&lostError{fmt.Errorf("write: %w", ctx.Err())})
		return ctx.Err()
	}
	if err == nil {
		return nil
	}
	// An answer that the NameNode sent before it closed the connection says
	// more than this error.
	_ = cn.c.SetReadDeadline(time.Now().Add(time.Second))
	<-cn.done
	if errors.Is(cn.err, os.ErrDeadlineExceeded) {
		return &lostError{fmt.Errorf("write %d of %d bytes: %w", n, len(frame), err)}
	}
	return cn.err
}

// read hands replies to the calls that wait for them, until the connection
// ends.
func (cn *conn) read() {
	r := bufio.NewReaderSize(cn.c, 64<<10)
	for answered := false; ; answered = true {
		frame, err := readFrame(r)
		if err != nil {
			if !answered && errors.Is(err, io.EOF) {
				err = &lostError{&protocolError{"closed before any answer"}}
			} else if pe := (*protocolError)(nil); !errors.As(err, &pe) {
				err = &lostError{err}
			}
			cn.close(err)
			return
		}
		header, body, err := parseReply(frame)
		if err != nil {
			cn.close(&protocolError{"answer not understood: " + err.Error()})
			return
		}
		cn.deliver(reply{header, body})
	}
}

func (cn *conn) deliver(r reply) {
	id := int32(r.header.GetCallId())
	cn.mu.Lock()
	answer := cn.pending[id]
	delete(cn.pending, id)
	cn.mu.Unlock()
	if answer != nil {
		answer <- r
		return
	}
	// A refusal of the connection answers no call, but ends all. A reply to a
	// call that has given up is dropped.
	if id < 0 && r.header.GetStatus() == hdfspb.ResponseHeader_FATAL {
		cn.close(remoteError("connect", cn.address, r.header))
	}
}

// close closes the connection. Waiting calls get err. Only the first call of
// close counts.
func (cn *conn) close(err error) {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	if cn.err != nil {
		return
	}
	cn.err = err
	cn.c.Close()
	close(cn.done)
}

func requestHeader(id, retry int32, clientID []byte) *hdfspb.RequestHeader {
	return &hdfspb.RequestHeader{
		RpcKind:    proto.Int32(2),
		RpcOp:      proto.Int32(0),
		CallId:     proto.Int32(id),
		ClientId:   clientID,
		RetryCount: proto.Int32(retry),
	}
}

// appendFrame appends a frame to b: the length of all messages, then each
// message after its own length.
func appendFrame(b []byte, messages ...proto.Message) ([]byte, error) {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	for _, m := range messages {
		o := proto.MarshalOptions{}
		b = protowire.AppendVarint(b, uint64(o.Size(m)))
		var err error
		if b, err = o.MarshalAppend(b, m); err != nil {
			return nil, fmt.Errorf("encode %s: %w", m.ProtoReflect().Descriptor().Name(), err)
		}
	}
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b, nil
}

// readFrame reads one frame and returns it without its length. io.EOF means
// that the stream ended between two frames.
func readFrame(r *bufio.Reader) ([]byte, error) {
	head, err := r.Peek(4)
	if err != nil {
		if len(head) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	size := int32(binary.BigEndian.Uint32(head)) // the frame's length is signed, as in Java
	if size <= 0 || size > maxFrameBytes {
		return nil, badLength(r, head, size)
	}
	_, _ = r.Discard(4) // skip the frame's length, which Peek has read
	if size <= trustedBytes {
		frame := make([]byte, size)
		_, err = io.ReadFull(r, frame)
		return frame, unexpected(err)
	}
	var frame bytes.Buffer
	_, err = io.CopyN(&frame, r, int64(size))
	return frame.Bytes(), unexpected(err)
}

// badLength explains a wrong frame length. If its bytes are text, the other
// side speaks another protocol.
func badLength(r *bufio.Reader, head []byte, size int32) error {
	isText := func(c byte) bool { return c >= ' ' && c <= '~' || c == '\r' || c == '\n' }
	switch {
	case string(head) == "HTTP":
		return &protocolError{"answered in HTTP"}
	case size == 0 || isText(head[0]) && isText(head[1]) && isText(head[2]) && isText(head[3]):
		text, _ := r.Peek(min(r.Buffered(), 40))
		return &protocolError{fmt.Sprintf("answered %q, which is not Hadoop IPC", text)}
	case size < 0:
		return &protocolError{fmt.Sprintf("announced an answer of %d bytes, a negative length", size)}
	}
	return &protocolError{fmt.Sprintf("announced an answer of %d bytes, above the %d that Hadoop's clients take by default (ipc.maximum.response.length)",
		size, maxFrameBytes)}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// unmarshal decodes an answer into resp. It refuses one with more than
// maxMessages messages.
func unmarshal(body []byte, resp proto.Message) error {
	if len(body) > 2*maxMessages { // counting is needed only for long answers, as a message takes at least two bytes
		left := maxMessages
		if err := countMessages(body, resp.ProtoReflect().Descriptor(), &left); err != nil {
			return err
		}
	}
	return proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(body, resp)
}

// countMessages subtracts the number of messages in b from left. The NameNode's
// message types do not contain themselves, so the recursion is limited.
func countMessages(b []byte, d protoreflect.MessageDescriptor, left *int) error {
	if *left--; *left < 0 {
		return fmt.Errorf("more than %d messages in it", maxMessages)
	}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			return protowire.ParseError(n)
		}
		field := d.Fields().ByNumber(number)
		if kind == protowire.BytesType && field != nil && field.Message() != nil {
			inner, _ := protowire.ConsumeBytes(b)
			if err := countMessages(inner, field.Message(), left); err != nil {
				return err
			}
		}
		b = b[n:]
	}
	return nil
}

// parseReply splits a frame into the header and, if the call succeeded, the
// message.
func parseReply(frame []byte) (*hdfspb.ResponseHeader, []byte, error) {
	head, n := protowire.ConsumeBytes(frame)
	if n < 0 {
		return nil, nil, fmt.Errorf("response header: %w", protowire.ParseError(n))
	}
	h := &hdfspb.ResponseHeader{}
	if err := proto.Unmarshal(head, h); err != nil {
		return nil, nil, fmt.Errorf("response header: %w", err)
	}
	if h.CallId == nil || h.Status == nil {
		return nil, nil, errors.New("response header: no call id or no status")
	}
	if h.GetStatus() != hdfspb.ResponseHeader_SUCCESS {
		return h, nil, nil
	}
	body, m := protowire.ConsumeBytes(frame[n:])
	if m < 0 {
		return nil, nil, fmt.Errorf("response message: %w", protowire.ParseError(m))
	}
	return h, body, nil
}
