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

func TestTokenIn(t *testing.T) {
	long := strings.Repeat("p", 300)
	file := "HDTS\x00\x02" + "\x01a\x02id\x02pw\x05OTHER\x00" + "\x01b\x03id2\x8e\x01\x2c" + long + "\x04KIND\x01s"
	got, err := TokenIn([]byte(file), "KIND")
	if err != nil || string(got.ID) != "id2" || string(got.Password) != long {
		t.Errorf("token %+v, error %v", got, err)
	}
	for i := range len(file) - 8 {
		if _, err := TokenIn([]byte(file[:i]), "KIND"); err == nil {
			t.Errorf("a file that ends after %d bytes has a token", i)
		}
	}
}

func FuzzTokenIn(f *testing.F) {
	f.Add([]byte("HDTS\x00\x01\x01a\x02id\x02pw\x05OTHER\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = TokenIn(b, "KIND")
		for range Message(b).Fields() {
		}
		Message(b).Get(1, 2, 3)
	})
}
