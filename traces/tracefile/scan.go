package tracefile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"

	"heddle/traces"
)

// scanner reads the blocks of a trace file. After an error for a damaged place,
// the next call goes on at the next undamaged block.
type scanner struct {
	path   string
	in     *bufio.Reader
	offset int64 // offset of the next frame in the file
	zstd   *zstd.Decoder
	stored []byte
	laid   []byte
	footer *Footer
	lost   bool // true after damage: the scanner must search for the next undamaged block
	// version is the version of the trace format, which stands at the start of
	// the file.
	version uint32
}

// block is a block of the file: its header, its decompressed records, and its
// bytes as they are in the file.
type block struct {
	head    blockHead
	offset  int64
	records string
	stored  []byte // the block's bytes as they are in the file; valid until the next block is read
}

// newScanner returns a scanner after it has read the frame at the start of the
// file, which has the format version.
func newScanner(in *bufio.Reader, path string) (*scanner, error) {
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxBlockBytes))
	if err != nil {
		return nil, fmt.Errorf("read trace %s: %w", path, err)
	}
	s := &scanner{path: path, in: in, zstd: dec}
	head, err := in.Peek(fileFrameBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read trace %s: %w", path, err)
	}
	if len(head) < fileFrameBytes || !isFrame(head, tagFile) {
		return nil, notATrace(in, path)
	}
	if s.version = binary.LittleEndian.Uint32(head[12:]); s.version > traces.ListFormatVersion {
		return nil, fmt.Errorf("read trace %s: it has format version %d, this program reads up to %d: use a newer heddle",
			path, s.version, traces.ListFormatVersion)
	}
	return s, s.skip(8 + int64(binary.LittleEndian.Uint32(head[4:])))
}

func isFrame(head []byte, tag string) bool {
	return binary.LittleEndian.Uint32(head) == magicOurs && string(head[8:12]) == tag
}

// next returns the next block. After the footer the error is io.EOF. At a
// damaged place the error is a *DamageError.
func (s *scanner) next() (block, error) {
	for {
		if s.lost && !s.search() {
			return block{}, io.EOF
		}
		head, err := s.in.Peek(frameHeadBytes)
		if err != nil && !errors.Is(err, io.EOF) {
			return block{}, fmt.Errorf("read trace %s: %w", s.path, err)
		}
		switch {
		case len(head) == 0 && s.footer != nil:
			return block{}, io.EOF
		case len(head) == 0:
			s.lost = true
			return block{}, s.damage(true, "the footer is missing")
		case len(head) < frameHeadBytes:
			s.lost = true
			return block{}, s.damage(s.footer == nil, "incomplete frame")
		case isFrame(head, tagBlock) && s.footer == nil:
			return s.block()
		case isFrame(head, tagFooter) && s.footer == nil:
			if err := s.readFooter(int64(binary.LittleEndian.Uint32(head[4:]))); err != nil {
				return block{}, err
			}
		case binary.LittleEndian.Uint32(head)&^0xf == magicOurs&^0xf && s.footer == nil && !isFrame(head, tagFile):
			// A newer version of heddle wrote this skippable zstd frame with a tag
			// that this program does not know, so it skips the frame.
			if err := s.skip(8 + int64(binary.LittleEndian.Uint32(head[4:]))); err != nil {
				return block{}, err
			}
		default:
			s.lost = true
			return block{}, s.damage(false, "not a frame of a trace")
		}
	}
}

// block reads the header of a block and the zstd frame with its records.
func (s *scanner) block() (block, error) {
	frame, err := s.in.Peek(blockFrameBytes)
	if err != nil {
		s.lost = true
		return block{}, s.incomplete(err)
	}
	head, err := parseBlockHead(frame)
	if err != nil {
		s.lost = true
		return block{}, s.damage(false, err.Error())
	}
	size := 8 + int(binary.LittleEndian.Uint32(frame[4:])) + int(head.storedBytes)
	if size > 2*maxBlockBytes || size < blockFrameBytes+int(head.storedBytes) {
		s.lost = true
		return block{}, s.damage(false, "block header has a wrong length")
	}
	s.stored, err = readFull(s.in, s.stored[:0], size)
	b := block{head: head, offset: s.offset, stored: s.stored}
	if err != nil {
		s.lost = true
		return block{}, s.incomplete(err)
	}
	body := s.stored[size-int(head.storedBytes):]
	if crc32.Checksum(body, crcTable) != head.crc {
		err = s.damage(false, fmt.Sprintf("block of %d events does not match its checksum", head.events))
	} else if s.laid, err = s.zstd.DecodeAll(body, s.laid[:0]); err != nil {
		err = s.damage(false, fmt.Sprintf("block of %d events: %v", head.events, err))
	} else if len(s.laid) != int(head.bytes) {
		err = s.damage(false, fmt.Sprintf("block has %d bytes, its header says %d", len(s.laid), head.bytes))
	}
	s.offset += int64(size)
	b.records = string(s.laid)
	return b, err
}

func (s *scanner) readFooter(payload int64) error {
	if payload > maxBlockBytes {
		s.lost = true
		return s.damage(false, "footer has a wrong length")
	}
	frame, err := readFull(s.in, nil, int(8+payload))
	if err != nil {
		s.lost = true
		return s.incomplete(err)
	}
	f, err := parseFooter(frame[frameHeadBytes:])
	if err != nil {
		s.lost = true
		return s.damage(false, err.Error())
	}
	s.offset += 8 + payload
	s.footer = &f
	return nil
}

// readFull reads size bytes and appends them to buf. If the size is too large,
// because the file is damaged, readFull needs no more memory than the file has
// bytes.
func readFull(in io.Reader, buf []byte, size int) ([]byte, error) {
	b := bytes.NewBuffer(buf)
	n, err := io.CopyN(b, in, int64(size))
	if err == nil && n < int64(size) {
		err = io.ErrUnexpectedEOF
	}
	return b.Bytes(), err
}

// search goes to the next undamaged block header or footer. It returns false if
// the file has none.
func (s *scanner) search() bool {
	var mark [4]byte
	binary.LittleEndian.PutUint32(mark[:], magicOurs)
	skip := 1
	for {
		s.discard(skip)
		window, _ := s.in.Peek(s.in.Size())
		if len(window) < frameHeadBytes {
			s.discard(len(window))
			return false
		}
		i := bytes.Index(window, mark[:])
		switch {
		case i < 0:
			skip = len(window) - len(mark) + 1
		case i > 0:
			skip = i
		case isFrame(window, tagBlock) && len(window) >= blockFrameBytes && validHead(window[:blockFrameBytes]),
			isFrame(window, tagFooter) && s.footer == nil:
			s.lost = false
			return true
		default:
			skip = 1
		}
	}
}

func validHead(frame []byte) bool {
	_, err := parseBlockHead(frame)
	return err == nil
}

func (s *scanner) skip(n int64) error {
	done, err := io.CopyN(io.Discard, s.in, n)
	s.offset += done
	if err != nil {
		s.lost = true
		return s.incomplete(err)
	}
	return nil
}

func (s *scanner) discard(n int) {
	n, _ = s.in.Discard(n)
	s.offset += int64(n)
}

// incomplete returns the error for a frame that the end of the file cuts off.
func (s *scanner) incomplete(err error) error {
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("read trace %s: %w", s.path, err)
	}
	return s.damage(true, "incomplete frame")
}

func (s *scanner) damage(cutOff bool, reason string) error {
	return &DamageError{Path: s.path, Offset: s.offset, CutOff: cutOff, Reason: reason}
}
