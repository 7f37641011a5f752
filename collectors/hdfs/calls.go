package hdfs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/collectors/hdfs/ipc"
)

// libraryCalls is what the library colinmarc/hdfs takes for its connection to a
// NameNode. The library makes one call after the other, and gives up when a
// connection breaks or a NameNode is a standby. So each of its calls becomes a call of
// the Client: on the Client's connection, with ids of the Client, and repeated.
//
// An answer is passed on only when all its bytes have arrived, so that memory is
// allocated only for bytes that exist. A call ends with the context of the library's
// client.
type libraryCalls struct {
	net.Conn // always nil: the library calls only the methods below

	c       *Client
	ctx     context.Context // ends the calls
	greeted int             // how many writes of the library's greeting are done
	call    []byte          // what the library has written of its call
	ready   []byte          // bytes of the answer, with its length, that the library has not read yet
}

// greetings is how many writes the library greets a NameNode with: that it speaks
// Hadoop IPC, and who it is. The Client has greeted the NameNode already.
const greetings = 2

func (l *libraryCalls) Write(b []byte) (int, error) {
	if l.greeted < greetings {
		l.greeted++
	} else {
		l.call = append(l.call, b...)
	}
	return len(b), nil
}

func (l *libraryCalls) Read(b []byte) (int, error) {
	if len(l.ready) == 0 {
		var err error
		l.ready, err = l.answer()
		l.call = l.call[:0]
		if err != nil {
			return 0, err
		}
	}
	k := copy(b, l.ready)
	l.ready = l.ready[k:]
	return k, nil
}

// Close does nothing: the connection is the Client's.
func (l *libraryCalls) Close() error { return nil }

// maxLibraryBytes is how long an answer for the library may be. It decodes answers with as
// many messages as they announce, and two bytes can become a message that takes some 200
// bytes of memory. The locations of 9,000 blocks fit.
const maxLibraryBytes = 2 * maxMessages

// answer makes the library's call and returns the frame with the answer. An exception
// of the NameNode is an answer too.
func (l *libraryCalls) answer() ([]byte, error) {
	const lengthBytes = 4
	var theirs hdfspb.RequestHeader
	request, err := ipc.Next(l.call[min(lengthBytes, len(l.call)):], &theirs) // request is the method and its parameter
	if err != nil {
		return nil, errors.New("hdfs: the library colinmarc/hdfs calls the NameNode in a new way")
	}
	id := l.c.nextCallID()
	var r ipc.Reply
	err = l.c.repeated(l.ctx, func(retry int32) error {
		r = ipc.Reply{}
		return l.c.attempt(l.ctx, func(ctx context.Context, cn *ipc.Conn) error {
			frame, err := ipc.AppendFrame(nil, ipc.RequestHeader(id, retry, l.c.clientID[:]))
			if err != nil {
				return err
			}
			r, err = l.c.exchange(ctx, cn, id, ipc.Lengthened(frame, request))
			return err
		})
	})
	if remote := (*RemoteError)(nil); r.Header == nil || err != nil && (l.ctx.Err() != nil || !errors.As(err, &remote) || remote.standby()) {
		return nil, err
	}
	if len(r.Body) > maxLibraryBytes {
		return nil, fmt.Errorf("NameNode %s: answered a call about files with %d bytes, want at most %d; "+
			"a file of so many blocks can be read by 'hdfs dfs -cat'",
			strings.Join(l.c.options.NameNodes, ", "), len(r.Body), maxLibraryBytes)
	}
	r.Header.CallId = new(uint32(theirs.GetCallId()))
	frame, err := ipc.AppendFrame(nil, r.Header)
	if err != nil {
		return nil, fmt.Errorf("hdfs: pass an answer on: %w", err)
	}
	if r.Header.GetStatus() != hdfspb.ResponseHeader_SUCCESS {
		return frame, nil
	}
	return ipc.Lengthened(frame, protowire.AppendBytes(nil, l.believed(request, r.Body))), nil
}

// believed returns the answer to a request as the library is to believe it: that DataNodes
// encrypt nothing, where this package does that for it (proven.go).
func (l *libraryCalls) believed(request, body []byte) []byte {
	var m hdfspb.MethodHeader
	k := l.c.options.Kerberos
	if _, err := ipc.Next(request, &m); err != nil || k == nil || k.Protection == "" || m.GetMethodName() != "getServerDefaults" {
		return body
	}
	const defaults, encryptDataTransfer = 1, 6
	no := protowire.AppendVarint(protowire.AppendTag(nil, encryptDataTransfer, protowire.VarintType), 0)
	// What comes again is merged into the message before.
	return protowire.AppendBytes(protowire.AppendTag(slices.Clip(body), defaults, protowire.BytesType), no)
}
