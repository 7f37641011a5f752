// Package kdctest runs a fake Kerberos KDC for tests, over TCP. It gives tickets to the
// users and for the services that a test names, and can be told to refuse or to lie.
//
// Its time is that of whoever asks, so that it also serves tests whose clock is not the
// machine's. Only who has a user's key can read its answer, so it needs no proof of the
// user; [KDC.WantsProof] makes it ask for one as real KDCs do.
package kdctest

import (
	"encoding/asn1"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/iana/patype"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// Realm is the realm of each fake KDC. Each also serves the realm Elsewhere, which has
// services that are asked for in Realm.
const (
	Realm     = "TEST.REALM"
	Elsewhere = "ELSEWHERE.REALM"
)

const cipher = etypeID.AES256_CTS_HMAC_SHA1_96

// KDC is a fake KDC that a test has started.
type KDC struct {
	// Address is where it listens, and Conf the path of a configuration that names it.
	Address, Conf string
	// Keys are the keys of all principals.
	Keys *keytab.Keytab
	// Life is how long a ticket is valid, and Renewable how long it can be renewed.
	Life, Renewable time.Duration
	// Skew is how far its clock is ahead.
	Skew time.Duration

	// Refuse, if set, is the number of the error that it answers.
	Refuse atomic.Int32
	// WantsProof makes it refuse a login without the time encrypted by the user's key.
	WantsProof atomic.Bool
	// Lie, if set, is what it answers.
	Lie atomic.Pointer[[]byte]
	// Hang, if set, gets a value for each request, and no request is answered.
	Hang atomic.Pointer[chan struct{}]
	// Logins and Renewals count tickets that were given for a key, and for a ticket.
	Logins, Renewals atomic.Int32

	dir       string
	known     map[string]bool
	elsewhere map[string]bool // services of the realm Elsewhere
}

// Start starts a KDC that knows the principals, without their realm. It stops when the
// test ends.
func Start(t testing.TB, principals ...string) *KDC {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	k := &KDC{
		Address: l.Addr().String(), Keys: keytab.New(), Life: time.Hour,
		dir: t.TempDir(), known: map[string]bool{}, elsewhere: map[string]bool{},
	}
	k.Conf = filepath.Join(k.dir, "krb5.conf")
	conf := fmt.Sprintf("[libdefaults]\n default_realm = %[1]s\n dns_lookup_kdc = false\n udp_preference_limit = 1\n[realms]\n %[1]s = "+
		"{\n  kdc = %[2]s\n }\n %[3]s = {\n  kdc = %[2]s\n }\n", Realm, k.Address, Elsewhere)
	if err := os.WriteFile(k.Conf, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range append(principals, "krbtgt/"+Realm) {
		k.known[p] = true
		if err := k.Keys.AddEntry(p, Realm, "the password of "+p, time.Unix(0, 0), 1, cipher); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go k.serve(c)
		}
	}()
	return k
}

// Move says that a service is one of the realm Elsewhere.
func (k *KDC) Move(t testing.TB, service string) {
	t.Helper()
	k.elsewhere[service] = true
	for principal, realm := range map[string]string{"krbtgt/" + Elsewhere: Realm, service: Elsewhere} {
		if err := k.Keys.AddEntry(principal, realm, "the password of "+principal, time.Unix(0, 0), 1, cipher); err != nil {
			t.Fatal(err)
		}
	}
}

// Keytab writes a keytab of a user, whose key comes from a password. An empty password
// means the right one.
func (k *KDC) Keytab(t testing.TB, user, password string) string {
	t.Helper()
	if password == "" {
		password = "the password of " + user
	}
	keys := keytab.New()
	if err := keys.AddEntry(user, Realm, password, time.Unix(0, 0), 1, cipher); err != nil {
		t.Fatal(err)
	}
	data, err := keys.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(k.dir, strings.ReplaceAll(user, "/", "_")+".keytab")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Tickets writes a ticket cache of a user with tickets that end at a time, as kinit
// writes them, for the services too.
func (k *KDC) Tickets(t testing.TB, path, user string, ends, renewTill time.Time, services ...string) {
	t.Helper()
	var out []byte
	text := func(s []byte) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(s)))
		out = append(out, s...)
	}
	principal := func(p types.PrincipalName) {
		out = binary.BigEndian.AppendUint32(out, uint32(p.NameType))
		out = binary.BigEndian.AppendUint32(out, uint32(len(p.NameString)))
		text([]byte(Realm))
		for _, part := range p.NameString {
			text([]byte(part))
		}
	}
	who := name(user)
	out = append(out, 5, 4, 0, 0)
	principal(who)
	start := ends.Add(-k.Life)
	for _, service := range append([]string{"krbtgt/" + Realm}, services...) {
		ticket, key, err := messages.NewTicket(who, Realm, name(service), Realm,
			types.NewKrbFlags(), k.Keys, cipher, 1, start, start, ends, renewTill)
		if err != nil {
			t.Fatal(err)
		}
		data, err := ticket.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		principal(who)
		principal(name(service))
		out = binary.BigEndian.AppendUint16(out, uint16(key.KeyType))
		text(key.KeyValue)
		for _, at := range []time.Time{start, start, ends, renewTill} {
			out = binary.BigEndian.AppendUint32(out, uint32(at.Unix()))
		}
		out = append(out, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) // no other key, flags, no addresses, no data
		text(data)
		text(nil)
	}
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
}

func name(principal string) types.PrincipalName {
	return types.PrincipalName{NameType: 1, NameString: strings.Split(principal, "/")}
}

func (k *KDC) serve(c net.Conn) {
	defer c.Close()
	length := make([]byte, 4)
	if _, err := io.ReadFull(c, length); err != nil {
		return
	}
	ask := make([]byte, min(binary.BigEndian.Uint32(length), 1<<20))
	if _, err := io.ReadFull(c, ask); err != nil {
		return
	}
	if asked := k.Hang.Load(); asked != nil {
		*asked <- struct{}{}
		_, _ = io.Copy(io.Discard, c) // until who asks leaves
		return
	}
	if lie := k.Lie.Load(); lie != nil {
		c.Write(*lie) //nolint:errcheck // who asks may have left
		return
	}
	answer, err := k.answer(ask)
	if err != nil {
		answer = k.refusal(errorcode.KRB_ERR_GENERIC, err.Error())
	}
	c.Write(Frame(answer)) //nolint:errcheck // who asks may have left
}

// Frame returns a message as it is sent over TCP.
func Frame(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

func (k *KDC) refusal(code int32, text string) []byte {
	e := messages.NewKRBError(name("krbtgt/"+Realm), Realm, code, text)
	data, err := e.Marshal()
	if err != nil {
		panic(err)
	}
	return data
}

// answer answers a request for a ticket.
func (k *KDC) answer(ask []byte) ([]byte, error) {
	if code := k.Refuse.Load(); code != 0 {
		return k.refusal(code, ""), nil
	}
	var login messages.ASReq
	if login.Unmarshal(ask) == nil {
		body := login.ReqBody
		if body.Realm != Realm || !k.known[body.CName.PrincipalNameString()] {
			return k.refusal(errorcode.KDC_ERR_C_PRINCIPAL_UNKNOWN, ""), nil
		}
		key, kvno, err := k.Keys.GetEncryptionKey(body.CName, Realm, 0, cipher)
		if err != nil {
			return nil, err
		}
		if k.WantsProof.Load() {
			if refusal := k.unproven(login, key); refusal != nil {
				return refusal, nil
			}
		}
		now := body.Till.Add(-24 * time.Hour).Add(k.Skew) // the library asks for a day
		k.Logins.Add(1)
		return k.give(msgtype.KRB_AS_REP, body, body.CName, now, now.Add(k.Life), now.Add(k.Renewable), key, kvno, keyusage.AS_REP_ENCPART)
	}
	return k.service(ask)
}

// service answers a request for a ticket for a service, or for a renewed one.
func (k *KDC) service(ask []byte) ([]byte, error) {
	var more messages.TGSReq
	if err := more.Unmarshal(ask); err != nil {
		return nil, err
	}
	for _, pa := range more.PAData {
		if pa.PADataType != patype.PA_TGS_REQ {
			continue
		}
		var by messages.APReq
		if err := by.Unmarshal(pa.PADataValue); err != nil {
			return nil, err
		}
		if err := by.Ticket.DecryptEncPart(k.Keys, nil); err != nil {
			return nil, err
		}
		tgt := by.Ticket.DecryptedEncPart
		if err := by.DecryptAuthenticator(tgt.Key); err != nil {
			return nil, err
		}
		now, body := by.Authenticator.CTime, more.ReqBody
		ends := tgt.EndTime
		service := body.SName.PrincipalNameString()
		if k.elsewhere[service] && body.Realm == Realm {
			body.SName = name("krbtgt/" + Elsewhere)
		}
		switch renewal := types.IsFlagSet(&body.KDCOptions, flags.Renew); {
		case now.After(tgt.EndTime):
			return k.refusal(errorcode.KRB_AP_ERR_TKT_EXPIRED, ""), nil
		case !k.known[service] && !k.elsewhere[service]:
			return k.refusal(errorcode.KDC_ERR_S_PRINCIPAL_UNKNOWN, ""), nil
		case renewal && now.After(tgt.RenewTill):
			return k.refusal(errorcode.KRB_AP_ERR_TKT_EXPIRED, ""), nil
		case renewal:
			k.Renewals.Add(1)
			if ends = now.Add(k.Life); ends.After(tgt.RenewTill) {
				ends = tgt.RenewTill
			}
		}
		return k.give(msgtype.KRB_TGS_REP, body, tgt.CName, now, ends, tgt.RenewTill, tgt.Key, 0, keyusage.TGS_REP_ENCPART_SESSION_KEY)
	}
	return nil, fmt.Errorf("a request without a ticket")
}

// unproven refuses a login that has no proof of the user's key. It names two kinds of
// keys, and the user has one of the second.
func (k *KDC) unproven(login messages.ASReq, key types.EncryptionKey) []byte {
	for _, pa := range login.PAData {
		if pa.PADataType != patype.PA_ENC_TIMESTAMP {
			continue
		}
		var secret types.EncryptedData
		err := secret.Unmarshal(pa.PADataValue)
		if err == nil {
			_, err = crypto.DecryptEncPart(secret, key, keyusage.AS_REQ_PA_ENC_TIMESTAMP)
		}
		if err != nil {
			return k.refusal(errorcode.KDC_ERR_PREAUTH_FAILED, "")
		}
		return nil
	}
	marshal := func(v any) []byte {
		data, err := asn1.Marshal(v)
		if err != nil {
			panic(err)
		}
		return data
	}
	kinds := marshal(types.ETypeInfo2{{EType: etypeID.AES128_CTS_HMAC_SHA1_96}, {EType: cipher}})
	refusal := messages.NewKRBError(name("krbtgt/"+Realm), Realm, errorcode.KDC_ERR_PREAUTH_REQUIRED, "")
	refusal.EData = marshal(types.PADataSequence{
		{PADataType: patype.PA_ENC_TIMESTAMP},
		{PADataType: patype.PA_ETYPE_INFO2, PADataValue: kinds},
	})
	data, err := refusal.Marshal()
	if err != nil {
		panic(err)
	}
	return data
}

// give returns the answer that gives a ticket, for who has the key.
func (k *KDC) give(kind int, body messages.KDCReqBody, who types.PrincipalName,
	now, ends, renewTill time.Time, key types.EncryptionKey, kvno int, usage uint32,
) ([]byte, error) {
	ticket, session, err := messages.NewTicket(who, Realm, body.SName, body.Realm,
		types.NewKrbFlags(), k.Keys, cipher, 1, now, now, ends, renewTill)
	if err != nil {
		return nil, err
	}
	about := messages.EncKDCRepPart{
		Key: session, LastReqs: []messages.LastReq{{LRValue: now}}, Nonce: body.Nonce, Flags: types.NewKrbFlags(),
		AuthTime: now, StartTime: now.Add(-time.Second), EndTime: ends, RenewTill: renewTill, SRealm: body.Realm, SName: body.SName,
	}
	text, err := about.Marshal()
	if err != nil {
		return nil, err
	}
	sealed, err := crypto.GetEncryptedData(text, key, usage, kvno)
	if err != nil {
		return nil, err
	}
	fields := messages.KDCRepFields{PVNO: iana.PVNO, MsgType: kind, CRealm: Realm, CName: who, Ticket: ticket, EncPart: sealed}
	if kind == msgtype.KRB_AS_REP {
		return (&messages.ASRep{KDCRepFields: fields}).Marshal()
	}
	return (&messages.TGSRep{KDCRepFields: fields}).Marshal()
}
