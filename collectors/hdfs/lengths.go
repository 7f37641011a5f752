package hdfs

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/collectors/hdfs/ipc"
)

// The library colinmarc/hdfs trusts the lengths that servers announce. It
// allocates up to 4 GiB for an answer of a NameNode and 32 GiB for one of a
// DataNode, and panics on negative lengths. The connections in this file check
// each length before the library sees it. calls.go does so for NameNodes.

const (
	// maxPacketBytes is Hadoop's own limit for the length of a data packet of a
	// DataNode.
	maxPacketBytes = 16 << 20
	// maxMessageBytes limits the length of a DataNode's messages other than
	// data packets. Real messages are far shorter.
	maxMessageBytes = 1 << 20
	// dataNodeSilence limits how long a DataNode may send nothing. It is the
	// default of Hadoop's dfs.client.socket-timeout.
	dataNodeSilence = time.Minute

	// A request to a DataNode starts with transferVersion, the version of the
	// data transfer protocol. The code of an operation follows; readBlock is
	// the code for reading a block.
	transferVersion = 28
	readBlock       = 0x51
)

// dialDataNode connects to a DataNode for the library colinmarc/hdfs. The
// connection checks the lengths that the DataNode announces, and is closed when the
// context ctx ends.
func (c *Client) dialDataNode(ctx context.Context, network, address string) (net.Conn, error) {
	nc, err := c.options.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	nc = endWith(ctx, nc)
	d := &dataNodeConn{Conn: nc, address: address, r: bufio.NewReaderSize(nc, 64<<10)}
	if k := c.options.Kerberos; k != nil && k.Protection != "" {
		d.prove = func(op byte, request []byte) (net.Conn, error) {
			secret, err := c.secret(ctx, op, request)
			if err != nil {
				return nil, err
			}
			proven, err := proveTo(nc, secret, protectionOf(k.Protection))
			if err != nil {
				c.dataKey.Store(nil)
			}
			return proven, err
		}
	}
	return d, nil
}

// dataNodeConn is a connection to a DataNode that checks the lengths of
// messages and data packets before it passes them on. A DataNode answers a
// request to read a block by one message and then data packets, and any other
// request by messages only.
type dataNodeConn struct {
	net.Conn
	address  string
	deadline atomic.Bool // whether the library has set a deadline of its own
	// prove proves to the DataNode who the user is, by the token in a request, and returns
	// the connection for the request and what follows. It is nil where nobody asks for it.
	prove func(op byte, request []byte) (net.Conn, error)

	op    byte // code of the operation requested from the DataNode; 0 before the request
	r     *bufio.Reader
	ready []byte // checked bytes from the DataNode that the library colinmarc/hdfs has not read yet
	data  int    // number of bytes of the current data packet that have not been read from the DataNode

	answered             bool // whether the first message of the DataNode's answer has arrived
	chunkBytes, sumBytes int
	// The field at is the offset in the block of the next data packet. The field
	// end is the offset just after the last requested byte. Both are in bytes.
	at, end int64
}

func (d *dataNodeConn) SetDeadline(t time.Time) error {
	d.deadline.Store(!t.IsZero())
	return d.Conn.SetDeadline(t)
}

func (d *dataNodeConn) Write(b []byte) (int, error) {
	if d.op == 0 {
		if len(b) < 3 || binary.BigEndian.Uint16(b) != transferVersion {
			return 0, errors.New("the cluster requires encrypted data transfer (dfs.encrypt.data.transfer), which heddle " +
				"does not support without security: kerberos and dataTransferProtection in the cluster file")
		}
		d.op = b[2]
		if err := d.asked(b[3:]); err != nil {
			return 0, err
		}
		if d.prove != nil {
			if err := d.proveFor(b[3:]); err != nil {
				d.Close()
				return 0, fmt.Errorf("DataNode %s: %w", d.address, err)
			}
		}
	}
	return d.Conn.Write(b)
}

// proveFor proves to the DataNode who the user is, before the request is sent. The DataNode
// has as long as for any answer, if the library does not limit its time.
func (d *dataNodeConn) proveFor(request []byte) error {
	if !d.deadline.Load() {
		if err := d.Conn.SetDeadline(time.Now().Add(dataNodeSilence)); err != nil {
			return err
		}
	}
	proven, err := d.prove(d.op, request)
	if err != nil {
		return err
	}
	d.Conn = proven
	d.r.Reset(proven)
	if !d.deadline.Load() {
		return d.Conn.SetDeadline(time.Time{})
	}
	return nil
}

// asked notes which bytes of a block the library colinmarc/hdfs requests.
// request is the encoded message OpReadBlockProto, with the message's length
// before it.
func (d *dataNodeConn) asked(request []byte) error {
	if d.op != readBlock {
		return nil
	}
	var r hdfspb.BlockRequest
	if _, err := ipc.Next(request, &r); err != nil {
		return fmt.Errorf("request to read a block: %w", err)
	}
	d.end = int64(r.Offset + r.Length)
	return nil
}

func (d *dataNodeConn) Read(b []byte) (int, error) {
	if d.op == readBlock && !d.deadline.Load() {
		if err := d.SetReadDeadline(time.Now().Add(dataNodeSilence)); err != nil {
			return 0, err
		}
	}
	if len(d.ready) == 0 && d.data == 0 {
		if err := d.next(); err != nil {
			d.Close() // after a wrong length from the DataNode, the following bytes have no meaning, so the connection is closed
			return 0, fmt.Errorf("DataNode %s: %w", d.address, err)
		}
	}
	if len(d.ready) > 0 {
		k := copy(b, d.ready)
		d.ready = d.ready[k:]
		return k, nil
	}
	k, err := d.r.Read(b[:min(len(b), d.data)])
	d.data -= k
	if err != nil {
		err = fmt.Errorf("DataNode %s: %w", d.address, ipc.Unexpected(err))
	}
	return k, err
}

// next reads the next message from the DataNode, or the start of a data packet
// up to its checksums.
func (d *dataNodeConn) next() error {
	if d.op == readBlock && d.answered {
		return d.packet()
	}
	raw, message, err := readMessage(d.r)
	d.ready = raw
	if err != nil || d.op != readBlock {
		return err
	}
	d.answered = true
	return d.checksums(message)
}

// readMessage reads a message with its length before it. It returns both, and the
// message alone.
func readMessage(r *bufio.Reader) (raw, message []byte, err error) {
	size, err := binary.ReadUvarint(r)
	if err != nil {
		return nil, nil, err
	}
	if size > maxMessageBytes {
		return nil, nil, fmt.Errorf("announced a message of %d bytes; want at most %d", size, maxMessageBytes)
	}
	prefix := binary.AppendUvarint(nil, size)
	raw = append(prefix, make([]byte, size)...)
	message = raw[len(prefix):]
	if _, err := io.ReadFull(r, message); err != nil {
		return nil, nil, ipc.Unexpected(err)
	}
	return raw, message, nil
}

// checksums reads how many bytes each checksum of a data packet covers and how
// long a checksum is. response is the DataNode's answer to a request to read a block.
// The library decodes it, and the headers of packets, by the same rules.
func (d *dataNodeConn) checksums(response []byte) error {
	var r hdfspb.BlockResponse
	if err := proto.Unmarshal(response, &r); err != nil || r.Checksums == nil {
		return err // the DataNode refused the request, so its answer does not describe checksums
	}
	sum, offset := r.Checksums.GetChecksum(), int64(r.Checksums.Offset)
	chunk := sum.GetBytesPerChecksum()
	if chunk < 1 || chunk > maxPacketBytes || offset < 0 {
		return fmt.Errorf("announced a checksum for each %d bytes from byte %d on", chunk, offset)
	}
	d.chunkBytes, d.sumBytes, d.at = int(chunk), 4, offset
	if sum.GetKind() == 0 {
		d.sumBytes = 0
	}
	return nil
}

// packet reads the start of a data packet: 4 bytes with the packet's length, 2
// bytes with the header's length, then the header, a PacketHeaderProto with
// the length of the data. It refuses impossible lengths.
func (d *dataNodeConn) packet() error {
	head, err := d.r.Peek(6)
	if err != nil {
		return ipc.Unexpected(err)
	}
	size, headerBytes := int32(binary.BigEndian.Uint32(head)), int(binary.BigEndian.Uint16(head[4:]))
	d.ready = make([]byte, 6+headerBytes)
	if _, err := io.ReadFull(d.r, d.ready); err != nil {
		return ipc.Unexpected(err)
	}
	var header hdfspb.PacketHeader
	if err := proto.Unmarshal(d.ready[6:], &header); err != nil {
		return err
	}
	data := int64(header.DataLength)
	switch {
	case size < 4 || size > maxPacketBytes:
		return fmt.Errorf("announced a packet of %d bytes; want 4 to %d", size, maxPacketBytes)
	case data == 0 && d.at < d.end:
		return errors.New("the block ended before the length that the NameNode reported")
	case data == 0 && size == 4:
		return nil // the last data packet of a block is empty, and the library may read it before the requested data ends
	case data < 0 || d.chunkBytes == 0:
		return fmt.Errorf("announced %d bytes of data", data)
	}
	chunks := (data + int64(d.chunkBytes) - 1) / int64(d.chunkBytes)
	if follows := chunks*int64(d.sumBytes) + data; follows != int64(size)-4 {
		return fmt.Errorf("announced a packet of %d bytes, which does not match %d bytes of data with checksums", size, data)
	}
	d.data = int(size) - 4
	d.at += data
	return nil
}
