package hdfstest

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"heddle/collectors/hdfs/internal/hdfspb"
)

// Misdeed is a fault that the fake NameNode shows: a fault of a NameNode, or of
// whatever else listens at the address. With each of them, a client cannot get
// a correct answer.
type Misdeed struct {
	Name  string
	serve func(c net.Conn) // function that serves one client wrongly; it returns when the client has left
}

// Misdeeds returns all faults that the fake NameNode can show.
func Misdeeds() []Misdeed { return slices.Clone(misdeeds) }

var misdeeds = []Misdeed{
	{"silent", func(c net.Conn) { io.Copy(io.Discard, c) }}, //nolint:errcheck // until the client leaves
	{"closes at once", func(net.Conn) {}},
	{"closes after the first call", each(func(net.Conn, string, uint32) error { return io.EOF })},
	{"resets", each(func(c net.Conn, _ string, _ uint32) error {
		c.(*net.TCPConn).SetLinger(0) //nolint:errcheck // as rude as it gets
		return io.EOF
	})},
	{"a web server", say("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")},
	{"an SSH server", say("SSH-2.0-OpenSSH_9.2\r\n")},
	{"control characters", say("\x1b[2J\x1b]0;title\x07\xff\xfe")},
	{"a frame of no bytes", say("\x00\x00\x00\x00")},
	{"a frame of 4 GiB", say(string(frameLength(1<<32 - 1)))},
	{"a frame of 129 MiB", say(string(frameLength(129 << 20)))},
	{"a frame of 100 MiB that never comes", with(func(string, uint32) []byte { return frameLength(100 << 20) })},
	{"a frame that is cut off", each(func(c net.Conn, method string, id uint32) error {
		whole := answerTo(method, id)
		c.Write(whole[:len(whole)-1]) //nolint:errcheck // it ends here
		return io.EOF
	})},
	{"a byte a second", each(func(c net.Conn, _ string, _ uint32) error {
		for _, b := range append(frameLength(1<<20), make([]byte, 1<<20)...) {
			if _, err := c.Write([]byte{b}); err != nil {
				return err
			}
			<-time.After(time.Second)
		}
		return nil
	})},
	{"no header", with(func(string, uint32) []byte { return append(frameLength(2), 0x7f, 'a') })},
	{"a header without a message", with(func(_ string, id uint32) []byte {
		return frame(&hdfspb.ResponseHeader{CallId: &id, Status: hdfspb.ResponseHeader_SUCCESS.Enum()})
	})},
	{"no message but bytes", with(func(_ string, id uint32) []byte {
		f := frame(&hdfspb.ResponseHeader{CallId: &id, Status: hdfspb.ResponseHeader_SUCCESS.Enum()})
		f = append(f, 3, 0x0a, 0x7f, 'x')
		binary.BigEndian.PutUint32(f, uint32(len(f)-4))
		return f
	})},
	{"answers to calls that nobody made", with(func(method string, id uint32) []byte { return answerTo(method, id+1000) })},
	{"endless answers to calls that nobody made", each(func(c net.Conn, method string, id uint32) error {
		for {
			if _, err := c.Write(answerTo(method, id+1000)); err != nil {
				return err
			}
			<-time.After(time.Millisecond)
		}
	})},
	{"an empty answer", with(func(method string, id uint32) []byte {
		if method == "getHAServiceState" {
			return answerTo(method, id)
		}
		return reply(id, &hdfspb.Empty{})
	})},
	{"standby", with(func(method string, id uint32) []byte {
		if method == "getHAServiceState" {
			return reply(id, &hdfspb.GetHAServiceStateResponse{State: hdfspb.GetHAServiceStateResponse_STANDBY})
		}
		return refusal(id, "org.apache.hadoop.ipc.StandbyException", "Operation category READ is not supported in state standby", 0)
	})},
	{"says it is active, and is in standby", with(func(method string, id uint32) []byte {
		if method == "getHAServiceState" {
			return answerTo(method, id)
		}
		return refusal(id, "org.apache.hadoop.ipc.StandbyException", "Operation category READ is not supported in state standby", 0)
	})},
	{"starting", refuse("org.apache.hadoop.ipc.RetriableException", "NameNode still not started", 0)},
	{"demands Kerberos", func(c net.Conn) {
		if _, err := greet(c); err == nil {
			f := frame(&hdfspb.ResponseHeader{
				CallId: proto.Uint32(1<<32 - 1), Status: hdfspb.ResponseHeader_FATAL.Enum(),
				ExceptionClass: "org.apache.hadoop.security.AccessControlException", ErrorMessage: "SIMPLE authentication is not enabled.",
				ErrorDetail: hdfspb.ResponseHeader_FATAL_UNAUTHORIZED,
			})
			c.Write(f)             //nolint:errcheck // it ends here
			io.Copy(io.Discard, c) //nolint:errcheck // until the client leaves
		}
	}},
	{"another daemon's RPC port", refuse("org.apache.hadoop.ipc.RpcNoSuchProtocolException",
		"Unknown protocol: org.apache.hadoop.hdfs.protocol.ClientProtocol", hdfspb.ResponseHeader_ERROR_NO_SUCH_PROTOCOL)},
	{"an exception", refuse("java.lang.NullPointerException", "null", hdfspb.ResponseHeader_ERROR_APPLICATION)},
	{"an endless exception", refuse("java.io.IOException", strings.Repeat("x\n", 1<<20), hdfspb.ResponseHeader_ERROR_APPLICATION)},
}

// say returns a fault: the server sends the same text, whatever a client
// requests.
func say(text string) func(net.Conn) {
	return func(c net.Conn) {
		go io.Copy(io.Discard, c)           //nolint:errcheck // until the client leaves
		io.WriteString(c, text)             //nolint:errcheck // the client may have left
		<-time.After(10 * time.Millisecond) // the server waits, so that the client can read the text before the connection ends
	}
}

// each returns a fault: the function write sends a wrong answer to every RPC
// call of a client. An error of that function ends the connection.
func each(write func(c net.Conn, method string, id uint32) error) func(net.Conn) {
	return func(c net.Conn) {
		calls, err := greet(c)
		for err == nil {
			var method string
			var id uint32
			if method, id, err = calls.next(); err == nil {
				err = write(c, method, id)
			}
		}
	}
}

// with returns a fault: the server answers each RPC call of a client by the
// bytes that the function answer returns.
func with(answer func(method string, id uint32) []byte) func(net.Conn) {
	return each(func(c net.Conn, method string, id uint32) error {
		_, err := c.Write(answer(method, id))
		return err
	})
}

// Refuses returns a fault: an active NameNode refuses each call by an exception.
func Refuses(class, text string) Misdeed {
	return Misdeed{class, with(func(method string, id uint32) []byte {
		if method == "getHAServiceState" {
			return answerTo(method, id)
		}
		return refusal(id, class, text, hdfspb.ResponseHeader_ERROR_APPLICATION)
	})}
}

// refuse returns a fault: the server answers each RPC call of a client by the
// same Java exception.
func refuse(class, text string, detail hdfspb.ResponseHeader_Detail) func(net.Conn) {
	return with(func(_ string, id uint32) []byte { return refusal(id, class, text, detail) })
}

// frameLength returns the length of a frame as the four bytes with which a
// frame of Hadoop IPC starts.
func frameLength(size uint32) []byte { return binary.BigEndian.AppendUint32(nil, size) }
