package ipc

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"heddle/collectors/hdfs/internal/hdfspb"
)

// Token is what proves to a daemon that the bearer may call it.
type Token struct{ ID, Password []byte }

// RemoteError is an exception that a server sent in its answer.
type RemoteError struct{ Class, Message string }

func (e *RemoteError) Error() string {
	return fmt.Sprintf("%s (%s)", e.Message, e.Class[strings.LastIndexByte(e.Class, '.')+1:])
}

func remote(h *hdfspb.ResponseHeader) error {
	message, _, _ := strings.Cut(h.GetErrorMessage(), "\n\tat ")
	return &RemoteError{h.GetExceptionClass(), message}
}

// Caller calls one protocol of a server on one connection. Its calls may overlap.
type Caller struct {
	*Conn
	protocol string
	clientID [16]byte
	last     atomic.Int32
}

// Dial connects to a server as a user or, if the token is not nil, by that.
func Dial(ctx context.Context, address, protocol, user string, token *Token) (*Caller, error) {
	c := &Caller{protocol: protocol}
	rand.Read(c.clientID[:])
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	context := &hdfspb.ConnectionContext{Protocol: &protocol}
	var hello []byte
	if token == nil {
		context.UserInfo = &hdfspb.UserInformation{EffectiveUser: &user}
		hello = Greeting(0)
	} else if err := c.prove(ctx, nc, token); err != nil {
		nc.Close()
		return nil, fmt.Errorf("prove a token to %s: %w", address, err)
	}
	if hello, err = AppendFrame(hello, RequestHeader(ContextCall, NoRetry, c.clientID[:]), context); err != nil {
		nc.Close()
		return nil, err
	}
	c.Conn, err = Open(ctx, nc, address, hello, remote)
	return c, err
}

// Lost reports whether the connection has ended.
func (c *Caller) Lost() bool {
	select {
	case <-c.Done():
		return true
	default:
		return false
	}
}

// Call makes a call and returns the message of its answer. A refusal is a RemoteError.
func (c *Caller) Call(ctx context.Context, method string, request []byte) ([]byte, error) {
	id := c.last.Add(1)
	frame, err := AppendFrame(nil, RequestHeader(id, 0, c.clientID[:]), &hdfspb.MethodHeader{
		MethodName: &method, Protocol: &c.protocol, ProtocolVersion: proto.Uint64(1),
	})
	if err != nil {
		return nil, err
	}
	r, err := c.Conn.Call(ctx, id, Lengthened(frame, delimited(request)))
	if err == nil && r.Header.GetStatus() != hdfspb.ResponseHeader_SUCCESS {
		err = remote(r.Header)
	}
	if err != nil {
		return nil, fmt.Errorf("%s of %s: %w", method, c.Address, err)
	}
	return r.Body, nil
}

// proofLimit is how long a server may take for its part of a proof.
const proofLimit = 30 * time.Second

// prove greets a server and proves that the caller has a token.
func (c *Caller) prove(ctx context.Context, nc net.Conn, token *Token) error {
	deadline := time.Now().Add(proofLimit)
	if until, ok := ctx.Deadline(); ok && until.Before(deadline) {
		deadline = until
	}
	_ = nc.SetDeadline(deadline)
	if _, err := nc.Write(Greeting(ViaSASL)); err != nil {
		return err
	}
	r := bufio.NewReader(nc)
	offer, err := c.step(nc, r, &hdfspb.Sasl{State: hdfspb.Sasl_NEGOTIATE.Enum()})
	if err != nil {
		return err
	}
	for _, m := range offer.Methods {
		if m.GetMethod() != "TOKEN" || m.GetMechanism() != "DIGEST-MD5" {
			continue
		}
		text := base64.StdEncoding.EncodeToString
		d, _, err := NewDigest(m.GetChallenge(), text(token.ID), text(token.Password), m.GetProtocol()+"/"+m.GetServerId())
		if err != nil {
			return err
		}
		d.QOP = "auth"
		method := &hdfspb.SaslMethod{Method: m.Method, Mechanism: m.Mechanism, Protocol: m.Protocol, ServerId: m.ServerId}
		done, err := c.step(nc, r, &hdfspb.Sasl{
			State: hdfspb.Sasl_INITIATE.Enum(), Token: []byte(d.Reply()), Methods: []*hdfspb.SaslMethod{method},
		})
		if err != nil {
			return err
		}
		if done.GetState() != hdfspb.Sasl_SUCCESS || !hmac.Equal(done.GetToken(), []byte("rspauth="+d.Response(""))) {
			return errors.New("the server does not prove that it knows the token's password")
		}
		return nc.SetDeadline(time.Time{})
	}
	return errors.New("the server takes no token")
}

// step sends a step of a proof and returns the server's next.
func (c *Caller) step(nc net.Conn, r *bufio.Reader, step *hdfspb.Sasl) (*hdfspb.Sasl, error) {
	frame, err := AppendFrame(nil, RequestHeader(SASLCall, NoRetry, c.clientID[:]), step)
	if err == nil {
		_, err = nc.Write(frame)
	}
	if err == nil {
		frame, err = ReadFrame(r, trustedBytes)
	}
	if err != nil {
		return nil, err
	}
	h, body, err := ParseReply(frame)
	if err == nil && h.GetStatus() != hdfspb.ResponseHeader_SUCCESS {
		err = remote(h)
	}
	next := &hdfspb.Sasl{}
	if err == nil {
		err = proto.Unmarshal(body, next)
	}
	return next, err
}

// Serve answers the calls of one connection until it ends. answer gets the method and the
// message of a request, and returns the message of the answer. Who calls is not asked: a
// client that has a token takes the offer to go on without.
func Serve(nc net.Conn, answer func(method string, request []byte) ([]byte, error)) error {
	defer nc.Close()
	r := bufio.NewReader(nc)
	if _, err := r.Discard(len(Greeting(0))); err != nil {
		return err
	}
	for {
		frame, err := ReadFrame(r, MaxFrameBytes)
		if errors.Is(err, io.EOF) {
			return nil
		}
		h, m, step := &hdfspb.RequestHeader{}, &hdfspb.MethodHeader{}, &hdfspb.Sasl{}
		if err == nil {
			frame, err = Next(frame, h)
		}
		if err != nil {
			return err
		}
		reply := &hdfspb.ResponseHeader{
			CallId: new(uint32(h.GetCallId())), //nolint:gosec // as Hadoop does
			Status: hdfspb.ResponseHeader_SUCCESS.Enum(), ServerIpcVersion: 9,
		}
		var out []byte
		switch id := h.GetCallId(); {
		case id == SASLCall:
			if _, err = Next(frame, step); err == nil && step.GetState() == hdfspb.Sasl_NEGOTIATE {
				none := ""
				out, err = AppendFrame(nil, reply, &hdfspb.Sasl{
					State: step.State, Methods: []*hdfspb.SaslMethod{{Method: new("SIMPLE"), Mechanism: &none}},
				})
			}
		case id < 0: // who calls, or a sign of life
		default:
			var body []byte
			if frame, err = Next(frame, m); err == nil {
				request, _ := protowire.ConsumeBytes(frame)
				body, err = answer(m.GetMethodName(), request)
			}
			if err != nil {
				reply.Status, reply.ExceptionClass, reply.ErrorMessage = hdfspb.ResponseHeader_ERROR.Enum(), "java.io.IOException", err.Error()
				out, err = AppendFrame(nil, reply)
			} else if out, err = AppendFrame(nil, reply); err == nil {
				out = Lengthened(out, delimited(body))
			}
		}
		if err == nil {
			_, err = nc.Write(out)
		}
		if err != nil {
			return err
		}
	}
}
