package kerberos

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/iana/patype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// This file asks KDCs for tickets. The library gokrb5 makes and checks the messages. It
// does not send them: it would allocate as much memory as a KDC announces, up to 4 GiB,
// and it knows no context.

const (
	// maxAnswerBytes is how long an answer of a KDC may be, as in MIT's library.
	maxAnswerBytes = 1 << 20
	// kdcPatience limits how long one KDC is waited for.
	kdcPatience = 5 * time.Second
	// maxReferrals is how often the KDC of a realm may name another realm instead of
	// giving the ticket for a service.
	maxReferrals = 5
)

// errNoKDC means that no KDC of a realm has answered.
var errNoKDC = errors.New("no KDC has answered")

// kdcs are the KDCs that a configuration names.
type kdcs struct {
	conf  *config.Config
	asked *atomic.Pointer[string] // what was asked last: a KDC, or DNS for its address
}

// firstTicket asks the user's realm for the ticket that gets all others.
func (k kdcs) firstTicket(ctx context.Context, user *credentials.Credentials) (got messages.ASRep, err error) {
	request, err := messages.NewASReqForTGT(user.Domain(), k.conf, user.CName())
	if err != nil {
		return got, err
	}
	err = k.ask(ctx, user.Domain(), &request, &got)
	if refusal := (messages.KRBError{}); errors.As(err, &refusal) && refusal.ErrorCode == errorcode.KDC_ERR_PREAUTH_REQUIRED {
		proof, err := proofOfKey(user, refusal)
		if err != nil {
			return got, err
		}
		request.PAData = append(request.PAData, proof)
		if err := k.ask(ctx, user.Domain(), &request, &got); err != nil {
			return got, err
		}
	} else if err != nil {
		return got, err
	}
	_, err = got.Verify(k.conf, user, request)
	return got, err
}

// proofOfKey returns the time, encrypted by a key of the user. The key is of the first
// kind that the KDC takes and the keytab has.
func proofOfKey(user *credentials.Credentials, wants messages.KRBError) (proof types.PAData, err error) {
	var offers types.PADataSequence
	if err := offers.Unmarshal(wants.EData); err != nil {
		return proof, fmt.Errorf("the KDC's kinds of keys: %w", err)
	}
	err = errors.New("the KDC names no kind of key that it takes")
	for _, offer := range offers {
		if offer.PADataType != patype.PA_ETYPE_INFO2 {
			continue
		}
		kinds, unreadable := offer.GetETypeInfo2()
		if unreadable != nil {
			return proof, fmt.Errorf("the KDC's kinds of keys: %w", unreadable)
		}
		for _, kind := range kinds {
			key, version, none := user.Keytab().GetEncryptionKey(user.CName(), user.Domain(), 0, kind.EType)
			if none != nil {
				err = none
				continue
			}
			return encryptedTime(key, version)
		}
	}
	return proof, err
}

func encryptedTime(key types.EncryptionKey, version int) (proof types.PAData, err error) {
	now, err := types.GetPAEncTSEncAsnMarshalled()
	if err != nil {
		return proof, err
	}
	secret, err := crypto.GetEncryptedData(now, key, keyusage.AS_REQ_PA_ENC_TIMESTAMP, version)
	if err != nil {
		return proof, err
	}
	data, err := secret.Marshal()
	return types.PAData{PADataType: patype.PA_ENC_TIMESTAMP, PADataValue: data}, err
}

// grant is a ticket, and the key that only its user and its service know.
type grant struct {
	ticket messages.Ticket
	key    types.EncryptionKey
	about  messages.EncKDCRepPart
}

// ticketFor asks for a ticket for a service, such as nn/host. It begins with the user's
// realm and its first ticket. The KDC of a realm may know only which realm is nearer to
// the service.
func (k kdcs) ticketFor(ctx context.Context, service string, user *credentials.Credentials, first grant) (got grant, err error) {
	name := types.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, service)
	at, by := user.Domain(), first
	goal := k.conf.ResolveRealm(name.NameString[len(name.NameString)-1]) // the service's realm; empty if the configuration does not say
	for range maxReferrals + 1 {
		wanted := name
		if goal != "" && goal != at {
			wanted = grantor(goal)
		}
		if got, err = k.exchange(ctx, wanted, at, user, by, false); err != nil {
			return got, err
		}
		granted := got.ticket.SName
		switch {
		case granted.Equal(name), granted.PrincipalNameString() == service:
			return got, nil
		case len(granted.NameString) != 2 || granted.NameString[0] != "krbtgt":
			return got, fmt.Errorf("the KDC of %s gives a ticket for %s instead; name the host so", at, shortened(granted.PrincipalNameString()))
		}
		at, by = granted.NameString[1], got
		if wanted.Equal(name) {
			goal = ""
		}
	}
	return got, fmt.Errorf("more than %d realms name another realm for it", maxReferrals)
}

// exchange asks a realm for a ticket by one that the user has. If renewal is true, it is
// the same ticket with a later end.
func (k kdcs) exchange(ctx context.Context, name types.PrincipalName,
	realm string, user *credentials.Credentials, by grant, renewal bool,
) (got grant, err error) {
	request, err := messages.NewTGSReq(user.CName(), realm, k.conf, by.ticket, by.key, name, renewal)
	if err != nil {
		return got, err
	}
	var answer messages.TGSRep
	if err := k.ask(ctx, realm, &request, &answer); err != nil {
		return got, err
	}
	if err := answer.DecryptEncPart(by.key); err != nil {
		return got, err
	}
	_, err = answer.Verify(k.conf, request)
	return grant{answer.Ticket, answer.DecryptedEncPart.Key, answer.DecryptedEncPart}, err
}

// ask sends a request to the KDCs of a realm, one after the other, until one answers or
// the context ends. A short request goes by UDP first, as the configuration says, and else
// by TCP.
func (k kdcs) ask(ctx context.Context, realm string, request interface{ Marshal() ([]byte, error) },
	answer interface{ Unmarshal([]byte) error },
) error {
	sent, err := request.Marshal()
	if err != nil {
		return err
	}
	networks := []string{"tcp", "udp"}
	switch most := k.conf.LibDefaults.UDPPreferenceLimit; {
	case most == 1:
		networks = networks[:1]
	case len(sent) <= most:
		networks = []string{"udp", "tcp"}
	}
	failure := errNoKDC
	sep := ": "
	failed := func(err error) { failure, sep = fmt.Errorf("%w%s%w", failure, sep, err), "; " }
	for _, network := range networks {
		addresses, err := k.of(ctx, realm, network)
		if err != nil {
			failed(err)
		}
		for _, address := range addresses {
			k.asked.Store(new("KDC " + address))
			said, err := exchanged(ctx, network, address, sent)
			if err != nil {
				failed(err)
				if ctx.Err() != nil {
					return failure
				}
				continue
			}
			refusal := messages.KRBError{}
			switch {
			case refusal.Unmarshal(said) != nil:
				return answer.Unmarshal(said)
			case network == "tcp" || refusal.ErrorCode != errorcode.KRB_ERR_RESPONSE_TOO_BIG:
				return refusal
			}
			failed(fmt.Errorf("KDC %s: its answer is too long for UDP", address))
		}
	}
	return failure
}

// of returns the addresses of a realm's KDCs, in the order in which they are asked. DNS is
// asked if the configuration names none and allows it.
func (k kdcs) of(ctx context.Context, realm, network string) (addresses []string, err error) {
	for _, r := range k.conf.Realms {
		if r.Realm == realm && len(r.KDC) > 0 {
			count, ordered, err := k.conf.GetKDCs(realm, network == "tcp")
			for n := 1; n <= count; n++ {
				addresses = append(addresses, ordered[n])
			}
			return addresses, err
		}
	}
	if !k.conf.LibDefaults.DNSLookupKDC {
		return nil, fmt.Errorf("no KDCs defined in configuration for realm %s", realm)
	}
	name := "_kerberos._" + network + "." + realm
	k.asked.Store(new("DNS for " + name))
	ctx, cancel := patient(ctx)
	defer cancel()
	_, records, err := net.DefaultResolver.LookupSRV(ctx, "kerberos", network, realm)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil && len(records) == 0 {
		return nil, fmt.Errorf("look up KDCs in DNS by %s: %w", name, err)
	}
	for _, r := range records {
		addresses = append(addresses, net.JoinHostPort(strings.TrimSuffix(r.Target, "."), strconv.Itoa(int(r.Port))))
	}
	return addresses, nil
}

// patient returns a context that ends when one KDC, or DNS, has been waited for long
// enough.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, kdcPatience, fmt.Errorf("no answer within %v", kdcPatience))
}

// exchanged sends a request to one KDC and returns its answer.
func exchanged(ctx context.Context, network, address string, request []byte) ([]byte, error) {
	ctx, cancel := patient(ctx)
	defer cancel()
	answer, err := exchangedUntil(ctx, network, address, request)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("KDC %s: %w", address, err)
	}
	return answer, nil
}

func exchangedUntil(ctx context.Context, network, address string, request []byte) ([]byte, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()
	if network == "udp" {
		if _, err := c.Write(request); err != nil {
			return nil, err
		}
		datagram := make([]byte, 64<<10)
		n, err := c.Read(datagram)
		return datagram[:n], err
	}
	if _, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(request))), request...)); err != nil {
		return nil, err
	}
	length := make([]byte, 4)
	if _, err := io.ReadFull(c, length); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(length)
	if size > maxAnswerBytes {
		return nil, fmt.Errorf("it announced an answer of %d bytes, above %d", size, maxAnswerBytes)
	}
	answer := make([]byte, size)
	_, err = io.ReadFull(c, answer)
	return answer, err
}

// grantor is the principal of the service that gives tickets.
func grantor(realm string) types.PrincipalName {
	return types.PrincipalName{NameType: nametype.KRB_NT_SRV_INST, NameString: []string{"krbtgt", realm}}
}

// alone returns a ticket cache in memory that has one ticket of a user.
func (g grant) alone(user *credentials.Credentials) (*credentials.CCache, error) {
	entry, err := g.entry()
	if err != nil {
		return nil, err
	}
	cache := &credentials.CCache{Credentials: []*credentials.Credential{entry}}
	cache.DefaultPrincipal.Realm, cache.DefaultPrincipal.PrincipalName = user.Domain(), user.CName()
	return cache, nil
}

// entry returns a ticket as a ticket cache has it. It is valid at once, since the KDC's
// clock may be ahead.
func (g grant) entry() (*credentials.Credential, error) {
	data, err := g.ticket.Marshal()
	if err != nil {
		return nil, failf("the KDC's ticket: %w", err)
	}
	entry := &credentials.Credential{
		Key: g.key, AuthTime: g.about.AuthTime,
		EndTime: g.about.EndTime, RenewTill: g.about.RenewTill, Ticket: data,
	}
	entry.Server.Realm, entry.Server.PrincipalName = g.ticket.Realm, g.ticket.SName
	return entry, nil
}

// grantOf returns a ticket of a ticket cache.
func grantOf(entry *credentials.Credential) (grant, error) {
	g := grant{key: entry.Key}
	return g, g.ticket.Unmarshal(entry.Ticket)
}
