package hdfs

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/gssapi"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	krbtypes "github.com/jcmturner/gokrb5/v8/types"

	"heddle/collectors/hdfs/internal/hdfspb"
)

// wrapAs returns the token in which a NameNode sends a text, signed or encrypted.
func wrapAs(key krbtypes.EncryptionKey, text []byte, seal bool, sequence uint64) []byte {
	kind := must(crypto.GetEtype(key.KeyType))
	if seal {
		header := tokenHeader(fromAcceptor|sealed, sequence)
		_, secret, err := kind.EncryptMessage(key.KeyValue, append(bytes.Clone(text), header...), keyusage.GSSAPI_ACCEPTOR_SEAL)
		return must(append(header, secret...), err)
	}
	token := gssapi.WrapToken{Flags: fromAcceptor, EC: uint16(kind.GetHMACBitLength() / 8), SndSeqNum: sequence, Payload: text}
	if err := token.SetCheckSum(key, keyusage.GSSAPI_ACCEPTOR_SEAL); err != nil {
		panic(err)
	}
	return must(token.Marshal())
}

// TestUnwrap: a token of the NameNode gives its text, also if its body was rotated. One
// of which a byte was changed, that is cut off, or that is protected in another way is
// refused.
func TestUnwrap(t *testing.T) {
	text := []byte("an answer of the NameNode")
	for _, kind := range []int32{etypeID.AES128_CTS_HMAC_SHA1_96, etypeID.AES256_CTS_HMAC_SHA1_96} {
		for _, seal := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d sealed %v", kind, seal), func(t *testing.T) {
				e := must(crypto.GetEtype(kind))
				key := krbtypes.EncryptionKey{KeyType: kind, KeyValue: bytes.Repeat([]byte{9}, e.GetKeyByteSize())}
				token := wrapAs(key, text, seal, 7)
				unwrap := func(token []byte, seal bool) ([]byte, error) {
					s := &saslConn{key: key, receives: 7}
					return s.unwrap(token, seal)
				}
				if got, err := unwrap(token, seal); err != nil || !bytes.Equal(got, text) {
					t.Fatalf("%q, %v; want %q", got, err, text)
				}
				if _, err := unwrap(token, !seal); err == nil {
					t.Error("a token that is protected in another way is taken")
				}
				turned := bytes.Clone(token)
				turned[7] = 5
				body := token[tokenHeaderLen:]
				copy(turned[tokenHeaderLen:], body[len(body)-5:])
				copy(turned[tokenHeaderLen+5:], body[:len(body)-5])
				if got, err := unwrap(turned, seal); err != nil || !bytes.Equal(got, text) {
					t.Errorf("rotated: %q, %v", got, err)
				}
				for i := range token {
					if _, err := unwrap(token[:i], seal); err == nil {
						t.Errorf("a token of %d of %d bytes is taken", i, len(token))
					}
					if i == 6 || i == 7 { // how far it is rotated is not signed
						continue
					}
					changed := bytes.Clone(token)
					changed[i] ^= 4
					if got, err := unwrap(changed, seal); err == nil {
						t.Errorf("byte %d changed: %q is taken", i, got)
					}
				}
			})
		}
	}
}

// TestEncodeToken: as Hadoop's Token.encodeToUrlString.
func TestEncodeToken(t *testing.T) {
	got := encodeToken(&hdfspb.Token{Identifier: []byte{1, 2}, Password: []byte{3}, Kind: "K"}, "a:1")
	if want := "AgECAQMBSwNhOjE"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
