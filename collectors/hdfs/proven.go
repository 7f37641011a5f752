package hdfs

import (
	"bufio"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rc4" //nolint:gosec // the protocol's
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/collectors/hdfs/ipc"
)

// A DataNode of a secured cluster and its client first prove to each other that they know
// the key of the block's token (SASL with the mechanism DIGEST-MD5, RFC 2831). Then what
// they send is plain, one encrypted stream, or wrapped: each piece signed or encrypted,
// with its length before it.
//
// The library colinmarc/hdfs can prove and unwrap, but believes that no DataNode asks for
// it, and its requests and answers pass through this file. So [dataNodeConn] checks the
// lengths inside of the wrapping too. The library (v2.4.0) allocates by them, and panics at
// wrong ones.

// blockSecret is what client and DataNode both know.
type blockSecret struct{ user, password string }

// String keeps the password out of messages.
func (s blockSecret) String() string { return "secret of " + s.user }

// errProof begins each error about a DataNode that cannot prove what it has to.
var errProof = errors.New("does not prove that it knows the block's token")

const (
	saslMagic     = 0xdeadbeef // before the proof, where a request would have its version
	writeBlock    = 0x50
	checksumBlock = 0x55
	// aesStream is the number of AES/CTR/NoPadding among kinds of encrypted streams.
	aesStream = 2
	// signatureBytes is the length of what is added to a wrapped piece: 10 bytes of its
	// signature, 2 of its kind and 4 of its number.
	signatureBytes, macBytes = 16, 10
	// maxWrapBytes is how much text is sent in one piece. RFC 2831 allows 64 KiB with the
	// signature, if nothing else is agreed on.
	maxWrapBytes = 63 << 10
)

// pieceKind is in each wrapped piece.
var pieceKind = []byte{0, 1}

// qops are the names of protections in the offer of a DataNode.
var qops = map[string]byte{"auth": unprotected, "auth-int": signed, "auth-conf": encrypted}

// secretOf returns the secret of the token in a request to a DataNode.
func secretOf(op byte, request []byte) (s blockSecret, err error) {
	var block hdfspb.BlockRequest
	var sum hdfspb.ChecksumRequest
	switch op {
	case readBlock, writeBlock:
		_, err = ipc.Next(request, &block)
	case checksumBlock:
		_, err = ipc.Next(request, &sum)
	default:
		err = fmt.Errorf("request %#x has no token that is known", op)
	}
	token := cmp.Or(block.GetClient().GetBase(), sum.GetBase()).GetToken()
	return blockSecret{text(token.GetIdentifier()), text(token.GetPassword())}, err
}

// text is how bytes are written in the proof.
func text(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// secret returns what proves to DataNodes who the user is: the key that a cluster with
// dfs.encrypt.data.transfer gives, or else the token in the request. DataNodes take the key
// for hours. It is asked for again after one has not taken it.
func (c *Client) secret(ctx context.Context, op byte, request []byte) (blockSecret, error) {
	key := c.dataKey.Load()
	if key == nil {
		var err error
		if key, err = c.encryptionKey(ctx); err != nil {
			return blockSecret{}, err
		}
		c.dataKey.Store(key)
	}
	if *key != (blockSecret{}) {
		return *key, nil
	}
	return secretOf(op, request)
}

// encryptionKey asks the NameNode for the key of all DataNodes; empty if there is none.
func (c *Client) encryptionKey(ctx context.Context) (*blockSecret, error) {
	resp := &hdfspb.GetDataEncryptionKeyResponse{}
	if err := c.call(ctx, "getDataEncryptionKey", &hdfspb.Empty{}, resp); err != nil {
		return nil, fmt.Errorf("get the key of DataNodes: %w", err)
	}
	k := resp.Key
	if len(k.GetNonce()) == 0 {
		return &blockSecret{}, nil
	}
	return &blockSecret{fmt.Sprintf("%d %s %s", int32(k.Id), k.Pool, text(k.Nonce)), text(k.Key)}, nil //nolint:gosec // Java's int
}

// proveTo proves to a DataNode that the user knows a secret, has it prove the same, and
// returns the connection for what follows. It is protected at least as least says.
func proveTo(c net.Conn, secret blockSecret, least byte) (net.Conn, error) {
	r := bufio.NewReaderSize(c, 64<<10)
	offer, err := shake(c, r, binary.BigEndian.AppendUint32(nil, saslMagic), &hdfspb.Handshake{})
	if err != nil {
		return nil, err
	}
	d, err := answerTo(offer.Payload, secret, least)
	if err != nil {
		return nil, err
	}
	answer := &hdfspb.Handshake{Payload: []byte(d.reply())}
	if d.protection == encrypted { // a stream of AES is faster than pieces
		answer.Cipher = &hdfspb.CipherOption{Suite: aesStream}
	}
	proof, err := shake(c, r, nil, answer)
	if err != nil {
		return nil, err
	}
	if want := "rspauth=" + d.Response(""); !hmac.Equal(proof.Payload, []byte(want)) {
		return nil, errProof
	}
	if d.protection == unprotected {
		return &streamConn{Conn: c, r: r, w: c}, nil
	}
	w := d.wrapped(c, r)
	if d.protection == signed || proof.Cipher == nil {
		return w, nil
	}
	return w.stream(proof.Cipher)
}

// shake sends a step of the proof, after other bytes, and returns the DataNode's next.
func shake(c net.Conn, r *bufio.Reader, before []byte, step *hdfspb.Handshake) (*hdfspb.Handshake, error) {
	step.Status = new(int32(0))
	message, err := proto.Marshal(step)
	if err == nil {
		_, err = c.Write(protowire.AppendBytes(before, message))
	}
	if err == nil {
		_, message, err = readMessage(r)
	}
	next := &hdfspb.Handshake{}
	if err == nil {
		err = proto.Unmarshal(message, next)
	}
	if err == nil && next.GetStatus() != 0 {
		err = fmt.Errorf("refuses the proof by the block's token: %.200q", next.Message)
	}
	return next, err
}

// digestMD5 is the proof to a DataNode.
type digestMD5 struct {
	*ipc.Digest
	ciphers    string
	cipher     string // the one that is taken, if what follows is encrypted
	protection byte
}

// answerTo takes the first of the protections that a DataNode offers that suffices.
func answerTo(offer []byte, secret blockSecret, least byte) (*digestMD5, error) {
	proof, said, err := ipc.NewDigest(offer, secret.user, secret.password, "hdfs/0")
	if err != nil {
		return nil, err
	}
	d := &digestMD5{Digest: proof, ciphers: said["cipher"]}
	for _, qop := range strings.Split(said["qop"], ",") {
		if number := qops[strings.TrimSpace(qop)]; number != 0 && number >= least {
			d.QOP, d.protection = strings.TrimSpace(qop), number
			break
		}
	}
	if d.QOP == "" {
		return nil, fmt.Errorf("offers %.100q to protect blocks, and dataTransferProtection of the cluster file wants %s; "+
			"set dfs.data.transfer.protection=%[2]s in hdfs-site.xml of the DataNode", said["qop"], protections[least])
	}
	offered := strings.Split(d.ciphers, ",")
	for _, known := range []string{"rc4", "rc4-56", "rc4-40"} {
		if d.protection == encrypted && slices.Contains(offered, known) {
			d.cipher = known
			break
		}
	}
	if d.protection == encrypted && d.cipher == "" {
		return nil, fmt.Errorf("offers encryption by %.100q, want rc4; dataTransferProtection: integrity does without, "+
			"if dfs.data.transfer.protection of the DataNode allows it", d.ciphers)
	}
	return d, nil
}

func (d *digestMD5) reply() string {
	if d.cipher != "" {
		return d.Digest.Reply() + ", cipher=" + d.cipher
	}
	return d.Digest.Reply()
}

// wrapped returns the client's end of a connection of wrapped pieces.
func (d *digestMD5) wrapped(c net.Conn, r *bufio.Reader) *wrappedConn {
	secret := string(ipc.MD5(string(d.A1())))
	w := &wrappedConn{
		Conn: c, r: r,
		signs:  ipc.MD5(secret, "Digest session key to client-to-server signing key magic constant"),
		checks: ipc.MD5(secret, "Digest session key to server-to-client signing key magic constant"),
	}
	if d.protection == encrypted {
		n := map[string]int{"rc4": 16, "rc4-56": 7, "rc4-40": 5}[d.cipher]
		seals := ipc.MD5(secret[:n], "Digest H(A1) to client-to-server sealing key magic constant")
		opens := ipc.MD5(secret[:n], "Digest H(A1) to server-to-client sealing key magic constant")
		w.seals, _ = rc4.NewCipher(seals) //nolint:gosec // the protocol's
		w.opens, _ = rc4.NewCipher(opens) //nolint:gosec // the protocol's
	}
	return w
}
