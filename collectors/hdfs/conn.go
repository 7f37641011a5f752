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
	// maxFrameBytes is the maximum length of an answer of the NameNode. It is
	// the default of Hadoop's ipc.maximum.response.length.
	maxFrameBytes = 128 << 20
	// trustedBytes is how much memory, in bytes, is allocated for an answer at
	// most before the answer's bytes have arrived.
	trustedBytes = 64 << 10
	// maxMessages limits the number of protobuf messages in one answer, since
	// two bytes of a bad answer can become a message that takes some 200 bytes
	// of memory. Real messages have 50 bytes or more, so the longest answer, of
	// 128 MiB, has at most 2.5 million.
	maxMessages = 4 << 20

	contextCallID = -3
	noRetryCount  = -1
)

// conn is one connection to one NameNode. Many calls share the connection, and
// the answers to them may come in any order.
type conn struct {
	address string
	c       net.Conn
	writing chan struct{} // lock for writing to the connection: the channel holds one value while a request is written

	mu      sync.Mutex
	pending map[int32]chan reply
	err     error         // cause for which the connection was closed; nil while it is open
	done    chan struct{} // channel that is closed when the connection is closed, to wake the calls that wait
}

// reply is the NameNode's answer to an RPC call: a header and, if the call
// succeeded, the message with the result.
type reply struct {
	header *hdfspb.ResponseHeader
	body   []byte
}

// lostError means that the connection broke during a call. The NameNode may or
// may not have carried out the call.
type lostError struct{ err error }

func (e *lostError) Error() string { return "connection lost: " + e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// protocolError means that the server at the address does not speak Hadoop IPC.
type protocolError struct{ what string }

func (e *protocolError) Error() string {
	return e.what + "; is this the NameNode's RPC address (dfs.namenode.rpc-address, usually port 8020)?"
}

// open connects to a NameNode and sends the name of the user. It does not wait
// for an answer, since a NameNode answers only calls and not the start of a
// connection.
func (c *Client) open(ctx context.Context, address string) (*conn, error) {
	nc, user, err := c.dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	cn := &conn{
		address: address, c: nc,
		writing: make(chan struct{}, 1),
		pending: make(map[int32]chan reply),
		done:    make(chan struct{}),
	}
	var hello []byte
	if c.options.Kerberos == nil {
		hello = greeting(0)
	}
	hello, err = appendFrame(hello,
		requestHeader(contextCallID, noRetryCount, c.clientID[:]),
		&hdfspb.ConnectionContext{
			UserInfo: &hdfspb.UserInformation{EffectiveUser: proto.String(user)},
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

// call sends the frame of the request id to the NameNode and waits for the answer.
// It stops waiting when the context ctx or the connection ends.
func (cn *conn) call(ctx context.Context, id int32, frame []byte) (reply, error) {
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
		return reply{}, context.Cause(ctx)
	case <-cn.done:
		select {
		case r := <-answer: // the answer to this call came just before the connection ended, so the call has succeeded
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

// write sends all bytes of a frame. If it cannot, it closes the connection.
func (cn *conn) write(ctx context.Context, frame []byte) error {
	select {
	case cn.writing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-cn.done:
		return cn.err
	}
	defer func() { <-cn.writing }()
	stop := context.AfterFunc(ctx, func() { _ = cn.c.SetWriteDeadline(time.Unix(1, 0)) })
	n, err := cn.c.Write(frame)
	if !stop() {
		// After a failed write the connection cannot be used again. Either only a
		// part of the frame was sent, or the expired deadline would make the next
		// write fail.
		cn.close(&lostError{fmt.Errorf("write: %w", ctx.Err())})
		return context.Cause(ctx)
	}
	if err == nil {
		return nil
	}
	// A write may fail because the NameNode has closed the connection, perhaps
	// after an answer. That answer explains more than the error of the write, so
	// answers are read for another second.
	_ = cn.c.SetReadDeadline(time.Now().Add(time.Second))
	<-cn.done
	if errors.Is(cn.err, os.ErrDeadlineExceeded) {
		return &lostError{fmt.Errorf("write %d of %d bytes: %w", n, len(frame), err)}
	}
	return cn.err
}

// read reads answers and hands each to the call that waits for it, until the
// connection ends.
func (cn *conn) read() {
	r := bufio.NewReaderSize(cn.c, 64<<10)
	for answered := false; ; answered = true {
		frame, err := readFrame(r, maxFrameBytes)
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
	// An answer with a negative call id refuses the whole connection, which ends
	// all calls. Any other answer is dropped if its call does not wait any
	// longer.
	if id < 0 && r.header.GetStatus() == hdfspb.ResponseHeader_FATAL {
		cn.close(remoteError("connect", cn.address, r.header))
	}
}

// close closes the connection. Calls that wait for an answer return err.
// Closing the connection again does nothing.
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

// appendFrame appends a frame of Hadoop IPC to b: the total length, then each
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

// readFrame reads one frame of Hadoop IPC, of at most so many bytes, and returns it
// without its length. It returns io.EOF if the stream ended between two frames.
func readFrame(r *bufio.Reader, most int) ([]byte, error) {
	head, err := r.Peek(4)
	if err != nil {
		if len(head) > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	size := int32(binary.BigEndian.Uint32(head)) // frame lengths of Hadoop IPC are signed, as in Java, so a wrong length may be negative
	if size <= 0 || int(size) > most {
		return nil, badLength(r, head, size, most)
	}
	_, _ = r.Discard(4) // skip the 4 bytes with the frame's length, which have been read already
	if size <= trustedBytes {
		frame := make([]byte, size)
		_, err = io.ReadFull(r, frame)
		return frame, unexpected(err)
	}
	var frame bytes.Buffer
	_, err = io.CopyN(&frame, r, int64(size))
	return frame.Bytes(), unexpected(err)
}

// badLength returns the error for a wrong frame length. If the bytes of the
// length are text, the server speaks another protocol than Hadoop IPC.
func badLength(r *bufio.Reader, head []byte, size int32, most int) error {
	isText := func(c byte) bool { return c >= ' ' && c <= '~' || c == '\r' || c == '\n' }
	switch {
	case string(head) == "HTTP":
		return &protocolError{"answered in HTTP"}
	case size == 0 || isText(head[0]) && isText(head[1]) && isText(head[2]) && isText(head[3]):
		text, _ := r.Peek(min(r.Buffered(), 40))
		return &protocolError{fmt.Sprintf("answered %q, which is not Hadoop IPC", text)}
	case size < 0:
		return &protocolError{fmt.Sprintf("announced an answer of %d bytes, a negative length", size)}
	case most < maxFrameBytes:
		return &protocolError{fmt.Sprintf("announced an answer of %d bytes where it has to prove who it is, above %d", size, most)}
	}
	return &protocolError{fmt.Sprintf("announced an answer of %d bytes, above the %d that Hadoop's clients take "+
		"by default (ipc.maximum.response.length)", size, maxFrameBytes)}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// unmarshal decodes the bytes of an answer into resp. It refuses an answer with
// more than maxMessages protobuf messages.
func unmarshal(body []byte, resp proto.Message) error {
	if len(body) > 2*maxMessages { // a protobuf message takes at least two bytes, so messages are counted in long answers only
		left := maxMessages
		if err := countMessages(body, resp.ProtoReflect().Descriptor(), &left); err != nil {
			return err
		}
	}
	return proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(body, resp)
}

// countMessages counts the protobuf messages in b, nested ones included, and
// fails if there are more than left allows. Each message lowers left by 1. No
// message type of the NameNode contains itself, so the recursion ends.
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

// parseReply splits the frame of an answer into its header and, if the call
// succeeded, the message with the result.
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
