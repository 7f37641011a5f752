package hdfs

import (
	"bufio"
	"bytes"
	"context"
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
}

const offerAuth = `realm="0",nonce="abc",qop="auth",charset=utf-8,algorithm=md5-sess`

// serve does what the DataNode does on one connection. It ends after a message that is
// not whole, and if nothing comes: the library leaves a connection open whose proof has
// failed.
func (d provenDataNode) serve(c net.Conn) {
	c.SetReadDeadline(time.Now().Add(time.Second))
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
	if second == nil {
		said, _, err := field(reply, 2, protowire.BytesType)
		if err != nil {
			return
		}
		m := message(1, 0, 2, "rspauth="+digest(string(said)))
		if d.cipher != nil {
			m = append(m, message(4, d.cipher)...)
		}
		second = framed(m)
	}
	c.Write(second)
	if d.after != nil && whole(second) {
		if _, err := r.Peek(3); err != nil {
			return
		}
		c.Write(d.after)
	}
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

// readProven returns what reads a file of one block from a DataNode of a secured cluster.
func readProven(t testing.TB) func(d provenDataNode) ([]byte, error) {
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
	l := &library{}
	files := must(colinmarc.NewClient(colinmarc.ClientOptions{
		Addresses: []string{"a:1"}, User: "me", DataTransferProtection: "authentication",
		NamenodeDialFunc: func(context.Context, string, string) (net.Conn, error) {
			return &libraryCalls{c: client, ctx: context.Background()}, nil
		},
		DatanodeDialFunc: func(_ context.Context, _, address string) (net.Conn, error) {
			l.asked.Store(&address)
			ours, theirs := net.Pipe()
			mu.Lock()
			d := is
			mu.Unlock()
			go func() {
				defer theirs.Close()
				d.serve(theirs)
			}()
			return &provenConn{limitedConn: limitedConn{Conn: tcpLike{ours}}, address: address, r: bufio.NewReader(ours)}, nil
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
		defer f.Close()
		return io.ReadAll(reader{f, l, 100 * time.Millisecond})
	}
}

// TestProvenDataNode: a DataNode of a secured cluster that sends nonsense while it proves
// who it is, or afterwards, gives an error that names it.
func TestProvenDataNode(t *testing.T) {
	read := readProven(t)
	integrity := strings.Replace(offerAuth, `"auth"`, `"auth-int"`, 1)
	key, iv := bytes.Repeat([]byte{1}, 32), make([]byte, 16)
	for name, x := range map[string]struct {
		d    provenDataNode
		says string // empty: the content is read
	}{
		"as it should be":       {provenDataNode{after: join(readAnswer(512, 0), packet(content[:1000]), packet(content[1000:]), packet(nil))}, ""},
		"a proof without a sum": {provenDataNode{second: framed(message(1, 0, 2, "rspauth"))}, "DataNode 10.0.0.9:9866: does not prove"},
		"no proof":              {provenDataNode{second: framed(message(1, 0))}, "does not prove"},
		"a wrong proof":         {provenDataNode{second: framed(message(1, 0, 2, "rspauth=0"))}, "rspauth did not match"},
		"an empty offer":        {provenDataNode{first: framed(message(1, 0, 2, ""))}, "invalid token challenge"},
		"a refusal":             {provenDataNode{first: framed(message(1, 2, 3, "token is expired\x1b[2J"))}, `DataNode 10.0.0.9:9866: refuses the proof by the block's token: "token is expired\x1b[2J"`},
		"a message of 32 GiB":   {provenDataNode{first: binary.AppendUvarint(nil, 32<<30-1)}, "DataNode 10.0.0.9:9866: announced a message of 34359738367 bytes"},
		"a key of 4 bytes":      {provenDataNode{offer: integrity, cipher: message(1, 1, 2, []byte("1234"), 3, iv, 4, key, 5, iv)}, "DataNode 10.0.0.9:9866: sent a key of a stream"},
		"a stream from nowhere": {provenDataNode{offer: integrity, cipher: message(1, 1, 2, key, 3, []byte("1"), 4, key, 5, iv)}, "DataNode 10.0.0.9:9866: sent a key of a stream"},
		"a piece of 5 bytes":    {provenDataNode{offer: integrity, after: []byte("\x00\x00\x00\x05abcde")}, "DataNode 10.0.0.9:9866: announced a signed or encrypted piece of 5 bytes"},
		"a piece of -1 bytes":   {provenDataNode{offer: integrity, after: []byte("\xff\xff\xff\xff")}, "piece of -1 bytes"},
		"a piece of 2 GiB":      {provenDataNode{offer: integrity, after: []byte("\x7f\xff\xff\xff")}, "piece of 2147483647 bytes"},
		"a wrong signature":     {provenDataNode{offer: integrity, after: append([]byte("\x00\x00\x00\x14"), make([]byte, 20)...)}, "HMAC"},
		"no bytes between sums": {provenDataNode{after: join(readAnswer(0, 0), packet(content))}, "read hdfs f: DataNode 10.0.0.9:9866 sent what no DataNode sends"},
		"a negative packet":     {provenDataNode{after: join(readAnswer(512, 0), header(4+4, -600), make([]byte, 4))}, "DataNode 10.0.0.9:9866 sent what no DataNode sends"},
		"ends early":            {provenDataNode{after: join(readAnswer(512, 0), packet(nil))}, "DataNode 10.0.0.9:9866: i/o timeout"},
		"wrong sums":            {provenDataNode{after: join(readAnswer(512, 0), header(4, 1000), make([]byte, 1000))}, "invalid checksum"},
	} {
		t.Run(name, func(t *testing.T) {
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
	f.Add("", framed(message(1, 0, 2, offerAuth)), framed(message(1, 0, 2, "rspauth")), []byte(nil), []byte{})
	f.Add("", []byte{0}, []byte{0}, []byte(nil), []byte{})
	read := readProven(f)
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
