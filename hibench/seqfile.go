package hibench

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
)

// seqReader reads the records of a Hadoop SequenceFile, version 6. The file is
// not compressed, or its blocks are compressed by Hadoop's default codec, which
// is zlib. The HiBench workloads read and write such files.
type seqReader struct {
	r                    *bufio.Reader
	keyClass, valueClass string
	sync                 [16]byte
	record               []byte
	block                *seqBlock // the rest of the block of records that is being read; nil if the file is not compressed
}

// seqBlock is the rest of a block of compressed records.
type seqBlock struct {
	records                                int64         // number of records that are still to be read
	keyLengths, keys, valueLengths, values *bufio.Reader // the four parts of a block, decompressed
}

// The largest sizes that are accepted in a SequenceFile. They stop a damaged
// file from using up the memory. A record of RandomTextWriter has 1.3 KB.
const (
	maxRecordBytes = 16 << 20
	maxStringBytes = 64 << 10
	maxBlockBytes  = 64 << 20 // of one part of a compressed block; Hadoop starts a new block after 1 MB of records
)

const defaultCodec = "org.apache.hadoop.io.compress.DefaultCodec"

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
	switch compression {
	case [2]byte{}:
	case [2]byte{1, 1}:
		codec, err := s.readString()
		if err != nil {
			return err
		}
		if codec != defaultCodec {
			return fmt.Errorf("it is compressed by %s; want %s, or set mapreduce.output.fileoutputformat.compress to false", codec,
				defaultCodec)
		}
		s.block = &seqBlock{}
	default:
		return errors.New("its records are compressed one by one, which is not supported: set " +
			"mapreduce.output.fileoutputformat.compress to false")
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
	if s.block != nil {
		return s.nextOfBlock()
	}
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

// nextOfBlock returns the next record of a file with compressed blocks.
func (s *seqReader) nextOfBlock() (key, value []byte, err error) {
	for s.block.records == 0 {
		if err := s.readBlock(); err != nil {
			return nil, nil, err // between two blocks, io.EOF means the end of the file
		}
	}
	s.block.records--
	keyBytes, err := readVLong(s.block.keyLengths)
	if err != nil {
		return nil, nil, whole(err)
	}
	valueBytes, err := readVLong(s.block.valueLengths)
	if err != nil {
		return nil, nil, whole(err)
	}
	if keyBytes < 0 || valueBytes < 0 || keyBytes > maxRecordBytes || valueBytes > maxRecordBytes {
		return nil, nil, fmt.Errorf("SequenceFile: a record with a key of %d bytes and a value of %d bytes", keyBytes, valueBytes)
	}
	if n := int(keyBytes + valueBytes); n > cap(s.record) {
		s.record = make([]byte, n)
	}
	s.record = s.record[:keyBytes+valueBytes]
	if _, err := io.ReadFull(s.block.keys, s.record[:keyBytes]); err != nil {
		return nil, nil, whole(err)
	}
	if _, err := io.ReadFull(s.block.values, s.record[keyBytes:]); err != nil {
		return nil, nil, whole(err)
	}
	return s.record[:keyBytes], s.record[keyBytes:], nil
}

// readBlock reads the next block of compressed records.
func (s *seqReader) readBlock() error {
	escape, err := s.readInt()
	if err != nil {
		return err
	}
	var sync [16]byte
	if _, err := io.ReadFull(s.r, sync[:]); err != nil {
		return whole(err)
	}
	if escape != syncEscape || sync != s.sync {
		return errors.New("SequenceFile: wrong sync marker")
	}
	b := &seqBlock{}
	if b.records, err = readVLong(s.r); err != nil {
		return whole(err)
	}
	for _, part := range []**bufio.Reader{&b.keyLengths, &b.keys, &b.valueLengths, &b.values} {
		n, err := readVLong(s.r)
		if err != nil {
			return whole(err)
		}
		if n < 0 || n > maxBlockBytes {
			return fmt.Errorf("SequenceFile: a part of a block has %d bytes; want 0 to %d", n, maxBlockBytes)
		}
		var compressed bytes.Buffer // grows with what is read: n may be wrong
		if _, err := io.CopyN(&compressed, s.r, n); err != nil {
			return whole(err)
		}
		plain, err := zlib.NewReader(&compressed)
		if err != nil {
			return fmt.Errorf("SequenceFile: block: %w", whole(err))
		}
		*part = bufio.NewReader(plain)
	}
	if b.records < 0 {
		return fmt.Errorf("SequenceFile: a block of %d records", b.records)
	}
	s.block = b
	return nil
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
