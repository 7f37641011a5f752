package ipc

import (
	"errors"
	"net"
	"strings"
	"testing"
)

// TestCallAndServe: the client and the server of this package understand each other.
func TestCallAndServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		_ = Serve(nc, func(method string, request []byte) ([]byte, error) {
			if method != "double" {
				return nil, errors.New("no method " + method)
			}
			return Message{}.Int(1, 2*Message(request).Number(1)), nil
		})
	}()
	c, err := Dial(t.Context(), l.Addr().String(), "some.Protocol", "me", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(net.ErrClosed)
	got, err := c.Call(t.Context(), "double", Message{}.Int(1, 21))
	if err != nil || Message(got).Number(1) != 42 {
		t.Errorf("the answer is %d, error %v", Message(got).Number(1), err)
	}
	var refused *RemoteError
	if _, err := c.Call(t.Context(), "halve", nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), "no method halve") {
		t.Errorf("error %v, want the server's refusal", err)
	}
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(Message{}.Text(1, "a").Int(2, 3).Float(3, 4).Put(4, Message{}.Int(1, -1))))
	f.Fuzz(func(_ *testing.T, b []byte) {
		for range Message(b).Fields() {
		}
		Message(b).Get(1, 2, 3)
		Message(b).Number(1)
	})
}
