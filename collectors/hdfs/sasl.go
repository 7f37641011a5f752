package hdfs

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/chksumtype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	krbtypes "github.com/jcmturner/gokrb5/v8/types"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/collectors/hdfs/ipc"
)

// A NameNode that is secured by Kerberos and its client first prove to each other who
// they are (SASL with the mechanism GSSAPI). Then all that they send is signed or
// encrypted, if the NameNode wants that (hadoop.rpc.protection). Both stand in this file
// alone: a saslConn passes on the same frames that a NameNode without Kerberos sends.
//
// The library colinmarc/hdfs gets such a connection too, and believes that there is no
// Kerberos. Its own Kerberos client sends its calls neither signed nor encrypted
// (v2.4.0), whatever was agreed, and keeps the tickets that it was made with.

// Kerberos says how to prove to HDFS who the user is.
type Kerberos struct {
	// Login returns a client with a valid ticket, and one for a service if that is not
	// empty. It is called for each connection, and returns when the context ends.
	Login func(ctx context.Context, service string) (*client.Client, error)
	// NameNode is the NameNodes' principal without its realm, such as "nn/_HOST".
	// _HOST stands for the host of the NameNode's address.
	NameNode string
	// Calls is the least protection of calls on their way: authentication, integrity
	// or privacy, as in hadoop.rpc.protection. A NameNode that offers less is refused.
	// Empty means authentication.
	Calls string
	// Protection is the least protection of blocks on their way, as in
	// dfs.data.transfer.protection. It is empty if DataNodes have privileged ports
	// instead.
	Protection string
}

const (
	// protections that both sides agree on, as GSSAPI numbers them
	unprotected = 1
	signed      = 2
	encrypted   = 4
	// maxSendBytes is how long a frame of the NameNode may be, by what we tell it; it
	// has 3 bytes for that.
	maxSendBytes = 1<<24 - 1
	// maxStepBytes is how long a step of the proof may be. Real ones have some hundred
	// bytes.
	maxStepBytes = 64 << 10
)

// protections are the values of hadoop.rpc.protection, by GSSAPI's number. A higher one
// protects more.
var protections = map[byte]string{unprotected: "authentication", signed: "integrity", encrypted: "privacy"}

// protectionOf returns the number of a protection, and 0 if there is none of the name.
func protectionOf(name string) byte {
	for number, is := range protections {
		if is == name {
			return number
		}
	}
	return 0
}

// dial connects to a NameNode. It returns the name by which the NameNode is to call the
// user, and if the cluster is secured it greets the NameNode and proves who the user is.
func (c *Client) dial(ctx context.Context, network, address string) (nc net.Conn, user string, err error) {
	plain, err := c.options.DialContext(ctx, network, address)
	if err != nil || c.options.Kerberos == nil {
		return plain, c.options.User, err
	}
	stop := context.AfterFunc(ctx, func() { _ = plain.SetDeadline(time.Unix(1, 0)) }) // may run after the return, when nc is nil
	secured, user, err := c.prove(ctx, plain, address)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		plain.Close()
		if ctx.Err() != nil && errors.Is(err, os.ErrDeadlineExceeded) {
			err = fmt.Errorf("it has not answered where it has to prove who it is: %w", context.Cause(ctx))
		}
		return nil, "", err
	}
	return secured, user, nil
}

// prove greets a NameNode and proves who the user is.
func (c *Client) prove(ctx context.Context, nc net.Conn, address string) (*saslConn, string, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, "", err
	}
	service := strings.Replace(c.options.Kerberos.NameNode, "_HOST", strings.ToLower(host), 1)
	login, err := c.options.Kerberos.Login(ctx, service)
	if err != nil {
		return nil, "", err
	}
	ticket, key, err := login.GetServiceTicket(service)
	if err != nil {
		return nil, "", fmt.Errorf("%w: get a ticket for %s: %w", ErrKerberos, service, err)
	}
	proof, key, first, err := proofFor(login, ticket, key)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w", ErrKerberos, err)
	}
	s := &saslConn{
		Conn: nc, address: address, clientID: c.clientID[:], key: key, maxFrame: maxStepBytes, sends: first, receives: first,
		r: bufio.NewReaderSize(nc, 64<<10),
	}
	if _, err := nc.Write(ipc.Greeting(ipc.ViaSASL)); err != nil {
		return nil, "", err
	}
	methods, err := s.ask(&hdfspb.Sasl{State: hdfspb.Sasl_NEGOTIATE.Enum()}, hdfspb.Sasl_NEGOTIATE)
	if err != nil {
		return nil, "", err
	}
	var gss *hdfspb.SaslMethod
	for _, m := range methods.Methods {
		if m.GetMethod() == "KERBEROS" && m.GetMechanism() == "GSSAPI" {
			gss = &hdfspb.SaslMethod{Method: m.Method, Mechanism: m.Mechanism, Protocol: m.Protocol, ServerId: m.ServerId}
		}
	}
	if gss == nil {
		return nil, "", fmt.Errorf("%w: the NameNode does not offer Kerberos; is security: kerberos right in the cluster file?", ErrKerberos)
	}
	begin := &hdfspb.Sasl{State: hdfspb.Sasl_INITIATE.Enum(), Token: proof, Methods: []*hdfspb.SaslMethod{gss}}
	offer, err := s.ask(begin, hdfspb.Sasl_CHALLENGE)
	if err != nil {
		return nil, "", err
	}
	// The NameNode signs which protections it takes. Only who has the key of the service
	// can read the key of this connection, so this is its proof to us.
	offered, err := s.unwrap(offer.GetToken(), false)
	if err == nil && len(offered) != 4 {
		err = errToken
	}
	if err != nil {
		return nil, "", fmt.Errorf("%w: the NameNode cannot prove that it is %s: %w", ErrKerberos, service, err)
	}
	chosen, err := c.choose(offered[0])
	if err != nil {
		return nil, "", err
	}
	answer := make([]byte, 4)
	if chosen != unprotected {
		binary.BigEndian.PutUint32(answer, maxSendBytes)
	}
	answer[0] = chosen
	answer, err = s.wrap(answer, false)
	if err != nil {
		return nil, "", err
	}
	if _, err = s.ask(&hdfspb.Sasl{State: hdfspb.Sasl_RESPONSE.Enum(), Token: answer}, hdfspb.Sasl_SUCCESS); err != nil {
		return nil, "", err
	}
	s.protection, s.maxFrame = chosen, ipc.MaxFrameBytes
	return s, login.Credentials.UserName() + "@" + login.Credentials.Domain(), nil
}

// proofFor returns the token that proves to a service who the user is, a new key for one
// connection with it, and the number of the connection's first token. With the ticket's
// key instead, answers of an earlier connection could be sent again.
func proofFor(login *client.Client, ticket messages.Ticket, ticketKey krbtypes.EncryptionKey) (
	proof []byte, key krbtypes.EncryptionKey, first uint64, err error,
) {
	token, err := spnego.NewKRB5TokenAPREQ(login, ticket, ticketKey, nil, nil)
	if err != nil {
		return nil, key, 0, err
	}
	who, err := krbtypes.NewAuthenticator(login.Credentials.Domain(), login.Credentials.CName())
	if err != nil {
		return nil, key, 0, err
	}
	kind, err := crypto.GetEtype(ticketKey.KeyType)
	if err != nil {
		return nil, key, 0, err
	}
	if err := who.GenerateSeqNumberAndSubKey(ticketKey.KeyType, kind.GetKeyByteSize()); err != nil {
		return nil, key, 0, err
	}
	// RFC 4121, section 4.1.1: the length of no channel's binding, the binding, the flags.
	sum := make([]byte, 24)
	binary.LittleEndian.PutUint32(sum, 16)
	binary.LittleEndian.PutUint32(sum[20:], gssapi.ContextFlagReplay|gssapi.ContextFlagSequence|gssapi.ContextFlagInteg|gssapi.ContextFlagConf)
	who.Cksum = krbtypes.Checksum{CksumType: chksumtype.GSSAPI, Checksum: sum}
	if token.APReq, err = messages.NewAPReq(ticket, ticketKey, who); err != nil {
		return nil, key, 0, err
	}
	proof, err = token.Marshal()
	return proof, who.SubKey, uint64(who.SeqNumber), err
}

// choose returns the strongest of the protections that a NameNode offers.
func (c *Client) choose(offered byte) (byte, error) {
	least := protectionOf(c.options.Kerberos.Calls)
	var chosen byte
	for number := range protections {
		if offered&number != 0 {
			chosen = max(chosen, number)
		}
	}
	switch {
	case chosen == 0:
		return 0, fmt.Errorf("%w: the NameNode offers no protection of calls that is known (%#x)", ErrKerberos, offered)
	case chosen < least:
		return 0, fmt.Errorf("%w: the NameNode offers %s for calls, and rpcProtection of the cluster file wants %s; "+
			"set hadoop.rpc.protection=%[3]s in the NameNode's core-site.xml, or rpcProtection: %[2]s",
			ErrKerberos, protections[chosen], protections[least])
	}
	return chosen, nil
}

// saslConn is a connection whose two sides know each other. Its Read and Write carry the
// frames inside of what is signed or encrypted.
type saslConn struct {
	net.Conn
	address    string
	clientID   []byte
	key        krbtypes.EncryptionKey // of this connection alone
	protection byte
	maxFrame   int // in bytes
	// sends and receives are the numbers of the next token in each direction. A token
	// with another number was sent before, left out, or is not in its order.
	sends, receives uint64
	r               *bufio.Reader
	ready           []byte // bytes of the NameNode's frames that were not read yet
}

// ask sends a step of the proof, and returns the next one of the NameNode.
func (s *saslConn) ask(step *hdfspb.Sasl, want hdfspb.Sasl_State) (*hdfspb.Sasl, error) {
	if err := s.send(step); err != nil {
		return nil, err
	}
	next, err := s.receive()
	if err == nil && (next.State == nil || next.GetState() != want) {
		err = fmt.Errorf("%w: the NameNode answered %v to %v, want %v", ErrKerberos, next.GetState(), step.GetState(), want)
	}
	return next, err
}

func (s *saslConn) send(step *hdfspb.Sasl) error {
	frame, err := ipc.AppendFrame(nil, ipc.RequestHeader(ipc.SASLCall, ipc.NoRetry, s.clientID), step)
	if err == nil {
		_, err = s.Conn.Write(frame)
	}
	return err
}

func (s *saslConn) receive() (*hdfspb.Sasl, error) {
	frame, err := ipc.ReadFrame(s.r, s.maxFrame)
	if err != nil {
		return nil, err
	}
	header, body, err := ipc.ParseReply(frame)
	if err != nil {
		return nil, &ipc.ProtocolError{What: "answer not understood: " + err.Error()}
	}
	if header.GetStatus() != hdfspb.ResponseHeader_SUCCESS {
		return nil, remoteError(s.address, header)
	}
	if int32(header.GetCallId()) != ipc.SASLCall {
		return nil, &ipc.ProtocolError{What: fmt.Sprintf("answered call %d where it has to prove who it is", int32(header.GetCallId()))}
	}
	step := &hdfspb.Sasl{}
	return step, unmarshal(body, step)
}

// Write sends frames, signed or encrypted as both sides have agreed.
func (s *saslConn) Write(b []byte) (int, error) {
	if s.protection == unprotected {
		return s.Conn.Write(b)
	}
	token, err := s.wrap(b, s.protection == encrypted)
	if err == nil {
		err = s.send(&hdfspb.Sasl{State: hdfspb.Sasl_WRAP.Enum(), Token: token})
	}
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

// Read reads the bytes of frames.
func (s *saslConn) Read(b []byte) (int, error) {
	if s.protection == unprotected {
		return s.r.Read(b)
	}
	for len(s.ready) == 0 {
		step, err := s.receive()
		if err != nil {
			return 0, err
		}
		if step.GetState() != hdfspb.Sasl_WRAP {
			return 0, &ipc.ProtocolError{What: fmt.Sprintf("sent %v where its answers are to be wrapped", step.GetState())}
		}
		if s.ready, err = s.unwrap(step.GetToken(), s.protection == encrypted); err != nil {
			return 0, fmt.Errorf("%w: an answer of the NameNode is not as it was sent: %w", ErrKerberos, err)
		}
		if len(s.ready) == 0 {
			return 0, &ipc.ProtocolError{What: "sent an answer of no bytes"}
		}
	}
	n := copy(b, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}
