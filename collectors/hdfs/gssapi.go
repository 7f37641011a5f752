package hdfs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
)

// Tokens of GSSAPI for Kerberos (RFC 4121, section 4.2.6.2): a header of 16 bytes, and
// the text with its checksum, or both encrypted.
const (
	tokenHeaderLen = 16
	fromAcceptor   = 1 // flags in the header
	sealed         = 2
	filler         = 0xff
)

func tokenHeader(flags byte, sequence uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{5, 4, flags, filler, 0, 0, 0, 0}, sequence)
}

// wrap signs a text, or encrypts it if seal is true.
func (s *saslConn) wrap(text []byte, seal bool) ([]byte, error) {
	kind, err := crypto.GetEtype(s.key.KeyType)
	if err != nil {
		return nil, err
	}
	sequence := s.sends
	s.sends++
	if !seal {
		token := gssapi.WrapToken{EC: uint16(kind.GetHMACBitLength() / 8), SndSeqNum: sequence, Payload: text}
		if err := token.SetCheckSum(s.key, keyusage.GSSAPI_INITIATOR_SEAL); err != nil {
			return nil, err
		}
		return token.Marshal()
	}
	header := tokenHeader(sealed, sequence)
	_, secret, err := kind.EncryptMessage(s.key.KeyValue, append(bytes.Clone(text), header...), keyusage.GSSAPI_INITIATOR_SEAL)
	return append(header, secret...), err
}

var (
	errToken     = errors.New("the token is malformed")
	errSignature = errors.New("its signature is not that of its text")
)

// unwrap returns the text that the NameNode has signed, or encrypted if seal is true, in
// its next token.
func (s *saslConn) unwrap(token []byte, seal bool) ([]byte, error) {
	text, err := s.open(token, seal)
	if err != nil {
		return nil, err
	}
	// Java counts in 32 bits.
	if sequence := binary.BigEndian.Uint64(token[8:]); uint32(sequence) != uint32(s.receives) {
		return nil, fmt.Errorf("it has number %d, want %d: it was sent before, or another was left out", sequence, s.receives)
	}
	s.receives++
	return text, nil
}

// open returns the text of a token of the NameNode.
func (s *saslConn) open(token []byte, seal bool) ([]byte, error) {
	if len(token) < tokenHeaderLen || token[0] != 5 || token[1] != 4 || token[3] != filler || token[2]&fromAcceptor == 0 {
		return nil, errToken
	}
	header, body := token[:tokenHeaderLen], token[tokenHeaderLen:]
	if isSealed := header[2]&sealed != 0; isSealed != seal {
		return nil, fmt.Errorf("encrypted: %v, want %v", isSealed, seal)
	}
	extra, rotated := int(binary.BigEndian.Uint16(header[4:])), int(binary.BigEndian.Uint16(header[6:]))
	if rotated > 0 && len(body) > 0 {
		rotated %= len(body)
		body = append(bytes.Clone(body[rotated:]), body[:rotated]...)
	}
	sequence := binary.BigEndian.Uint64(header[8:])
	if !seal {
		if extra > len(body) {
			return nil, errToken
		}
		text, sum := body[:len(body)-extra], body[len(body)-extra:]
		t := gssapi.WrapToken{Flags: header[2], EC: uint16(extra), SndSeqNum: sequence, Payload: text, CheckSum: sum}
		if _, err := t.Verify(s.key, keyusage.GSSAPI_ACCEPTOR_SEAL); err != nil {
			return nil, errSignature // the library's error has the signature that would be right
		}
		return t.Payload, nil
	}
	kind, err := crypto.GetEtype(s.key.KeyType)
	if err != nil {
		return nil, err
	}
	if len(body) < kind.GetConfounderByteSize()+kind.GetHMACBitLength()/8+extra+tokenHeaderLen {
		return nil, errToken
	}
	text, err := crypto.DecryptMessage(body, s.key, keyusage.GSSAPI_ACCEPTOR_SEAL)
	if err != nil {
		return nil, err
	}
	inner := bytes.Clone(header)
	inner[6], inner[7] = 0, 0
	end := len(text) - tokenHeaderLen
	if end < extra || !bytes.Equal(text[end:], inner) {
		return nil, errToken
	}
	return text[:end-extra], nil
}
