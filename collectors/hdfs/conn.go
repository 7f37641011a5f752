package hdfs

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/collectors/hdfs/ipc"
)

const (
	clientProtocol = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
	// maxMessages limits the number of protobuf messages in one answer, since
	// two bytes of a bad answer can become a message that takes some 200 bytes
	// of memory. Real messages have 50 bytes or more, so the longest answer, of
	// 128 MiB, has at most 2.5 million.
	maxMessages = 4 << 20
)

// open connects to a NameNode and sends the name of the user. It does not wait
// for an answer, since a NameNode answers only calls and not the start of a
// connection.
func (c *Client) open(ctx context.Context, address string) (*ipc.Conn, error) {
	nc, user, err := c.dial(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	var hello []byte
	if c.options.Kerberos == nil {
		hello = ipc.Greeting(0)
	}
	hello, err = ipc.AppendFrame(hello,
		ipc.RequestHeader(ipc.ContextCall, ipc.NoRetry, c.clientID[:]),
		&hdfspb.ConnectionContext{
			UserInfo: &hdfspb.UserInformation{EffectiveUser: new(user)},
			Protocol: new(clientProtocol),
		})
	if err != nil {
		nc.Close()
		return nil, err
	}
	return ipc.Open(ctx, nc, address, hello, func(h *hdfspb.ResponseHeader) error { return remoteError(address, h) })
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
