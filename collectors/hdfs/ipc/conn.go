// Package ipc is Hadoop's RPC (IPC version 9): frames, connections that many calls share,
// proofs by a token (SASL DIGEST-MD5), and a small server. What is called and what becomes
// of an answer is up to others: package hdfs calls NameNodes, and the emulated nodes and
// ApplicationMasters of harness/emulate call a ResourceManager.
package ipc

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

	"heddle/collectors/hdfs/internal/hdfspb"
)

// MaxFrameBytes is the maximum length of an answer. It is the default of Hadoop's
// ipc.maximum.response.length.
const MaxFrameBytes = 128 << 20

// trustedBytes is how much memory, in bytes, is allocated for an answer at most before
// the answer's bytes have arrived.
const trustedBytes = 64 << 10

// What begins a connection: the ids of two calls, the retry count of calls that are never
// repeated, and what says in a greeting that the user proves who they are.
const (
	ContextCall = -3
	SASLCall    = -33
	NoRetry     = -1
	ViaSASL     = 0xdf
)

// Greeting returns the first bytes of a connection: the magic text, the
// version, the service class, and how the user proves who they are.
func Greeting(proof byte) []byte { return []byte{'h', 'r', 'p', 'c', 9, 0, proof} }

// Conn is one connection to a server. Many calls share the connection, and
// the answers to them may come in any order.
type Conn struct {
	Address string
	c       net.Conn
	refused func(*hdfspb.ResponseHeader) error // makes the error of an answer that refuses the connection
	writing chan struct{}                      // lock for writing to the connection: the channel holds one value while a request is written

	mu      sync.Mutex
	pending map[int32]chan Reply
	err     error         // cause for which the connection was closed; nil while it is open
	done    chan struct{} // channel that is closed when the connection is closed, to wake the calls that wait
}

// Reply is a server's answer to a call: a header and, if the call
// succeeded, the message with the result.
type Reply struct {
	Header *hdfspb.ResponseHeader
	Body   []byte
}

// LostError means that the connection broke during a call. The server may or
// may not have carried out the call.
type LostError struct{ Err error }

func (e *LostError) Error() string { return "connection lost: " + e.Err.Error() }
func (e *LostError) Unwrap() error { return e.Err }

// ProtocolError means that the server at the address does not speak Hadoop IPC.
type ProtocolError struct{ What string }

func (e *ProtocolError) Error() string {
	return e.What + "; is this an RPC address (for a NameNode dfs.namenode.rpc-address, usually port 8020)?"
}

// Open begins to use a connection, with the bytes hello. refused makes the error of an
// answer that refuses the connection.
func Open(ctx context.Context, c net.Conn, address string, hello []byte, refused func(*hdfspb.ResponseHeader) error) (*Conn, error) {
	cn := &Conn{
		Address: address, c: c, refused: refused,
		writing: make(chan struct{}, 1),
		pending: make(map[int32]chan Reply),
		done:    make(chan struct{}),
	}
	go cn.read()
	if err := cn.write(ctx, hello); err != nil {
		cn.Close(err)
		return nil, err
	}
	return cn, nil
}

// Remote returns the server's address as IP address and port.
func (cn *Conn) Remote() string { return cn.c.RemoteAddr().String() }

// Done returns a channel that is closed when the connection is.
func (cn *Conn) Done() <-chan struct{} { return cn.done }

// Call sends the frame of the request id to the server and waits for the answer.
// It stops waiting when the context ctx or the connection ends.
func (cn *Conn) Call(ctx context.Context, id int32, frame []byte) (Reply, error) {
	answer := make(chan Reply, 1)
	cn.mu.Lock()
	if cn.err != nil {
		cn.mu.Unlock()
		return Reply{}, cn.err
	}
	cn.pending[id] = answer
	cn.mu.Unlock()
	defer cn.forget(id)

	if err := cn.write(ctx, frame); err != nil {
		return Reply{}, err
	}
	select {
	case r := <-answer:
		return r, nil
	case <-ctx.Done():
		return Reply{}, context.Cause(ctx)
	case <-cn.done:
		select {
		case r := <-answer: // the answer to this call came just before the connection ended, so the call has succeeded
			return r, nil
		default:
			return Reply{}, cn.err
		}
	}
}

func (cn *Conn) forget(id int32) {
	cn.mu.Lock()
	delete(cn.pending, id)
	cn.mu.Unlock()
}

// write sends all bytes of a frame. If it cannot, it closes the connection.
func (cn *Conn) write(ctx context.Context, frame []byte) error {
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
		cn.Close(&LostError{fmt.Errorf("write: %w", ctx.Err())})
		return context.Cause(ctx)
	}
	if err == nil {
		return nil
	}
	// A write may fail because the server has closed the connection, perhaps
	// after an answer. That answer explains more than the error of the write, so
	// answers are read for another second.
	_ = cn.c.SetReadDeadline(time.Now().Add(time.Second))
	<-cn.done
	if errors.Is(cn.err, os.ErrDeadlineExceeded) {
		return &LostError{fmt.Errorf("write %d of %d bytes: %w", n, len(frame), err)}
	}
	return cn.err
}

// read reads answers and hands each to the call that waits for it, until the
// connection ends.
func (cn *Conn) read() {
	r := bufio.NewReaderSize(cn.c, 64<<10)
	for answered := false; ; answered = true {
		frame, err := ReadFrame(r, MaxFrameBytes)
		if err != nil {
			if !answered && errors.Is(err, io.EOF) {
				err = &LostError{&ProtocolError{"closed before any answer"}}
			} else if pe := (*ProtocolError)(nil); !errors.As(err, &pe) {
				err = &LostError{err}
			}
			cn.Close(err)
			return
		}
		header, body, err := ParseReply(frame)
		if err != nil {
			cn.Close(&ProtocolError{"answer not understood: " + err.Error()})
			return
		}
		cn.deliver(Reply{header, body})
	}
}

func (cn *Conn) deliver(r Reply) {
	id := int32(r.Header.GetCallId())
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
	if id < 0 && r.Header.GetStatus() == hdfspb.ResponseHeader_FATAL {
		cn.Close(cn.refused(r.Header))
	}
}

// Close closes the connection. Calls that wait for an answer return err.
// Closing the connection again does nothing.
func (cn *Conn) Close(err error) {
	cn.mu.Lock()
	defer cn.mu.Unlock()
	if cn.err != nil {
		return
	}
	cn.err = err
	cn.c.Close()
	close(cn.done)
}

// RequestHeader returns the header of the call id.
func RequestHeader(id, retry int32, clientID []byte) *hdfspb.RequestHeader {
	return &hdfspb.RequestHeader{
		RpcKind:    proto.Int32(2),
		RpcOp:      proto.Int32(0),
		CallId:     new(id),
		ClientId:   clientID,
		RetryCount: new(retry),
	}
}

// AppendFrame appends a frame of Hadoop IPC to b: the total length, then each
// message after its own length.
func AppendFrame(b []byte, messages ...proto.Message) ([]byte, error) {
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

// Lengthened appends bytes to a frame.
func Lengthened(frame, more []byte) []byte {
	frame = append(frame, more...)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

// ReadFrame reads one frame of Hadoop IPC, of at most so many bytes, and returns it
// without its length. It returns io.EOF if the stream ended between two frames.
func ReadFrame(r *bufio.Reader, most int) ([]byte, error) {
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
		return frame, Unexpected(err)
	}
	var frame bytes.Buffer
	_, err = io.CopyN(&frame, r, int64(size))
	return frame.Bytes(), Unexpected(err)
}

// badLength returns the error for a wrong frame length. If the bytes of the
// length are text, the server speaks another protocol than Hadoop IPC.
func badLength(r *bufio.Reader, head []byte, size int32, most int) error {
	isText := func(c byte) bool { return c >= ' ' && c <= '~' || c == '\r' || c == '\n' }
	switch {
	case string(head) == "HTTP":
		return &ProtocolError{"answered in HTTP"}
	case size == 0 || isText(head[0]) && isText(head[1]) && isText(head[2]) && isText(head[3]):
		text, _ := r.Peek(min(r.Buffered(), 40))
		return &ProtocolError{fmt.Sprintf("answered %q, which is not Hadoop IPC", text)}
	case size < 0:
		return &ProtocolError{fmt.Sprintf("announced an answer of %d bytes, a negative length", size)}
	case most < MaxFrameBytes:
		return &ProtocolError{fmt.Sprintf("announced an answer of %d bytes where it has to prove who it is, above %d", size, most)}
	}
	return &ProtocolError{fmt.Sprintf("announced an answer of %d bytes, above the %d that Hadoop's clients take "+
		"by default (ipc.maximum.response.length)", size, MaxFrameBytes)}
}

// Unexpected returns err, or io.ErrUnexpectedEOF in place of io.EOF.
func Unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// ParseReply splits the frame of an answer into its header and, if the call
// succeeded, the message with the result.
func ParseReply(frame []byte) (*hdfspb.ResponseHeader, []byte, error) {
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
