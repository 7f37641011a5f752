package hdfs

import (
	"bufio"
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"

	colinmarc "github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/proto"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/collectors/hdfs/ipc"
)

// lyingDataNode is a DataNode, of a secured cluster if it offers a proof.
type lyingDataNode struct {
	offer string // what it offers
	first []byte // its first message, if it is not the offer
	proof []byte // its second message, if it does not prove that it knows the token
	aes   int    // length of the keys of the stream in the second message; 0: there is none
	keys  []byte // the keys of a stream, if they are not right
	after []byte // what it sends once it is asked for a block, wrapped as was agreed
	raw   bool   // it does not wrap that
	spoil func(nth int, piece []byte) []byte
}

const offerAuth = `realm="0",nonce="abc",qop="auth",charset=utf-8,algorithm=md5-sess`

// serve does what the DataNode does on one connection. It ends after a message that is
// not whole, and when the connection is closed.
func (d lyingDataNode) serve(c net.Conn) {
	r := bufio.NewReader(c)
	over := net.Conn(&streamConn{Conn: c, r: r, w: c})
	if d.offer != "" || d.first != nil {
		if over = d.proven(c, r); over == nil {
			return
		}
	}
	// The request comes in one write, and is checked here: the client wraps as the
	// DataNode unwraps.
	request := make([]byte, 3)
	if _, err := io.ReadFull(over, request); err != nil || request[1] != transferVersion || request[2] != readBlock || d.after == nil {
		_, _ = io.Copy(io.Discard, c)
		return
	}
	w, isWrapped := over.(*wrappedConn)
	if d.raw || !isWrapped {
		if d.raw {
			over = c
		}
		over.Write(d.after)
		return
	}
	for nth, at := 0, 0; at < len(d.after); nth++ {
		text := d.after[at:min(at+100, len(d.after))]
		at += len(text)
		piece := w.wrap(text)
		if d.spoil != nil {
			piece = d.spoil(nth, piece)
		}
		c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(piece))), piece...))
	}
}

// proven proves that it knows the token, and returns the connection for what follows; nil
// if the client gives up.
func (d lyingDataNode) proven(c net.Conn, r *bufio.Reader) net.Conn {
	if _, err := io.ReadFull(r, make([]byte, 4)); err != nil { // 0xDEADBEEF
		return nil
	}
	if _, _, err := readMessage(r); err != nil {
		return nil
	}
	if d.first == nil {
		d.first = framed(message(1, 0, 2, d.offer))
	}
	c.Write(d.first)
	_, reply, err := readMessage(r)
	if err != nil {
		return nil
	}
	var step hdfspb.Handshake
	if proto.Unmarshal(reply, &step) != nil {
		return nil
	}
	said := step.Payload
	over := d.sealed(c, r, string(said))
	if d.proof == nil {
		m := message(1, 0, 2, "rspauth="+digest(string(said)))
		if d.keys != nil {
			m = append(m, message(4, d.keys)...)
		}
		if d.aes > 0 {
			w := over.(*wrappedConn)
			in, out, iv := bytes.Repeat([]byte{1}, d.aes), bytes.Repeat([]byte{2}, d.aes), make([]byte, 16)
			m = append(m, message(4, message(1, 2, 2, w.wrap(in), 3, iv, 4, w.wrap(out), 5, iv))...)
			ctr := func(key []byte) cipher.Stream {
				return cipher.NewCTR(must(aes.NewCipher(append(key, make([]byte, 16)...)[:max(16, len(key))])), iv)
			}
			over = &streamConn{Conn: c, r: cipher.StreamReader{S: ctr(in), R: r}, w: cipher.StreamWriter{S: ctr(out), W: c}}
		}
		d.proof = framed(m)
	}
	c.Write(d.proof)
	return over
}

// sealed is the DataNode's end of a connection on which a client has proved who it is.
func (d lyingDataNode) sealed(c net.Conn, r *bufio.Reader, said string) net.Conn {
	value := valueIn(said)
	is := &digestMD5{
		Digest: &ipc.Digest{
			User: value("username"), Realm: value("realm"), Nonce: value("nonce"), CNonce: value("cnonce"), URI: value("digest-uri"),
			QOP: value("qop"),
		}, cipher: value("cipher"), protection: qops[value("qop")],
	}
	if is.protection == unprotected {
		return &streamConn{Conn: c, r: r, w: c}
	}
	w := is.wrapped(c, r)
	w.signs, w.checks = w.checks, w.signs
	w.seals, w.opens = w.opens, w.seals
	return w
}

// valueIn returns what finds the value of a name in a client's proof.
func valueIn(said string) func(name string) string {
	return func(name string) string {
		m := regexp.MustCompile(`\b` + name + `="?([^",]*)`).FindStringSubmatch(said)
		return append(m, "", "")[min(len(m), 1)]
	}
}

func framed(m []byte) []byte { return append(binary.AppendUvarint(nil, uint64(len(m))), m...) }

// digest is the proof (RFC 2831) of a DataNode that knows the password of the test's
// token, which is empty.
func digest(reply string) string {
	value := valueIn(reply)
	sum := func(parts ...string) []byte { s := md5.Sum([]byte(strings.Join(parts, ":"))); return s[:] }
	secret := string(sum(value("username"), value("realm"), base64.StdEncoding.EncodeToString(nil)))
	a1 := hex.EncodeToString(sum(secret, value("nonce"), value("cnonce")))
	a2 := ":" + value("digest-uri")
	if strings.HasPrefix(value("qop"), "auth-") {
		a2 += ":" + strings.Repeat("0", 32)
	}
	return hex.EncodeToString(sum(a1, value("nonce"), "00000001", value("cnonce"), value("qop"), hex.EncodeToString(sum(a2))))
}

// readFrom returns what reads a file of one block, of which a DataNode has the only replica.
func readFrom(t testing.TB) func(d lyingDataNode) ([]byte, error) {
	block := message(
		1, message(1, "pool", 2, 7, 3, 1, 4, len(content)), 2, 0,
		3, message(1, message(1, "10.0.0.9", 2, "worker", 3, "uuid", 4, 9866, 5, 0, 6, 0)),
		4, 0, 5, message(1, "", 2, "", 3, "", 4, ""),
	)
	answers := map[string][]byte{
		"getServerDefaults": message(1, message(1, 1<<27, 2, 512, 3, 65536, 4, 1, 5, 4096)),
		"getFileInfo": message(1, message(1, 2, 2, "f", 3, len(content), 4, message(1, 0o644), 5, "o", 6, "g", 7, 0, 8, 0,
			10, 1, 11, 1<<27)),
		"getBlockLocations":    message(1, message(1, len(content), 2, block, 3, 0, 5, 1)),
		"getDataEncryptionKey": nil,
		"renewLease":           nil,
	}
	nn := active(func(c fakeCall) fakeReply { return fakeReply{message: unknown(answers[c.method])} })
	var is lyingDataNode
	dn := &fakeNameNode{raw: func(c net.Conn) { is.serve(c) }}
	client := fakeCluster{"a:1": nn, "10.0.0.9:9866": dn}.client(t, "a:1")
	ctx := t.Context()
	connect := sync.OnceValue(func() *colinmarc.Client { return must(client.Files(ctx)) })
	return func(d lyingDataNode) ([]byte, error) {
		files := connect()
		is, client.options.Kerberos = d, nil
		if d.offer != "" || d.first != nil {
			client.options.Kerberos = &Kerberos{Protection: "authentication"}
		}
		return files.ReadFile("/f")
	}
}

// TestLies has DataNodes that do as they should, and some that do not, with and without a
// proof of who they are: none makes the library panic, or allocate what did not come, and
// each error names the DataNode and says what it did.
func TestLies(t *testing.T) {
	read := readFrom(t)
	const integrity, privacy = `realm="0",nonce="abc",qop="auth-int",charset=utf-8`, `realm="0",nonce="abc",qop="auth-conf",cipher="3des,rc4"`
	key, iv := bytes.Repeat([]byte{1}, 32), make([]byte, 16)
	whole := join(readAnswer(512, 0), packet(content[:1000]), packet(content[1000:]), packet(nil))
	changed := func(which, at int) func(int, []byte) []byte {
		return func(nth int, piece []byte) []byte {
			if piece = bytes.Clone(piece); nth == which {
				piece[(len(piece)+at)%len(piece)] ^= 4
			}
			return piece
		}
	}
	var earlier []byte
	again := func(nth int, piece []byte) []byte {
		if nth == 2 {
			return earlier
		}
		earlier = piece
		return piece
	}
	huge := binary.AppendUvarint(nil, 32<<30-1)
	for name, x := range map[string]struct {
		d    lyingDataNode
		says string // empty: the content is read
	}{
		"plain":              {lyingDataNode{after: whole}, ""},
		"proven":             {lyingDataNode{offer: offerAuth, after: whole}, ""},
		"signed":             {lyingDataNode{offer: integrity, after: whole}, ""},
		"encrypted":          {lyingDataNode{offer: privacy, after: whole}, ""},
		"rc4-56":             {lyingDataNode{offer: strings.Replace(privacy, "3des,rc4", "rc4-56", 1), after: whole}, ""},
		"rc4-40":             {lyingDataNode{offer: strings.Replace(privacy, "3des,rc4", "des,rc4-40", 1), after: whole}, ""},
		"a stream":           {lyingDataNode{offer: privacy, aes: 16, after: whole}, ""},
		"a stream, 256 bits": {lyingDataNode{offer: privacy, aes: 32, after: whole}, ""},
		"a choice":           {lyingDataNode{offer: strings.Replace(offerAuth, `"auth"`, `"what,auth-int,auth"`, 1), after: whole}, ""},

		"a proof without a sum": {lyingDataNode{offer: offerAuth, proof: framed(message(1, 0, 2, "rspauth"))}, "does not prove"},
		"no proof":              {lyingDataNode{offer: offerAuth, proof: framed(message(1, 0))}, "does not prove"},
		"a wrong proof": {
			lyingDataNode{offer: offerAuth, proof: framed(message(1, 0, 2, "rspauth=0"))},
			"does not prove that it knows the block's token",
		},
		"an empty offer":      {lyingDataNode{first: framed(message(1, 0, 2, ""))}, "its offer of a proof has no nonce"},
		"no known protection": {lyingDataNode{first: framed(message(1, 0, 2, `nonce="a",qop="what"`))}, `offers "what" to protect blocks`},
		"3DES alone": {
			lyingDataNode{first: framed(message(1, 0, 2, `nonce="a",qop="auth-conf",cipher="3des"`))},
			`offers encryption by "3des", want rc4`,
		},
		"a refusal": {
			lyingDataNode{first: framed(message(1, 2, 3, "token is expired\x1b[2J"))},
			`refuses the proof by the block's token: "token is expired\x1b[2J"`,
		},
		"a message of 32 GiB": {lyingDataNode{first: huge}, "announced a message of 34359738367 bytes"},
		"a key of 5 bytes": {
			lyingDataNode{offer: privacy, aes: 5, after: whole},
			"sent the key of a stream that is not AES/CTR/NoPadding: crypto/aes: invalid key size 5",
		},
		"a key of its own": {
			lyingDataNode{offer: privacy, keys: message(1, 2, 2, key, 3, iv, 4, key, 5, iv)},
			"sent a piece that is not as it was signed",
		},
		"a key of 4 bytes": {
			lyingDataNode{offer: privacy, keys: message(1, 2, 2, []byte("1234"), 3, iv, 4, key, 5, iv)},
			"sent a piece that is not as it was signed",
		},

		"a piece of 5 bytes": {
			lyingDataNode{offer: integrity, raw: true, after: []byte("\x00\x00\x00\x05abcde")},
			"sent a piece that is not as it was signed",
		},
		"a piece of 4 GiB":    {lyingDataNode{offer: integrity, raw: true, after: []byte("\xff\xff\xff\xff")}, "piece of 4294967295 bytes"},
		"a piece changed":     {lyingDataNode{offer: integrity, after: whole, spoil: changed(3, 0)}, "or is not piece 3"},
		"a signature changed": {lyingDataNode{offer: integrity, after: whole, spoil: changed(3, -16)}, "is not as it was signed"},
		"a secret changed":    {lyingDataNode{offer: privacy, after: whole, spoil: changed(3, 0)}, "is not as it was signed"},
		"a piece sent twice":  {lyingDataNode{offer: integrity, after: whole, spoil: again}, "or is not piece 2"},
		"a secret sent twice": {lyingDataNode{offer: privacy, after: whole, spoil: again}, "or is not piece 2"},

		"32 GiB":             {lyingDataNode{after: huge}, "announced a message of 34359738367 bytes; want at most 1048576"},
		"32 GiB signed":      {lyingDataNode{offer: integrity, after: huge}, "announced a message of 34359738367 bytes"},
		"32 GiB encrypted":   {lyingDataNode{offer: privacy, after: huge}, "announced a message of 34359738367 bytes"},
		"32 GiB in a stream": {lyingDataNode{offer: privacy, aes: 16, after: huge}, "announced a message of 34359738367 bytes"},
		"2 GiB of data": {
			lyingDataNode{after: join(readAnswer(512, 0), header(2<<30-1, 2<<30-1))},
			"announced a packet of 2147483647 bytes; want 4 to 16777216",
		},
		"2 GiB in a small packet": {
			lyingDataNode{after: join(readAnswer(1, 0), header(100, 2<<30-1))},
			"which does not match 2147483647 bytes of data with checksums",
		},
		"a packet of 2 GiB": {
			lyingDataNode{offer: privacy, aes: 16, after: join(readAnswer(1, 0), header(1<<31-1, 1<<31-9))},
			"announced a packet of 2147483647 bytes",
		},
		"a negative packet": {lyingDataNode{after: join(readAnswer(512, 0), header(-1, 10))}, "announced a packet of -1 bytes"},
		"negative data": {
			lyingDataNode{offer: offerAuth, after: join(readAnswer(512, 0), header(4+4, -600), make([]byte, 4))},
			"announced -600 bytes of data",
		},
		"no bytes between checksums": {lyingDataNode{after: join(readAnswer(0, 0), packet(content))}, "announced a checksum for each 0 bytes"},
		"begins before the block":    {lyingDataNode{after: join(readAnswer(512, 1<<63), packet(content))}, "from byte -9223372036854775808 on"},
		"ends early": {
			lyingDataNode{after: join(readAnswer(512, 0), packet(content[:1000]), packet(nil))},
			"the block ended before the length",
		},
		"closes early":         {lyingDataNode{after: join(readAnswer(512, 0), packet(content[:1000]))}, "unexpected EOF"},
		"no message as header": {lyingDataNode{after: join(readAnswer(512, 0), []byte{0, 0, 0, 4, 0, 1, 0xff})}, "DataNode"},
		"wrong sums": {
			lyingDataNode{after: join(readAnswer(512, 0), header(4+8+1000, 1000), make([]byte, 1008))},
			"invalid checksum",
		},
	} {
		t.Run(name, func(t *testing.T) {
			check := allocatesAtMost(t, 8<<20)
			got, err := read(x.d)
			check()
			switch {
			case x.says == "":
				if err != nil || !bytes.Equal(got, content) {
					t.Errorf("read %d bytes, %v; want the %d written", len(got), err, len(content))
				}
			case err == nil || !strings.Contains(err.Error(), x.says) || name != "wrong sums" &&
				!strings.Contains(err.Error(), "DataNode 10.0.0.9:9866: "):
				t.Errorf("error %v, want one of the DataNode that says %q", err, x.says)
			}
		})
	}
}

// TestLeast: a DataNode that offers less than the cluster file wants is refused.
func TestLeast(t *testing.T) {
	for least, want := range map[byte]string{unprotected: "auth", signed: "auth-int", encrypted: "auth-conf"} {
		d, err := answerTo([]byte(`nonce="n",qop="auth,auth-int,auth-conf",cipher="rc4"`), blockSecret{}, least)
		if err != nil || d.QOP != want {
			t.Errorf("least %s: %+v, %v; want %s", protections[least], d, err, want)
		}
		if _, err := answerTo([]byte(`nonce="n",qop="auth"`), blockSecret{}, least); (err == nil) != (least == unprotected) {
			t.Errorf("least %s, authentication is offered: %v", protections[least], err)
		}
	}
	_, err := answerTo([]byte(`nonce="n",qop="auth"`), blockSecret{}, encrypted)
	wantError(t, err, "set dfs.data.transfer.protection=privacy in hdfs-site.xml of the DataNode")
}

// FuzzProof: whatever a DataNode sends that does not know the key, it is refused, and the
// key stays secret.
func FuzzProof(f *testing.F) {
	for _, offer := range []string{
		offerAuth, `nonce=a,qop=auth`, `nonce="a\",username="b",qop="auth"`, `realm="0",nonce="a b",qop="auth-int,auth-conf",cipher="3des,rc4"`,
	} {
		f.Add(join(framed(message(1, 0, 2, offer)), framed(message(1, 0, 2, "rspauth="))))
	}
	f.Add([]byte{0, 0})
	f.Fuzz(func(t *testing.T, stream []byte) {
		sent := &replayed{r: bytes.NewReader(stream)}
		_, err := proveTo(sent, blockSecret{"user", "known secret"}, unprotected)
		if err == nil || len(err.Error()) > 2000 || strings.Contains(err.Error()+string(sent.got), "known secret") {
			t.Errorf("after %q: error %v, sent %q", stream, err, sent.got)
		}
	})
}

// TestSecretOf: the token of each kind of request is found, and none where there is none.
func TestSecretOf(t *testing.T) {
	token := message(1, "id", 2, "password", 3, "", 4, "")
	want := blockSecret{base64.StdEncoding.EncodeToString([]byte("id")), base64.StdEncoding.EncodeToString([]byte("password"))}
	inner := message(1, message(1, "block", 2, token), 2, "client")
	for op, request := range map[byte][]byte{
		readBlock: message(1, inner, 2, 0, 3, 5), writeBlock: message(1, inner), checksumBlock: message(1, message(1, "block", 2, token)),
	} {
		if got, err := secretOf(op, framed(request)); err != nil || got != want {
			t.Errorf("%#x: %v, %v", op, got, err)
		}
		if _, err := secretOf(op, framed(request)[:5]); err == nil {
			t.Errorf("%#x: a request that is cut off is taken", op)
		}
	}
	if _, err := secretOf(0x70, framed(nil)); err == nil {
		t.Error("an unknown request is taken")
	}
}

// TestEncryptingCluster: where a NameNode gives a key for all DataNodes, that proves who
// the user is, and else the token of the block. The library believes that nothing is
// encrypted.
func TestEncryptingCluster(t *testing.T) {
	token := framed(message(1, message(1, message(1, "block", 2, message(1, "id", 2, "password", 3, "", 4, "")))))
	for name, x := range map[string]struct {
		key  []byte
		want blockSecret
	}{
		"key": {
			message(1, message(1, 1<<32-5, 2, "pool", 3, "nonce", 4, "known secret", 5, 9)),
			blockSecret{"-5 pool bm9uY2U=", "a25vd24gc2VjcmV0"},
		},
		"no key": {nil, blockSecret{"aWQ=", "cGFzc3dvcmQ="}},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			nn := active(func(c fakeCall) fakeReply {
				if c.method == "getDataEncryptionKey" {
					asked++
					return fakeReply{message: unknown(x.key)}
				}
				return fakeReply{message: unknown(message(1, message(1, 1<<27, 2, 512, 3, 65536, 4, 1, 5, 4096, 6, 1)))}
			})
			c := fakeCluster{"a:1": nn}.client(t, "a:1")
			for range 2 {
				if got, err := c.secret(t.Context(), readBlock, token); err != nil || got != x.want {
					t.Fatalf("%q, %v; want %q", got, err, x.want)
				}
			}
			if asked != 1 {
				t.Errorf("asked for the key %d times", asked)
			}
			c.options.Kerberos = &Kerberos{Protection: "privacy"} // the connection is there already
			files := must(colinmarc.NewClient(colinmarc.ClientOptions{
				Addresses: []string{"a:1"}, User: "me",
				NamenodeDialFunc: func(context.Context, string, string) (net.Conn, error) {
					return &libraryCalls{c: c, ctx: t.Context()}, nil
				},
			}))
			defer files.Close()
			if got, err := files.ServerDefaults(); err != nil || got.EncryptDataTransfer || got.BlockSize != 1<<27 {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// TestLongAnswer: the library gets no answer that it could take gigabytes for.
func TestLongAnswer(t *testing.T) {
	defaults := message(1, message(1, 1<<27, 2, 512, 3, 65536, 4, 1, 5, 4096))
	nn := active(func(c fakeCall) fakeReply {
		switch c.method {
		case "getFileInfo":
			return fakeReply{message: unknown(message(1, message(1, 1, 2, "d", 3, 0, 4, message(1, 0o755), 5, "o", 6, "g", 7, 0, 8, 0)))}
		case "getListing":
			return fakeReply{message: unknown(message(99, make([]byte, maxLibraryBytes)))}
		}
		return fakeReply{message: unknown(defaults)}
	})
	c := fakeCluster{"a:1": nn}.client(t, "a:1")
	files, err := c.Files(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = files.ReadDir("/d")
	wantError(t, err, "NameNode a:1: answered a call about files with 8388614 bytes, want at most 8388608")
}
