package hdfs

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// provenConn is a connection to a DataNode of a secured cluster. Both sides first prove
// that they know the key of the block's token, by two messages of the DataNode. Then
// what they send is plain, one encrypted stream, or wrapped: each piece signed or
// encrypted, with its length before it.
//
// The library colinmarc/hdfs proves and unwraps. It panics at malformed messages of the
// proof and at wrong lengths of wrapped pieces, so these are checked here. What is
// inside of the stream or the pieces cannot be checked here. It comes from a DataNode
// that has the keys of the cluster.
type provenConn struct {
	limitedConn
	address string
	r       *bufio.Reader
	steps   int          // number of the DataNode's messages of the proof that have come
	wraps   bool         // whether what follows the proof is wrapped
	ready   []byte       // checked bytes that the library has not read yet
	piece   int          // number of bytes of the current wrapped piece that have not come
	until   atomic.Int64 // deadline of the library, in Unix ns; 0 if there is none
}

const (
	proofSteps = 2
	// signatureBytes is the length of what is added to a wrapped piece.
	signatureBytes = 16
)

// Write sends what the library says. Its answer to the DataNode's first message names
// the protection that it has taken of those offered.
func (p *provenConn) Write(b []byte) (int, error) {
	const before = "nc=00000001, qop="
	if p.steps == 1 {
		if at := bytes.LastIndex(b, []byte(before)); at >= 0 {
			p.wraps = bytes.HasPrefix(b[at+len(before):], []byte("auth-")) // auth-int and auth-conf
		}
	}
	return p.Conn.Write(b)
}

// SetDeadline sets a deadline that holds for bytes that have come already, too.
func (p *provenConn) SetDeadline(t time.Time) error {
	var until int64
	if !t.IsZero() {
		until = t.UnixNano()
	}
	p.until.Store(until)
	return p.limitedConn.SetDeadline(t)
}

func (p *provenConn) Read(b []byte) (int, error) {
	if until := p.until.Load(); until != 0 && time.Now().UnixNano() > until {
		return 0, p.named(os.ErrDeadlineExceeded)
	}
	if !p.deadline.Load() {
		if err := p.SetReadDeadline(time.Now().Add(dataNodeSilence)); err != nil {
			return 0, err
		}
	}
	if len(p.ready) == 0 && p.piece == 0 {
		if err := p.next(); err != nil {
			p.Close() // the following bytes have no meaning
			return 0, p.named(err)
		}
	}
	switch {
	case len(p.ready) > 0:
		k := copy(b, p.ready)
		p.ready = p.ready[k:]
		return k, nil
	case p.piece > 0:
		k, err := p.r.Read(b[:min(len(b), p.piece)])
		p.piece -= k
		return k, p.named(unexpected(err))
	}
	k, err := p.r.Read(b)
	return k, p.named(err)
}

// named says which DataNode an error is of. The end of what it sends is none.
func (p *provenConn) named(err error) error {
	if err == nil || err == io.EOF { //nolint:errorlint // the library compares with io.EOF itself
		return err
	}
	return fmt.Errorf("DataNode %s: %w", p.address, err)
}

// next reads the next message of the proof, or the length of the next wrapped piece.
func (p *provenConn) next() error {
	if p.steps < proofSteps {
		raw, message, err := readMessage(p.r)
		if err == nil {
			err = p.step(message)
		}
		p.ready = raw
		p.steps++
		return err
	}
	if !p.wraps {
		return nil
	}
	length := make([]byte, 4)
	if _, err := io.ReadFull(p.r, length); err != nil {
		return err
	}
	size := int32(binary.BigEndian.Uint32(length))
	if size < signatureBytes || size > maxPacketBytes {
		return fmt.Errorf("announced a signed or encrypted piece of %d bytes; want %d to %d", size, signatureBytes, maxPacketBytes)
	}
	p.ready, p.piece = length, int(size)
	return nil
}

// step checks a message of the proof, a DataTransferEncryptorMessageProto. The second
// one may have the keys of an encrypted stream.
func (p *provenConn) step(message []byte) error {
	const status, payload, text, cipher, success = 1, 2, 3, 4, 0
	_, is, err := field(message, status, protowire.VarintType)
	if err != nil {
		return err
	}
	why, _, err := field(message, text, protowire.BytesType)
	if err != nil {
		return err
	}
	if is != success {
		return fmt.Errorf("refuses the proof by the block's token: %s", shortened(fmt.Sprintf("%q", why)))
	}
	proof, _, err := field(message, payload, protowire.BytesType)
	if err != nil || p.steps == 0 {
		return err
	}
	if !bytes.HasPrefix(proof, []byte("rspauth=")) {
		return errors.New("does not prove that it knows the block's token")
	}
	keys, _, err := field(message, cipher, protowire.BytesType)
	if err != nil || keys == nil {
		return err
	}
	p.wraps = false
	const inKey, inIV, outKey, outIV = 2, 3, 4, 5
	for number, is := range map[protowire.Number]func(length int) bool{
		inKey: wrappedKey, outKey: wrappedKey, inIV: oneBlock, outIV: oneBlock,
	} {
		value, _, err := field(keys, number, protowire.BytesType)
		if err != nil {
			return err
		}
		if !is(len(value)) {
			return fmt.Errorf("sent a key of a stream, or where it begins, of %d bytes", len(value))
		}
	}
	return nil
}

func wrappedKey(length int) bool { return length >= signatureBytes }
func oneBlock(length int) bool   { return length == aes.BlockSize }
