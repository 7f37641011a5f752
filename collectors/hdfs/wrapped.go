package hdfs

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/md5"
	"crypto/rc4"
	"encoding/binary"
	"fmt"
	"io"
	"net"

	"heddle/collectors/hdfs/internal/hdfspb"
	"heddle/collectors/hdfs/ipc"
)

// wrappedConn is a connection whose pieces are signed, and also encrypted if it has
// ciphers.
type wrappedConn struct {
	net.Conn
	r               *bufio.Reader
	signs, checks   []byte // keys
	seals, opens    *rc4.Cipher
	sends, receives uint32 // numbers of the next piece in each direction
	piece           bytes.Buffer
	ready           []byte // text of the piece that was not read yet
}

func (w *wrappedConn) Write(b []byte) (int, error) {
	for sent := 0; ; {
		text := b[sent:min(sent+maxWrapBytes, len(b))]
		piece := w.wrap(text)
		size := binary.BigEndian.AppendUint32(nil, uint32(len(piece))) //nolint:gosec // bounded
		if _, err := w.Conn.Write(append(size, piece...)); err != nil {
			return sent, err
		}
		if sent += len(text); sent == len(b) {
			return sent, nil
		}
	}
}

// wrap signs a text, and encrypts it if the connection is encrypted.
func (w *wrappedConn) wrap(text []byte) []byte {
	piece := append(bytes.Clone(text), signature(w.signs, w.sends, text)...)
	if w.seals != nil {
		w.seals.XORKeyStream(piece, piece)
	}
	piece = binary.BigEndian.AppendUint32(append(piece, pieceKind...), w.sends)
	w.sends++
	return piece
}

func signature(key []byte, number uint32, text []byte) []byte {
	mac := hmac.New(md5.New, key)
	mac.Write(binary.BigEndian.AppendUint32(nil, number))
	mac.Write(text)
	return mac.Sum(nil)[:macBytes]
}

func (w *wrappedConn) Read(b []byte) (int, error) {
	for len(w.ready) == 0 {
		length, err := w.r.Peek(4)
		if err != nil {
			return 0, err
		}
		size := binary.BigEndian.Uint32(length)
		if size > maxPacketBytes {
			return 0, fmt.Errorf("announced a signed or encrypted piece of %d bytes; want at most %d", size, maxPacketBytes)
		}
		_, _ = w.r.Discard(4)
		w.piece.Reset()
		if _, err := io.CopyN(&w.piece, w.r, int64(size)); err != nil { // allocates for bytes that have come
			return 0, ipc.Unexpected(err)
		}
		if w.ready, err = w.unwrap(w.piece.Bytes()); err != nil {
			return 0, err
		}
	}
	n := copy(b, w.ready)
	w.ready = w.ready[n:]
	return n, nil
}

// unwrap returns the text of the next piece, which it decrypts in its place.
func (w *wrappedConn) unwrap(piece []byte) ([]byte, error) {
	end := max(0, len(piece)-(signatureBytes-macBytes))
	if w.opens != nil {
		w.opens.XORKeyStream(piece[:end], piece[:end])
	}
	text := piece[:max(0, end-macBytes)]
	if !hmac.Equal(piece[len(text):end], signature(w.checks, w.receives, text)) { // the number of the piece is signed too
		return nil, fmt.Errorf("sent a piece that is not as it was signed, or is not piece %d", w.receives)
	}
	w.receives++
	return text, nil
}

// stream returns a connection that is one encrypted stream in each direction, by keys that
// are wrapped.
func (w *wrappedConn) stream(by *hdfspb.CipherOption) (net.Conn, error) {
	next := func(sealed, begins []byte) (cipher.Stream, error) {
		secret, err := w.unwrap(bytes.Clone(sealed))
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(secret)
		if err == nil && len(begins) != aes.BlockSize {
			err = fmt.Errorf("it begins with %d bytes", len(begins))
		}
		if err != nil {
			return nil, fmt.Errorf("sent the key of a stream that is not AES/CTR/NoPadding: %w", err)
		}
		return cipher.NewCTR(block, begins), nil
	}
	out, err := next(by.InKey, by.InIv) // into the DataNode
	if err != nil {
		return nil, err
	}
	in, err := next(by.OutKey, by.OutIv)
	if err != nil {
		return nil, err
	}
	return &streamConn{Conn: w.Conn, r: cipher.StreamReader{S: in, R: w.r}, w: cipher.StreamWriter{S: out, W: w.Conn}}, nil
}

// streamConn is a connection that is read and written by way of something else.
type streamConn struct {
	net.Conn
	r io.Reader
	w io.Writer
}

func (s *streamConn) Read(b []byte) (int, error)  { return s.r.Read(b) }
func (s *streamConn) Write(b []byte) (int, error) { return s.w.Write(b) }
