package hibench

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// seqReader reads the records of a Hadoop SequenceFile, version 6, that is not
// compressed. The HiBench workloads read and write such files.
type seqReader struct {
	r                    *bufio.Reader
	keyClass, valueClass string
	sync                 [16]byte
	record               []byte
}

// The largest sizes that are accepted in a SequenceFile. They stop a damaged
// file from using up the memory. A record of RandomTextWriter has 1.3 KB.
const (
	maxRecordBytes = 16 << 20
	maxStringBytes = 64 << 10
)

const syncEscape = -1 // this number, in place of a record's length, means that a sync marker follows

func newSeqReader(r io.Reader) (*seqReader, error) {
	s := &seqReader{r: bufio.NewReaderSize(r, 256<<10)}
	if err := s.readHeader(); err != nil {
		return nil, fmt.Errorf("header of SequenceFile: %w", whole(err))
	}
	return s, nil
}

func (s *seqReader) readHeader() error {
	var magic [4]byte
	if _, err := io.ReadFull(s.r, magic[:]); err != nil {
		return err
	}
	if string(magic[:]) != "SEQ\x06" {
		return fmt.Errorf("starts with %q; want SEQ and version 6", magic[:])
	}
	var err error
	if s.keyClass, err = s.readString(); err != nil {
		return err
	}
	if s.valueClass, err = s.readString(); err != nil {
		return err
	}
	var compression [2]byte // two flags of one byte each: whether records are compressed, and whether blocks are
	if _, err := io.ReadFull(s.r, compression[:]); err != nil {
		return err
	}
	if compression != [2]byte{} {
		return errors.New("it is compressed, which is not supported: set " + compressOutput + " to false")
	}
	var pairs int32
	if err := binary.Read(s.r, binary.BigEndian, &pairs); err != nil {
		return err
	}
	for range 2 * int64(pairs) {
		if _, err := s.readString(); err != nil {
			return err
		}
	}
	_, err = io.ReadFull(s.r, s.sync[:])
	return err
}

// next returns the serialized key and value of the next record, or io.EOF after
// the last. Both slices are valid until next is called again.
func (s *seqReader) next() (key, value []byte, err error) {
	length, err := s.readInt()
	if err != nil {
		return nil, nil, err // between two records, io.EOF means the end of the file
	}
	if length == syncEscape {
		var sync [16]byte
		if _, err := io.ReadFull(s.r, sync[:]); err != nil {
			return nil, nil, whole(err)
		}
		if sync != s.sync {
			return nil, nil, errors.New("SequenceFile: wrong sync marker")
		}
		if length, err = s.readInt(); err != nil {
			return nil, nil, err
		}
	}
	keyLength, err := s.readInt()
	if err != nil {
		return nil, nil, whole(err)
	}
	if length < 0 || length > maxRecordBytes || keyLength < 0 || keyLength > length {
		return nil, nil, fmt.Errorf("SequenceFile: a record of %d bytes with a key of %d bytes", length, keyLength)
	}
	if int(length) > cap(s.record) {
		s.record = make([]byte, length)
	}
	s.record = s.record[:length]
	if _, err := io.ReadFull(s.r, s.record); err != nil {
		return nil, nil, whole(err)
	}
	return s.record[:keyLength], s.record[keyLength:], nil
}

func (s *seqReader) readInt() (int32, error) {
	var b [4]byte
	_, err := io.ReadFull(s.r, b[:])
	return int32(binary.BigEndian.Uint32(b[:])), err
}

func (s *seqReader) readString() (string, error) {
	n, err := readVLong(s.r)
	if err != nil {
		return "", err
	}
	if n < 0 || n > maxStringBytes {
		return "", fmt.Errorf("a string has %d bytes; want 0 to 65536", n)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(s.r, b)
	return string(b), err
}

// text returns the characters of a serialized org.apache.hadoop.io.Text, which
// starts with its length.
func text(b []byte) ([]byte, error) {
	r := bytes.NewReader(b)
	n, err := readVLong(r)
	if err != nil {
		return nil, fmt.Errorf("text: %w", whole(err))
	}
	if n != int64(r.Len()) {
		return nil, fmt.Errorf("text: its length is given as %d bytes, but it has %d", n, r.Len())
	}
	return b[len(b)-r.Len():], nil
}

// readVLong reads an integer in Hadoop's format of variable length. A first
// byte from -112 to 127 is the integer itself. A lower first byte says how many
// bytes follow with the integer, and whether it is negative.
func readVLong(r io.ByteReader) (int64, error) {
	first, err := r.ReadByte()
	if err != nil {
		return 0, err
	}
	b := int8(first)
	if b >= -112 {
		return int64(b), nil
	}
	n, negative := -112-int(b), false
	if b < -120 {
		n, negative = -120-int(b), true
	}
	var v int64
	for range n {
		c, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		v = v<<8 | int64(c)
	}
	if negative {
		v = ^v
	}
	return v, nil
}

// whole is for reading in the middle of a value: it replaces io.EOF, which
// would mean a complete file, by io.ErrUnexpectedEOF.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// seqWriter writes an uncompressed SequenceFile.
type seqWriter struct {
	w     *bufio.Writer
	sync  [16]byte
	since int // bytes since the last sync marker
}

// syncEvery is how many bytes a seqWriter writes between two sync markers, at
// which a map can start to read in the middle of a file.
const syncEvery = 100 << 10

// newSeqWriter writes the header of a SequenceFile, with the Java classes of its keys
// and values. Its sync markers are made from the given name, so that the same records
// always give the same file.
func newSeqWriter(w io.Writer, name, keyClass, valueClass string) *seqWriter {
	s := &seqWriter{w: bufio.NewWriterSize(w, 256<<10)}
	sum := sha256.Sum256([]byte(name))
	copy(s.sync[:], sum[:])
	s.w.WriteString("SEQ\x06")
	for _, class := range []string{keyClass, valueClass} {
		s.w.Write(appendVLong(nil, int64(len(class))))
		s.w.WriteString(class)
	}
	s.w.Write(make([]byte, 2+4)) // not compressed, and no further properties
	s.w.Write(s.sync[:])
	return s
}

// write writes one record, of a serialized key and value. Errors show at flush.
func (s *seqWriter) write(key, value []byte) {
	if s.since >= syncEvery {
		s.w.Write([]byte{0xff, 0xff, 0xff, 0xff})
		s.w.Write(s.sync[:])
		s.since = 0
	}
	length := len(key) + len(value)
	s.w.Write(binary.BigEndian.AppendUint32(nil, uint32(length)))
	s.w.Write(binary.BigEndian.AppendUint32(nil, uint32(len(key))))
	s.w.Write(key)
	s.w.Write(value)
	s.since += 8 + length
}

func (s *seqWriter) flush() error { return s.w.Flush() }

// asText makes of characters a serialized org.apache.hadoop.io.Text, in place.
func asText(b []byte) []byte {
	return slices.Insert(b, 0, appendVLong(make([]byte, 0, 9), int64(len(b)))...)
}

// appendVLong appends an integer of 0 or more in Hadoop's format of variable
// length.
func appendVLong(b []byte, v int64) []byte {
	if v <= 127 {
		return append(b, byte(v))
	}
	digits := bytes.TrimLeft(binary.BigEndian.AppendUint64(nil, uint64(v)), "\x00")
	return append(append(b, byte(-112-len(digits))), digits...)
}
