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
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"
	"google.golang.org/protobuf/encoding/protowire"
)

// provenDataNode is a DataNode of a secured cluster.
type provenDataNode struct {
	offer  string // what it offers; empty: authentication only
	first  []byte // its first message, if it is not the offer
	second []byte // its second message, if it does not prove that it knows the token
	cipher []byte // keys of a stream, in the second message
	after  []byte // what it sends after the proof, once it is asked for a block
	// seal has what follows wrapped, as was agreed, or in the stream of whose keys cipher is
	// nil. spoil changes the nth wrapped piece.
	seal  bool
	aes   int // length of the keys of the stream; 0: there is none
	spoil func(nth int, piece []byte) []byte
}

const offerAuth = `realm="0",nonce="abc",qop="auth",charset=utf-8,algorithm=md5-sess`

// serve does what the DataNode does on one connection. It ends after a message that is
// not whole, and when the connection is closed.
func (d provenDataNode) serve(c net.Conn) {
	whole := func(b []byte) bool {
		_, _, err := readMessage(bufio.NewReader(bytes.NewReader(b)))
		return err == nil
	}
	r := bufio.NewReader(c)
	if _, err := io.ReadFull(r, make([]byte, 4)); err != nil { // 0xDEADBEEF
		return
	}
	if _, _, err := readMessage(r); err != nil {
		return
	}
	offer := d.offer
	if offer == "" {
		offer = offerAuth
	}
	first := d.first
	if first == nil {
		first = framed(message(1, 0, 2, offer))
	}
	c.Write(first)
	if !whole(first) {
		return
	}
	_, reply, err := readMessage(r)
	if err != nil {
		return
	}
	second := d.second
	var over net.Conn
	if second == nil {
		said, _, err := field(reply, 2, protowire.BytesType)
		if err != nil {
			return
		}
		m := message(1, 0, 2, "rspauth="+digest(string(said)))
		over = d.sealed(c, r, string(said))
		if d.cipher != nil {
			m = append(m, message(4, d.cipher)...)
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
		second = framed(m)
	}
	c.Write(second)
	if d.after == nil || !whole(second) {
		return
	}
	if !d.seal {
		if _, err := r.Peek(3); err == nil {
			c.Write(d.after)
		}
		return
	}
	// The request comes in one write, and is checked here: the client wraps as the
	// DataNode unwraps.
	request := make([]byte, 3)
	if _, err := io.ReadFull(over, request); err != nil || request[1] != transferVersion || request[2] != readBlock {
		return
	}
	w, isWrapped := over.(*wrappedConn)
	if !isWrapped {
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

// sealed is the DataNode's end of a connection on which a client has proved who it is.
func (d provenDataNode) sealed(c net.Conn, r *bufio.Reader, said string) net.Conn {
	value := func(name string) string {
		m := regexp.MustCompile(`\b` + name + `="?([^",]*)`).FindStringSubmatch(said)
		if m == nil {
			return ""
		}
		return m[1]
	}
	is := &digestMD5{
		secret: blockSecret{user: value("username")}, realm: value("realm"), nonce: value("nonce"), cnonce: value("cnonce"),
		uri: value("digest-uri"), qop: value("qop"), cipher: value("cipher"), protection: qops[value("qop")],
	}
	if is.protection == unprotected {
		return c
	}
	w := is.wrapped(c, r)
	w.signs, w.checks = w.checks, w.signs
	w.seals, w.opens = w.opens, w.seals
	return w
}

func framed(m []byte) []byte { return append(binary.AppendUvarint(nil, uint64(len(m))), m...) }

// digest is the proof (RFC 2831) of a DataNode that knows the password of the test's
// token, which is empty.
func digest(reply string) string {
	value := func(name string) string {
		m := regexp.MustCompile(`\b` + name + `="?([^",]*)`).FindStringSubmatch(reply)
		if m == nil {
			return ""
		}
		return m[1]
	}
	sum := func(parts ...string) []byte { s := md5.Sum([]byte(strings.Join(parts, ":"))); return s[:] }
	secret := string(sum(value("username"), value("realm"), base64.StdEncoding.EncodeToString(nil)))
	a1 := hex.EncodeToString(sum(secret, value("nonce"), value("cnonce")))
	a2 := ":" + value("digest-uri")
	if strings.HasPrefix(value("qop"), "auth-") {
		a2 += ":" + strings.Repeat("0", 32)
	}
	return hex.EncodeToString(sum(a1, value("nonce"), "00000001", value("cnonce"), value("qop"), hex.EncodeToString(sum(a2))))
}

// readProven returns what reads a file of one block from a DataNode of a secured cluster,
// and gives up when nothing comes for the time silence.
func readProven(t testing.TB, silence time.Duration) func(d provenDataNode) ([]byte, error) {
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
	cluster := fakeCluster{"a:1": nn}
	client := cluster.client(t, "a:1")
	var mu sync.Mutex
	var is provenDataNode
	var opened []net.Conn // the library leaves a connection open whose proof has failed
	var served sync.WaitGroup
	l := &library{}
	files := must(colinmarc.NewClient(colinmarc.ClientOptions{
		Addresses: []string{"a:1"}, User: "me",
		NamenodeDialFunc: func(context.Context, string, string) (net.Conn, error) {
			return &libraryCalls{c: client, ctx: context.Background()}, nil
		},
		DatanodeDialFunc: func(_ context.Context, _, address string) (net.Conn, error) {
			l.asked.Store(&address)
			ours, theirs := net.Pipe()
			mu.Lock()
			d := is
			opened = append(opened, theirs)
			mu.Unlock()
			served.Go(func() {
				defer theirs.Close()
				d.serve(theirs)
			})
			conn := tcpLike{ours}
			return &dataNodeConn{limitedConn: limitedConn{Conn: conn}, address: address, r: bufio.NewReader(conn), prove: func(op byte, request []byte) (net.Conn, error) {
				secret, err := secretOf(op, request)
				if err != nil {
					return nil, err
				}
				return proveTo(conn, secret, unprotected)
			}}, nil
		},
	}))
	t.Cleanup(func() { files.Close() })
	return func(d provenDataNode) ([]byte, error) {
		mu.Lock()
		is = d
		mu.Unlock()
		f, err := files.Open("/f")
		if err != nil {
			return nil, err
		}
		defer func() {
			f.Close()
			mu.Lock()
			defer mu.Unlock()
			for _, c := range opened {
				c.Close()
			}
			opened = nil
			served.Wait()
		}()
		return io.ReadAll(reader{f, l, silence})
	}
}

// TestProvenDataNode: a DataNode of a secured cluster that sends nonsense while it proves
// who it is, or afterwards, gives an error that names it.
func TestProvenDataNode(t *testing.T) {
	read := readProven(t, dataNodeSilence)
	integrity, privacy := strings.Replace(offerAuth, `"auth"`, `"auth-int"`, 1), strings.Replace(offerAuth, `"auth"`, `"auth-conf",cipher="3des,rc4"`, 1)
	key, iv := bytes.Repeat([]byte{1}, 32), make([]byte, 16)
	whole := join(readAnswer(512, 0), packet(content[:1000]), packet(content[1000:]), packet(nil))
	at := func(n int, change func([]byte) []byte) func(int, []byte) []byte {
		return func(nth int, piece []byte) []byte {
			if nth == n {
				return change(piece)
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
	flip := func(i int) func([]byte) []byte {
		return func(piece []byte) []byte {
			piece = bytes.Clone(piece)
			piece[(len(piece)+i)%len(piece)] ^= 4
			return piece
		}
	}
	huge := binary.AppendUvarint(nil, 32<<30-1)
	for name, x := range map[string]struct {
		d    provenDataNode
		says string // empty: the content is read
	}{
		"as it should be":       {provenDataNode{after: whole}, ""},
		"signed":                {provenDataNode{offer: integrity, seal: true, after: whole}, ""},
		"encrypted":             {provenDataNode{offer: privacy, seal: true, after: whole}, ""},
		"rc4-56":                {provenDataNode{offer: strings.Replace(privacy, "3des,rc4", "rc4-56", 1), seal: true, after: whole}, ""},
		"rc4-40":                {provenDataNode{offer: strings.Replace(privacy, "3des,rc4", "des,rc4-40", 1), seal: true, after: whole}, ""},
		"a stream":              {provenDataNode{offer: privacy, seal: true, aes: 16, after: whole}, ""},
		"a stream, 256 bits":    {provenDataNode{offer: privacy, seal: true, aes: 32, after: whole}, ""},
		"a choice":              {provenDataNode{offer: strings.Replace(offerAuth, `"auth"`, `"what,auth-int,auth"`, 1), seal: true, after: whole}, ""},
		"a key of 5 bytes":      {provenDataNode{offer: privacy, seal: true, aes: 5, after: whole}, "sent the key of a stream: crypto/aes: invalid key size 5"},
		"another stream":        {provenDataNode{offer: privacy, cipher: message(1, 3, 2, key, 3, iv, 4, key, 5, iv)}, "encrypts by kind 3"},
		"a proof without a sum": {provenDataNode{second: framed(message(1, 0, 2, "rspauth"))}, "DataNode 10.0.0.9:9866: does not prove"},
		"no proof":              {provenDataNode{second: framed(message(1, 0))}, "does not prove"},
		"a wrong proof":         {provenDataNode{second: framed(message(1, 0, 2, "rspauth=0"))}, "does not prove that it knows the block's token"},
		"an empty offer":        {provenDataNode{first: framed(message(1, 0, 2, ""))}, "its offer of a proof has no nonce"},
		"no offer":              {provenDataNode{first: framed(message(1, 0, 2, `nonce="a",=`))}, "its offer of a proof is malformed at"},
		"two offers":            {provenDataNode{first: framed(message(1, 0, 2, `nonce="a",qop="auth",qop="auth-int"`))}, "has qop twice"},
		"no known protection":   {provenDataNode{first: framed(message(1, 0, 2, `nonce="a",qop="what"`))}, `offers "what" to protect blocks`},
		"3DES alone":            {provenDataNode{first: framed(message(1, 0, 2, `nonce="a",qop="auth-conf",cipher="3des"`))}, `offers encryption by "3des", want rc4`},
		"a refusal":             {provenDataNode{first: framed(message(1, 2, 3, "token is expired\x1b[2J"))}, `DataNode 10.0.0.9:9866: refuses the proof by the block's token: "token is expired\x1b[2J"`},
		"a message of 32 GiB":   {provenDataNode{first: huge}, "DataNode 10.0.0.9:9866: announced a message of 34359738367 bytes"},
		"a key of 4 bytes":      {provenDataNode{offer: privacy, cipher: message(1, 2, 2, []byte("1234"), 3, iv, 4, key, 5, iv)}, "DataNode 10.0.0.9:9866: sent a key of a stream"},
		"a stream from nowhere": {provenDataNode{offer: privacy, cipher: message(1, 2, 2, key, 3, []byte("1"), 4, key, 5, iv)}, "DataNode 10.0.0.9:9866: sent a key of a stream"},
		"a key of its own":      {provenDataNode{offer: privacy, cipher: message(1, 2, 2, key, 3, iv, 4, key, 5, iv)}, "sent a signed or encrypted piece that is malformed"},
		"a piece of 5 bytes":    {provenDataNode{offer: integrity, after: []byte("\x00\x00\x00\x05abcde")}, "DataNode 10.0.0.9:9866: announced a signed or encrypted piece of 5 bytes"},
		"a piece of -1 bytes":   {provenDataNode{offer: integrity, after: []byte("\xff\xff\xff\xff")}, "piece of -1 bytes"},
		"a piece of 2 GiB":      {provenDataNode{offer: integrity, after: []byte("\x7f\xff\xff\xff")}, "piece of 2147483647 bytes"},
		"a piece of nonsense":   {provenDataNode{offer: integrity, after: append([]byte("\x00\x00\x00\x14"), make([]byte, 20)...)}, "piece that is malformed"},
		"a piece changed":       {provenDataNode{offer: integrity, seal: true, after: whole, spoil: at(3, flip(0))}, "DataNode 10.0.0.9:9866: sent a piece that is not as it was signed"},
		"a signature changed":   {provenDataNode{offer: integrity, seal: true, after: whole, spoil: at(3, flip(-16))}, "is not as it was signed"},
		"a secret changed":      {provenDataNode{offer: privacy, seal: true, after: whole, spoil: at(3, flip(0))}, "is not as it was signed"},
		"a piece sent twice":    {provenDataNode{offer: integrity, seal: true, after: whole, spoil: again}, "sent piece 1, want 2: it was sent before"},
		"a secret sent twice":   {provenDataNode{offer: privacy, seal: true, after: whole, spoil: again}, "sent piece 1, want 2: it was sent before"},
		"a piece left out":      {provenDataNode{offer: integrity, seal: true, after: whole, spoil: at(1, flip(-1))}, "sent piece 5, want 1"},
		"32 GiB signed":         {provenDataNode{offer: integrity, seal: true, after: huge}, "announced a message of 34359738367 bytes"},
		"32 GiB encrypted":      {provenDataNode{offer: privacy, seal: true, after: huge}, "announced a message of 34359738367 bytes"},
		"32 GiB in a stream":    {provenDataNode{offer: privacy, seal: true, aes: 16, after: huge}, "announced a message of 34359738367 bytes"},
		"a packet of 2 GiB":     {provenDataNode{offer: privacy, seal: true, aes: 16, after: join(readAnswer(1, 0), header(1<<31-1, 1<<31-9))}, "announced a packet of 2147483647 bytes"},
		"no bytes between sums": {provenDataNode{after: join(readAnswer(0, 0), packet(content))}, "DataNode 10.0.0.9:9866: announced a checksum for each 0 bytes"},
		"a negative packet":     {provenDataNode{after: join(readAnswer(512, 0), header(4+4, -600), make([]byte, 4))}, "DataNode 10.0.0.9:9866: announced -600 bytes of data"},
		"ends early":            {provenDataNode{after: join(readAnswer(512, 0), packet(nil))}, "DataNode 10.0.0.9:9866: the block ended before the length"},
		"wrong sums":            {provenDataNode{after: join(readAnswer(512, 0), header(4+8+1000, 1000), make([]byte, 1008))}, "invalid checksum"},
	} {
		t.Run(name, func(t *testing.T) {
			defer allocatesAtMost(t, 8<<20)()
			got, err := read(x.d)
			wantRead(t, got, err, x.says)
		})
	}
}

// FuzzProvenDataNode: whatever a DataNode of a secured cluster sends, a read ends without
// a panic, and does not give more than the file has.
func FuzzProvenDataNode(f *testing.F) {
	key, iv := bytes.Repeat([]byte{1}, 32), make([]byte, 16)
	f.Add(offerAuth, []byte(nil), []byte(nil), []byte(nil), join(readAnswer(512, 0), packet(content), packet(nil)))
	f.Add(strings.Replace(offerAuth, `"auth"`, `"auth-int"`, 1), []byte(nil), []byte(nil), message(1, 1, 2, key, 3, iv, 4, key, 5, iv), []byte("\x00\x00\x00\x14aaaaaaaaaaaaaaaaaaaa"))
	f.Add(strings.Replace(offerAuth, `"auth"`, `"auth-conf",cipher="rc4"`, 1), []byte(nil), []byte(nil), []byte(nil), []byte("\x00\x00\x00\x14aaaaaaaaaaaaaaaaaaaa"))
	f.Add(strings.Replace(offerAuth, `"auth"`, `"auth-conf",cipher="rc4"`, 1), []byte(nil), []byte(nil), message(1, 2, 2, key, 3, iv, 4, key, 5, iv), []byte{})
	f.Add("", framed(message(1, 0, 2, offerAuth)), framed(message(1, 0, 2, "rspauth")), []byte(nil), []byte{})
	f.Add("", []byte{0}, []byte{0}, []byte(nil), []byte{})
	read := readProven(f, 100*time.Millisecond) // each may wait for the other to read
	f.Fuzz(func(t *testing.T, offer string, first, second, cipher, after []byte) {
		some := func(b []byte) []byte { // the fuzzer has no nil
			if len(b) == 0 {
				return nil
			}
			return b
		}
		got, err := read(provenDataNode{offer: offer, first: some(first), second: some(second), cipher: some(cipher), after: after})
		if err == nil && len(got) != len(content) {
			t.Errorf("read %d bytes of %d without an error", len(got), len(content))
		}
	})
}

// TestDigest is the example of RFC 2831, section 4.
func TestDigest(t *testing.T) {
	d := &digestMD5{
		secret: blockSecret{"chris", "secret"}, realm: "elwood.innosoft.com", nonce: "OA6MG9tEQGm2hh", cnonce: "OA6MHXh6VqTrRk",
		uri: "imap/elwood.innosoft.com", qop: "auth", protection: unprotected,
	}
	if got, want := d.digest("AUTHENTICATE"), "d388dad90d4bbd760a152321f2143af7"; got != want {
		t.Errorf("the client's proof is %s, want %s", got, want)
	}
	if got, want := d.digest(""), "ea40f60335c427b5527b84dbabcdfffd"; got != want {
		t.Errorf("the server's proof is %s, want %s", got, want)
	}
}

// TestLeast: a DataNode that offers less than the cluster file wants is refused.
func TestLeast(t *testing.T) {
	for least, want := range map[byte]string{unprotected: "auth", signed: "auth-int", encrypted: "auth-conf"} {
		d, err := answerTo([]byte(`nonce="n",qop="auth,auth-int,auth-conf",cipher="rc4"`), blockSecret{}, least)
		if err != nil || d.qop != want {
			t.Errorf("least %s: %+v, %v; want %s", protections[least], d, err, want)
		}
		if _, err := answerTo([]byte(`nonce="n",qop="auth"`), blockSecret{}, least); (err == nil) != (least == unprotected) {
			t.Errorf("least %s, authentication is offered: %v", protections[least], err)
		}
	}
	_, err := answerTo([]byte(`nonce="n",qop="auth"`), blockSecret{}, encrypted)
	if err == nil || !strings.Contains(err.Error(), "set dfs.data.transfer.protection=privacy in hdfs-site.xml of the DataNode") {
		t.Errorf("%v", err)
	}
}

// FuzzOffer: no offer of a DataNode breaks the answer to it, and nothing of it can add a
// part to the answer.
func FuzzOffer(f *testing.F) {
	f.Add([]byte(offerAuth))
	f.Add([]byte(`realm="0",nonce="a b",qop="auth-int,auth-conf",cipher="3des,rc4",charset=utf-8`))
	f.Add([]byte(`nonce=a,qop=auth`))
	f.Add([]byte(`nonce="a\",username="b",qop="auth"`))
	f.Fuzz(func(t *testing.T, offer []byte) {
		d, err := answerTo(offer, blockSecret{"user", "known secret"}, unprotected)
		if err != nil {
			if strings.Contains(err.Error(), "known secret") || len(err.Error()) > 2000 {
				t.Errorf("error %v", err)
			}
			return
		}
		if d.protection == 0 || d.protection == encrypted && d.cipher == "" || strings.ContainsAny(d.realm+d.nonce, `"\`) {
			t.Errorf("%+v", d)
		}
		if strings.Contains(d.reply(), "known secret") {
			t.Error("the reply has the secret")
		}
	})
}

// FuzzPiece: no wrapped piece is taken that the DataNode has not made.
func FuzzPiece(f *testing.F) {
	ends := func(protection byte) (ours, theirs *wrappedConn) {
		d := &digestMD5{secret: blockSecret{"user", "secret"}, nonce: "n", cnonce: "c", protection: protection, cipher: "rc4"}
		ours, theirs = d.wrapped(nil, nil), d.wrapped(nil, nil)
		theirs.signs, theirs.checks, theirs.seals, theirs.opens = theirs.checks, theirs.signs, theirs.opens, theirs.seals
		return ours, theirs
	}
	text := []byte("the beginning of a block")
	for _, protection := range []byte{signed, encrypted} {
		_, theirs := ends(protection)
		f.Add(theirs.wrap(text), protection == encrypted)
		f.Add(theirs.wrap(text), protection == encrypted)
	}
	f.Add([]byte{0, 1, 0, 0, 0, 0}, false)
	f.Fuzz(func(t *testing.T, piece []byte, seal bool) {
		ours, _ := ends(map[bool]byte{false: signed, true: encrypted}[seal])
		got, err := ours.unwrap(bytes.Clone(piece))
		if err == nil && !bytes.Equal(got, text) {
			t.Errorf("%q is taken from % x", got, piece)
		}
		if err != nil && ours.receives != 0 {
			t.Errorf("a piece that was refused counts (%v)", err)
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
		"key":    {message(1, message(1, 1<<32-5, 2, "pool", 3, "nonce", 4, "known secret", 5, 9)), blockSecret{"-5 pool bm9uY2U=", "a25vd24gc2VjcmV0"}},
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
			files, err := colinmarc.NewClient(colinmarc.ClientOptions{Addresses: []string{"a:1"}, User: "me", NamenodeDialFunc: func(context.Context, string, string) (net.Conn, error) {
				return &libraryCalls{c: c, ctx: t.Context()}, nil
			}})
			if err != nil {
				t.Fatal(err)
			}
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
	if err == nil || !strings.Contains(err.Error(), "NameNode a:1: answered a call about files with 8388614 bytes, want at most 8388608") {
		t.Errorf("%v", err)
	}
}
