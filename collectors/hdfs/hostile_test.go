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
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/spnego"
	krbtypes "github.com/jcmturner/gokrb5/v8/types"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/collectors/hdfs/ipc"
)

const (
	testRealm   = "TEST.REALM"
	testService = "nn/a"
)

// aliceAnd returns a Kerberos client of alice with a ticket for the service, and the
// service's keys. No KDC takes part.
func aliceAnd(t testing.TB) (*client.Client, *keytab.Keytab) {
	t.Helper()
	keys := keytab.New()
	cache := &credentials.CCache{}
	alice := krbtypes.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, "alice")
	cache.DefaultPrincipal.Realm, cache.DefaultPrincipal.PrincipalName = testRealm, alice
	start := time.Now().Add(-time.Minute)
	ends := start.Add(time.Hour)
	for _, service := range []string{"krbtgt/" + testRealm, testService} {
		mustDo(t, keys.AddEntry(service, testRealm, "a password", start, 1, etypeID.AES256_CTS_HMAC_SHA1_96))
		name := krbtypes.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, service)
		ticket, key, err := messages.NewTicket(alice, testRealm, name, testRealm, krbtypes.NewKrbFlags(), keys, etypeID.AES256_CTS_HMAC_SHA1_96,
			1, start, start, ends, ends)
		if err != nil {
			t.Fatal(err)
		}
		entry := &credentials.Credential{
			Key: key, AuthTime: start, StartTime: start, EndTime: ends, RenewTill: ends,
			Ticket: must(ticket.Marshal()),
		}
		entry.Server.Realm, entry.Server.PrincipalName = testRealm, name
		cache.Credentials = append(cache.Credentials, entry)
	}
	conf := must(config.NewFromString("[libdefaults]\n default_realm = " + testRealm + "\n"))
	login := must(client.NewFromCCache(cache, conf))
	return login, keys
}

// kerberosNameNode greets a client, has it prove who the user is, and then serves it as
// the fake NameNode does. Its functions change one thing that it says, to show a fault.
type kerberosNameNode struct {
	keys  *keytab.Keytab
	offer byte
	serve *fakeNameNode

	methods []*hdfspb.SaslMethod
	step    func(want hdfspb.Sasl_State, frame []byte) []byte // the frame of a step of the proof
	signed  func(token []byte) []byte                         // the token that signs the offer
	wrapped func(nth int, token []byte) [][]byte              // the tokens instead of the nth answer
	frames  func(nth int, frame []byte) []byte                // the frame instead of the nth answer
}

func (k *kerberosNameNode) raw(c net.Conn) {
	if err := k.talk(c); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
		panic(err)
	}
}

func (k *kerberosNameNode) talk(c net.Conn) error {
	r := bufio.NewReader(c)
	hello := make([]byte, len(ipc.Greeting(0)))
	if _, err := io.ReadFull(r, hello); err != nil {
		return err
	}
	if !bytes.Equal(hello, ipc.Greeting(ipc.ViaSASL)) {
		return fmt.Errorf("greeted with %q", hello)
	}
	s := &fakeSASL{Conn: c, r: r, nn: k}
	if _, err := s.next(hdfspb.Sasl_NEGOTIATE); err != nil {
		return err
	}
	methods := k.methods
	if methods == nil {
		methods = []*hdfspb.SaslMethod{
			{Method: new("TOKEN"), Mechanism: new("DIGEST-MD5")},
			{Method: new("KERBEROS"), Mechanism: new("GSSAPI"), Protocol: new("nn"), ServerId: new("a")},
		}
	}
	if err := s.say(&hdfspb.Sasl{State: hdfspb.Sasl_NEGOTIATE.Enum(), Methods: methods}); err != nil {
		return err
	}
	proof, err := s.next(hdfspb.Sasl_INITIATE)
	if err != nil {
		return err
	}
	token := &spnego.KRB5Token{}
	if err := token.Unmarshal(proof.GetToken()); err != nil {
		return err
	}
	ask := &token.APReq
	if err := ask.Ticket.DecryptEncPart(k.keys, nil); err != nil {
		return err
	}
	if err := ask.DecryptAuthenticator(ask.Ticket.DecryptedEncPart.Key); err != nil {
		return err
	}
	s.key, s.sends, s.receives = ask.Authenticator.SubKey, uint64(ask.Authenticator.SeqNumber), uint64(ask.Authenticator.SeqNumber)
	offer := s.wrap([]byte{k.offer, 0, 0xff, 0xff}, false)
	if k.signed != nil {
		offer = k.signed(offer)
	}
	if err := s.say(&hdfspb.Sasl{State: hdfspb.Sasl_CHALLENGE.Enum(), Token: offer}); err != nil {
		return err
	}
	answer, err := s.next(hdfspb.Sasl_RESPONSE)
	if err != nil {
		return err
	}
	chosen, err := s.unwrap(answer.GetToken(), false)
	if err != nil {
		return err
	}
	if err := s.say(&hdfspb.Sasl{State: hdfspb.Sasl_SUCCESS.Enum()}); err != nil {
		return err
	}
	s.chosen = chosen[0]
	s.ready = ipc.Greeting(0)
	return k.serve.serve(s)
}

// fakeSASL is a NameNode's end of a connection.
type fakeSASL struct {
	net.Conn
	r               *bufio.Reader
	nn              *kerberosNameNode
	key             krbtypes.EncryptionKey
	sends, receives uint64
	chosen          byte
	ready           []byte
	answers         int
}

func (s *fakeSASL) next(want hdfspb.Sasl_State) (*hdfspb.Sasl, error) {
	frame, err := ipc.ReadFrame(s.r, ipc.MaxFrameBytes)
	if err != nil {
		return nil, err
	}
	header, step := &hdfspb.RequestHeader{}, &hdfspb.Sasl{}
	next(next(frame, header), step)
	if header.GetCallId() != ipc.SASLCall || step.GetState() != want {
		return nil, fmt.Errorf("call %d, %v; want %d, %v", header.GetCallId(), step.GetState(), ipc.SASLCall, want)
	}
	return step, nil
}

func (s *fakeSASL) frame(step *hdfspb.Sasl) []byte {
	id := int32(ipc.SASLCall)
	return must(ipc.AppendFrame(nil, &hdfspb.ResponseHeader{CallId: new(uint32(id)), Status: hdfspb.ResponseHeader_SUCCESS.Enum()}, step))
}

func (s *fakeSASL) say(step *hdfspb.Sasl) error {
	frame := s.frame(step)
	if s.nn.step != nil {
		frame = s.nn.step(step.GetState(), frame)
	}
	_, err := s.Conn.Write(frame)
	return err
}

func (s *fakeSASL) wrap(text []byte, seal bool) []byte {
	token := wrapAs(s.key, text, seal, s.sends)
	s.sends++
	return token
}

// unwrap opens a token of the client as a strict NameNode does.
func (s *fakeSASL) unwrap(token []byte, seal bool) ([]byte, error) {
	if sequence := binary.BigEndian.Uint64(token[8:]); sequence != s.receives {
		return nil, fmt.Errorf("the client's token has number %d, want %d", sequence, s.receives)
	}
	s.receives++
	if seal {
		text, err := crypto.DecryptMessage(token[tokenHeaderLen:], s.key, keyusage.GSSAPI_INITIATOR_SEAL)
		return text[:max(0, len(text)-tokenHeaderLen)], err
	}
	var wrapped gssapi.WrapToken
	if err := wrapped.Unmarshal(token, false); err != nil {
		return nil, err
	}
	_, err := wrapped.Verify(s.key, keyusage.GSSAPI_INITIATOR_SEAL)
	return wrapped.Payload, err
}

func (s *fakeSASL) Read(b []byte) (int, error) {
	if len(s.ready) == 0 && s.chosen == unprotected {
		return s.r.Read(b)
	}
	if len(s.ready) == 0 {
		step, err := s.next(hdfspb.Sasl_WRAP)
		if err != nil {
			return 0, err
		}
		if s.ready, err = s.unwrap(step.GetToken(), s.chosen == encrypted); err != nil {
			return 0, err
		}
	}
	n := copy(b, s.ready)
	s.ready = s.ready[n:]
	return n, nil
}

func (s *fakeSASL) Write(b []byte) (int, error) {
	nth := s.answers
	s.answers++
	if s.nn.frames != nil {
		b = s.nn.frames(nth, b)
	}
	if s.chosen == unprotected {
		return s.Conn.Write(b)
	}
	tokens := [][]byte{s.wrap(b, s.chosen == encrypted)}
	if s.nn.wrapped != nil {
		tokens = s.nn.wrapped(nth, tokens[0])
	}
	for _, token := range tokens {
		if _, err := s.Conn.Write(s.frame(&hdfspb.Sasl{State: hdfspb.Sasl_WRAP.Enum(), Token: token})); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// secured returns a client of the NameNode that proves who the user is. least is the
// least protection of calls.
func secured(t testing.TB, login *client.Client, nn *kerberosNameNode, least string) *Client {
	t.Helper()
	cluster := fakeCluster{"a:1": {raw: nn.raw}}
	c := must(New(Options{
		NameNodes: []string{"a:1"}, User: "me", DialContext: cluster.dial, CallTimeout: time.Second, RetryFor: time.Nanosecond,
		Kerberos: &Kerberos{
			Login: func(context.Context, string) (*client.Client, error) { return login, nil }, NameNode: "nn/_HOST",
			Calls: least,
		},
	}))
	t.Cleanup(func() { c.Close() })
	return c
}

// answersStat answers each call as one for a file, whose length is the number of the call.
func answersStat() *fakeNameNode {
	return active(func(c fakeCall) fakeReply {
		if c.user != "alice@"+testRealm {
			panic("the user is " + c.user)
		}
		return fileReply(uint64(c.nth))
	})
}

// TestSecuredCalls: calls and answers pass in each protection that a NameNode offers.
func TestSecuredCalls(t *testing.T) {
	login, keys := aliceAnd(t)
	for offer, least := range map[byte]string{
		unprotected: "authentication", signed: "integrity", encrypted: "privacy",
		unprotected | signed | encrypted: "privacy", unprotected | signed: "",
	} {
		t.Run(fmt.Sprintf("%#x", offer), func(t *testing.T) {
			c := secured(t, login, &kerberosNameNode{keys: keys, offer: offer, serve: answersStat()}, least)
			for i := range 5 {
				if f, err := c.Stat(t.Context(), "/f"); err != nil || f.Length != int64(i) {
					t.Fatalf("call %d: %+v, %v", i, f, err)
				}
			}
		})
	}
}

// TestHostileNameNode: a NameNode that lies, or another on the way to it, is refused, with
// a message that says what it did.
func TestHostileNameNode(t *testing.T) {
	login, keys := aliceAnd(t)
	var earlier []byte // the offer of an earlier connection
	must(secured(t, login, &kerberosNameNode{keys: keys, offer: encrypted, serve: answersStat(), signed: func(token []byte) []byte {
		earlier = token
		return token
	}}, "").Stat(t.Context(), "/f"))
	var last []byte
	again := func(nth int, token []byte) [][]byte {
		if nth == 2 {
			return [][]byte{last}
		}
		last = token
		return [][]byte{token}
	}
	at := func(n int, change func([]byte) []byte) func(int, []byte) []byte {
		return func(nth int, b []byte) []byte {
			if nth == n {
				return change(b)
			}
			return b
		}
	}
	announce := func(length uint32) func([]byte) []byte {
		return func([]byte) []byte { return append(binary.BigEndian.AppendUint32(nil, length), "ab"...) }
	}
	stepIs := func(which hdfspb.Sasl_State, change func([]byte) []byte) func(hdfspb.Sasl_State, []byte) []byte {
		return func(is hdfspb.Sasl_State, frame []byte) []byte {
			if is == which {
				return change(frame)
			}
			return frame
		}
	}
	instead := func(step *hdfspb.Sasl) func([]byte) []byte {
		return func([]byte) []byte { return (&fakeSASL{}).frame(step) }
	}
	for _, x := range []struct {
		name, least string
		nn          kerberosNameNode
		want        string
	}{
		{"offers nothing", "", kerberosNameNode{offer: 0}, "offers no protection of calls that is known (0x0)"},
		{"offers what is unknown", "", kerberosNameNode{offer: 0xf8}, "offers no protection of calls that is known (0xf8)"},
		{
			"downgrades privacy to authentication", "privacy",
			kerberosNameNode{offer: unprotected},
			"offers authentication for calls, and rpcProtection of the cluster file wants privacy; set hadoop.rpc.protection=privacy",
		},
		{
			"downgrades privacy to integrity", "privacy",
			kerberosNameNode{offer: unprotected | signed},
			"offers integrity for calls, and rpcProtection of the cluster file wants privacy",
		},
		{"downgrades integrity", "integrity", kerberosNameNode{offer: unprotected}, "or rpcProtection: authentication"},
		{"changes its signed offer", "", kerberosNameNode{offer: encrypted, signed: func(token []byte) []byte {
			token = bytes.Clone(token)
			token[tokenHeaderLen] = unprotected
			return token
		}}, "cannot prove that it is nn/a: its signature is not that of its text"},
		{"signs with another key", "", kerberosNameNode{offer: encrypted, signed: func([]byte) []byte {
			return wrapAs(krbtypes.EncryptionKey{KeyType: etypeID.AES256_CTS_HMAC_SHA1_96, KeyValue: make([]byte, 32)}, []byte{encrypted, 0, 0, 0},
				false, 0)
		}}, "cannot prove that it is nn/a"},
		{
			"sends the offer of an earlier connection", "",
			kerberosNameNode{offer: encrypted, signed: func([]byte) []byte { return earlier }},
			"cannot prove that it is nn/a",
		},
		{"offers nothing to choose from", "", kerberosNameNode{methods: []*hdfspb.SaslMethod{}}, "does not offer Kerberos"},
		{
			"knows tokens only", "",
			kerberosNameNode{methods: []*hdfspb.SaslMethod{{Method: new("TOKEN"), Mechanism: new("DIGEST-MD5")}}},
			"does not offer Kerberos",
		},
		{"takes any user", "", kerberosNameNode{methods: []*hdfspb.SaslMethod{{Method: new("SIMPLE")}}}, "does not offer Kerberos"},
		{
			"believes without a proof", "",
			kerberosNameNode{
				offer: encrypted,
				step:  stepIs(hdfspb.Sasl_NEGOTIATE, instead(&hdfspb.Sasl{State: hdfspb.Sasl_SUCCESS.Enum()})),
			},
			"answered SUCCESS to NEGOTIATE, want NEGOTIATE",
		},
		{
			"proves nothing", "",
			kerberosNameNode{
				offer: encrypted,
				step:  stepIs(hdfspb.Sasl_CHALLENGE, instead(&hdfspb.Sasl{State: hdfspb.Sasl_SUCCESS.Enum()})),
			},
			"answered SUCCESS to INITIATE, want CHALLENGE",
		},
		{"sends an empty proof", "", kerberosNameNode{
			offer: encrypted,
			step:  stepIs(hdfspb.Sasl_CHALLENGE, instead(&hdfspb.Sasl{State: hdfspb.Sasl_CHALLENGE.Enum()})),
		}, "the token is malformed"},
		{
			"asks for more", "",
			kerberosNameNode{
				offer: encrypted,
				step:  stepIs(hdfspb.Sasl_SUCCESS, instead(&hdfspb.Sasl{State: hdfspb.Sasl_CHALLENGE.Enum()})),
			},
			"answered CHALLENGE to RESPONSE, want SUCCESS",
		},
		{"has no state", "", kerberosNameNode{offer: encrypted, step: stepIs(hdfspb.Sasl_SUCCESS, instead(&hdfspb.Sasl{}))}, "want SUCCESS"},
		{
			"announces 2 GiB of proof", "",
			kerberosNameNode{offer: encrypted, step: stepIs(hdfspb.Sasl_CHALLENGE, announce(1<<31-1))},
			"announced an answer of 2147483647 bytes where it has to prove who it is, above 65536",
		},
		{
			"announces a negative proof", "",
			kerberosNameNode{offer: encrypted, step: stepIs(hdfspb.Sasl_NEGOTIATE, announce(1<<32-5))},
			"announced an answer of -5 bytes, a negative length",
		},
		{
			"answers another call", "",
			kerberosNameNode{
				offer: encrypted,
				step:  stepIs(hdfspb.Sasl_CHALLENGE, func([]byte) []byte { return fakeReply{id: 5}.frame() }),
			},
			"answered call 5 where it has to prove who it is",
		},
		{"refuses at length", "", kerberosNameNode{offer: encrypted, step: stepIs(hdfspb.Sasl_CHALLENGE, func([]byte) []byte {
			return fakeReply{
				id: ipc.SASLCall, class: "javax.security.sasl.SaslException", text: strings.Repeat("no ", 10000), fatal: true,
				detail: hdfspb.ResponseHeader_FATAL_UNAUTHORIZED,
			}.frame()
		})}, "no no…"},
		{
			"sends a sealed answer twice", "",
			kerberosNameNode{offer: encrypted, wrapped: again},
			"an answer of the NameNode is not as it was sent: it has number",
		},
		{"sends a signed answer twice", "", kerberosNameNode{offer: signed, wrapped: again}, "it was sent before, or another was left out"},
		{"leaves an answer out", "", kerberosNameNode{offer: encrypted, wrapped: func(nth int, token []byte) [][]byte {
			if nth == 1 {
				return nil
			}
			return [][]byte{token}
		}}, "no answer within 1s"},
		{
			"signs only where answers are to be sealed", "",
			kerberosNameNode{offer: encrypted | signed, wrapped: func(_ int, token []byte) [][]byte {
				token[2] &^= sealed
				return [][]byte{token}
			}},
			"encrypted: false, want true",
		},
		{"sends a sealed answer cut off", "", kerberosNameNode{
			offer:   encrypted,
			wrapped: func(_ int, token []byte) [][]byte { return [][]byte{token[:20]} },
		}, "the token is malformed"},
		{"sends a sealed answer changed", "", kerberosNameNode{offer: encrypted, wrapped: func(_ int, token []byte) [][]byte {
			token[len(token)-1] ^= 1
			return [][]byte{token}
		}}, "an answer of the NameNode is not as it was sent"},
		{
			"announces 2 GiB inside of a sealed answer", "",
			kerberosNameNode{offer: encrypted, frames: at(1, announce(1<<31-1))},
			"announced an answer of 2147483647 bytes, above the 134217728",
		},
		{"announces a negative length inside", "", kerberosNameNode{offer: signed, frames: at(1, announce(1<<32-5))}, "a negative length"},
		{
			"seals nothing", "",
			kerberosNameNode{offer: encrypted, frames: at(1, func([]byte) []byte { return nil })},
			"sent an answer of no bytes",
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			x.nn.keys, x.nn.serve = keys, answersStat()
			c := secured(t, login, &x.nn, x.least)
			defer allocatesAtMost(t, 8<<20)()
			var err error
			for range 3 {
				if _, err = c.Stat(t.Context(), "/f"); err != nil {
					break
				}
			}
			if err == nil || !strings.Contains(err.Error(), x.want) || len(err.Error()) > 3000 {
				t.Fatalf("error %v; want %q in it", err, x.want)
			}
			if !strings.Contains(err.Error(), "a:1") {
				t.Errorf("error %v; want the NameNode's address in it", err)
			}
		})
	}
	t.Run("sends a plain answer where answers are to be sealed", func(t *testing.T) {
		// Who is on the way can send frames of its own, but no token.
		plain := &hijacked{frame: fakeReply{id: 1, message: &hdfspb.GetHAServiceStateResponse{}}.frame()}
		nn := &kerberosNameNode{keys: keys, offer: encrypted, serve: answersStat()}
		cluster := fakeCluster{"a:1": {raw: func(c net.Conn) { nn.raw(plain.over(c)) }}}
		c := secured(t, login, nn, "")
		c.options.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			return cluster.dial(ctx, network, address)
		}
		wantError(t, errOf(c.Stat(t.Context(), "/f")), "where it has to prove who it is")
	})
}

// hijacked replaces what a NameNode sends after its proof.
type hijacked struct {
	net.Conn
	frame  []byte
	writes int
}

func (h *hijacked) over(c net.Conn) net.Conn { return &hijacked{Conn: c, frame: h.frame} }

func (h *hijacked) Write(b []byte) (int, error) {
	if h.writes++; h.writes <= 3 { // NEGOTIATE, CHALLENGE, SUCCESS
		return h.Conn.Write(b)
	}
	_, err := h.Conn.Write(h.frame)
	return len(b), err
}

// FuzzSteps: whatever a NameNode sends where it has to prove who it is, it is refused in
// bounded memory.
func FuzzSteps(f *testing.F) {
	for _, step := range []*hdfspb.Sasl{
		{State: hdfspb.Sasl_NEGOTIATE.Enum(), Methods: []*hdfspb.SaslMethod{{Method: new("KERBEROS"), Mechanism: new("GSSAPI")}}},
		{State: hdfspb.Sasl_CHALLENGE.Enum(), Token: []byte{5, 4}},
		{State: hdfspb.Sasl_SUCCESS.Enum()},
	} {
		f.Add((&fakeSASL{}).frame(step))
	}
	f.Add([]byte{0x7f, 0xff, 0xff, 0xff})
	f.Add(fakeReply{id: ipc.SASLCall, class: "A", text: "b", fatal: true}.frame())
	login, _ := aliceAnd(f)
	c := &Client{options: Options{Kerberos: &Kerberos{
		Login:    func(context.Context, string) (*client.Client, error) { return login, nil },
		NameNode: testService,
	}}}
	f.Fuzz(func(t *testing.T, stream []byte) {
		defer allocatesAtMost(t, 4<<20+500*len(stream))()
		if s, user, err := c.prove(t.Context(), &replayed{r: bytes.NewReader(stream)}, "a:1"); err == nil {
			t.Errorf("%v (%s) is believed after % x", s.protection, user, stream)
		}
	})
}

// replayed is a connection whose other side sends the same, whatever it gets.
type replayed struct {
	net.Conn
	r   io.Reader
	got []byte
}

func (r *replayed) Read(b []byte) (int, error)  { return r.r.Read(b) }
func (r *replayed) Write(b []byte) (int, error) { r.got = append(r.got, b...); return len(b), nil }
