package ipc

import (
	"crypto/md5" //nolint:gosec // the protocol's
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// Digest is a client's proof that it knows a password (SASL with the mechanism DIGEST-MD5,
// RFC 2831, whose names the fields have).
type Digest struct {
	User, Password       string
	Realm, Nonce, CNonce string
	URI, QOP             string
}

var directive = regexp.MustCompile(`([a-zA-Z0-9-]+)\s*=\s*(?:"([^"\\]*)"|([^",\s]+))`)

// NewDigest begins a proof from a server's offer. It returns what the offer says, too, by
// the names in lower case. The proof still needs its QOP.
func NewDigest(offer []byte, user, password, uri string) (d *Digest, said map[string]string, err error) {
	said = map[string]string{}
	for _, m := range directive.FindAllSubmatch(offer, -1) {
		said[strings.ToLower(string(m[1]))] = string(m[2]) + string(m[3])
	}
	if said["nonce"] == "" {
		return nil, nil, fmt.Errorf("its offer of a proof has no nonce: %.100q", offer)
	}
	cnonce := make([]byte, 24)
	rand.Read(cnonce)
	return &Digest{
		User: user, Password: password, Realm: said["realm"], Nonce: said["nonce"],
		CNonce: base64.StdEncoding.EncodeToString(cnonce), URI: uri,
	}, said, nil
}

// Reply is the client's proof in full.
func (d *Digest) Reply() string {
	return fmt.Sprintf(`username="%s", realm="%s", nonce="%s", cnonce="%s", nc=00000001, `+
		`qop=%s, digest-uri="%s", response=%s, charset=utf-8`,
		d.User, d.Realm, d.Nonce, d.CNonce, d.QOP, d.URI, d.Response("AUTHENTICATE"))
}

// Response is the proof of the client, by AUTHENTICATE, or of the server, by nothing.
func (d *Digest) Response(by string) string {
	a2 := by + ":" + d.URI
	if d.QOP != "auth" {
		a2 += ":" + strings.Repeat("0", 32)
	}
	hash := func(b []byte) string { return hex.EncodeToString(MD5(string(b))) }
	return hash([]byte(strings.Join([]string{hash(d.A1()), d.Nonce, "00000001", d.CNonce, d.QOP, hash([]byte(a2))}, ":")))
}

// A1 is what RFC 2831 calls A1, from which the keys of what follows are made.
func (d *Digest) A1() []byte {
	return append(MD5(d.User+":"+d.Realm+":"+d.Password), ":"+d.Nonce+":"+d.CNonce...)
}

// MD5 returns the MD5 sum of texts.
func MD5(parts ...string) []byte {
	s := md5.Sum([]byte(strings.Join(parts, ""))) //nolint:gosec // the protocol's
	return s[:]
}
