package kerberos

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
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
// does not send them: it would allocate as much memory as a KDC announces, up to 4 GiB.

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

// firstTicket asks the user's realm for the ticket that gets all others.
func firstTicket(user *credentials.Credentials, conf *config.Config) (got messages.ASRep, err error) {
	request, err := messages.NewASReqForTGT(user.Domain(), conf, user.CName())
	if err != nil {
		return got, err
	}
	err = ask(conf, user.Domain(), &request, &got)
	if refusal := (messages.KRBError{}); errors.As(err, &refusal) && refusal.ErrorCode == errorcode.KDC_ERR_PREAUTH_REQUIRED {
		proof, err := proofOfKey(user, refusal)
		if err != nil {
			return got, err
		}
		request.PAData = append(request.PAData, proof)
		if err := ask(conf, user.Domain(), &request, &got); err != nil {
			return got, err
		}
	} else if err != nil {
		return got, err
	}
	_, err = got.Verify(conf, user, request)
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
func ticketFor(service string, user *credentials.Credentials, conf *config.Config, first grant) (got grant, err error) {
	name := types.NewPrincipalName(nametype.KRB_NT_PRINCIPAL, service)
	at, by := user.Domain(), first
	goal := conf.ResolveRealm(name.NameString[len(name.NameString)-1]) // the service's realm; empty if the configuration does not say
	for range maxReferrals + 1 {
		wanted := name
		if goal != "" && goal != at {
			wanted = grantor(goal)
		}
		if got, err = exchange(wanted, at, user, conf, by, false); err != nil {
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
func exchange(name types.PrincipalName, realm string, user *credentials.Credentials, conf *config.Config, by grant, renewal bool) (got grant, err error) {
	request, err := messages.NewTGSReq(user.CName(), realm, conf, by.ticket, by.key, name, renewal)
	if err != nil {
		return got, err
	}
	var answer messages.TGSRep
	if err := ask(conf, realm, &request, &answer); err != nil {
		return got, err
	}
	if err := answer.DecryptEncPart(by.key); err != nil {
		return got, err
	}
	_, err = answer.Verify(conf, request)
	return grant{answer.Ticket, answer.DecryptedEncPart.Key, answer.DecryptedEncPart}, err
}

// ask sends a request to the KDCs of a realm, one after the other, until one answers. A
// short request goes by UDP first, as the configuration says, and else by TCP.
func ask(conf *config.Config, realm string, request interface{ Marshal() ([]byte, error) }, answer interface{ Unmarshal([]byte) error }) error {
	sent, err := request.Marshal()
	if err != nil {
		return err
	}
	networks := []string{"tcp", "udp"}
	switch most := conf.LibDefaults.UDPPreferenceLimit; {
	case most == 1:
		networks = networks[:1]
	case len(sent) <= most:
		networks = []string{"udp", "tcp"}
	}
	var failures []string
	for _, network := range networks {
		_, addresses, err := conf.GetKDCs(realm, network == "tcp")
		if err != nil {
			failures = append(failures, err.Error())
		}
		for n := 1; n <= len(addresses); n++ {
			said, err := exchanged(network, addresses[n], sent)
			if err != nil {
				failures = append(failures, err.Error())
				continue
			}
			refusal := messages.KRBError{}
			switch {
			case refusal.Unmarshal(said) != nil:
				return answer.Unmarshal(said)
			case network == "tcp" || refusal.ErrorCode != errorcode.KRB_ERR_RESPONSE_TOO_BIG:
				return refusal
			}
			failures = append(failures, fmt.Sprintf("KDC %s: its answer is too long for UDP", addresses[n]))
		}
	}
	return fmt.Errorf("%w: %s", errNoKDC, strings.Join(failures, "; "))
}

// exchanged sends a request to one KDC and returns its answer.
func exchanged(network, address string, request []byte) ([]byte, error) {
	c, err := net.DialTimeout(network, address, kdcPatience)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	answer, err := func() ([]byte, error) {
		if err := c.SetDeadline(time.Now().Add(kdcPatience)); err != nil {
			return nil, err
		}
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
		_, err := io.ReadFull(c, answer)
		return answer, err
	}()
	if err != nil {
		return nil, fmt.Errorf("KDC %s: %w", address, err)
	}
	return answer, nil
}
