package tracefile

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"

	"heddle/traces"
)

// A trace file consists of zstd frames. Records are in ordinary zstd frames.
// Skippable zstd frames with one of these tags are the file's start, the header
// of a block, and the footer. FORMAT.md has diagrams.
const (
	magicOurs = 0x184D2A5A

	tagFile   = "HDLT"
	tagBlock  = "HDLB"
	tagFooter = "HDLE"

	frameHeadBytes  = 12 // 4 bytes for the magic number, 4 bytes for the length of what follows, 4 bytes for the tag
	fileFrameBytes  = 16
	blockFrameBytes = 40

	// maxBlockBytes is the greatest size of a block, so that readers need little
	// memory.
	maxBlockBytes = 64 << 20
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

func appendFrameHead(dst []byte, tag string, payloadBytes int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, magicOurs)
	dst = binary.LittleEndian.AppendUint32(dst, uint32(payloadBytes))
	return append(dst, tag...)
}

func appendFileFrame(dst []byte, version uint32) []byte {
	dst = appendFrameHead(dst, tagFile, 8)
	return binary.LittleEndian.AppendUint32(dst, version)
}

// blockHead is the header of a block. The zstd frame with the block's records
// follows it in the file.
type blockHead struct {
	storedBytes uint32 // size in bytes of the zstd frame with the block's records
	bytes       uint32 // size in bytes of the block's records after decompression
	events      uint32
	before      uint64 // number of events in all earlier blocks of the file
	crc         uint32 // checksum (CRC-32C) of the zstd frame
}

func (b blockHead) append(dst []byte) []byte {
	start := len(dst)
	dst = appendFrameHead(dst, tagBlock, blockFrameBytes-8)
	dst = binary.LittleEndian.AppendUint32(dst, b.storedBytes)
	dst = binary.LittleEndian.AppendUint32(dst, b.bytes)
	dst = binary.LittleEndian.AppendUint32(dst, b.events)
	dst = binary.LittleEndian.AppendUint64(dst, b.before)
	dst = binary.LittleEndian.AppendUint32(dst, b.crc)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], crcTable))
}

// parseBlockHead reads the header of a block. frame begins with the magic number
// of its skippable zstd frame.
func parseBlockHead(frame []byte) (blockHead, error) {
	le := binary.LittleEndian
	if crc32.Checksum(frame[:36], crcTable) != le.Uint32(frame[36:]) {
		return blockHead{}, fmt.Errorf("block header does not match its checksum")
	}
	b := blockHead{
		storedBytes: le.Uint32(frame[12:]), bytes: le.Uint32(frame[16:]), events: le.Uint32(frame[20:]),
		before: le.Uint64(frame[24:]), crc: le.Uint32(frame[32:]),
	}
	if b.storedBytes > maxBlockBytes || b.bytes > maxBlockBytes {
		return blockHead{}, fmt.Errorf("block of %d bytes is over the limit of %d", max(b.storedBytes, b.bytes), maxBlockBytes)
	}
	return b, nil
}

// Footer is written at the end of a trace file. It has the counts, times and
// digests of all events.
type Footer struct {
	// Complete is true if the run came to its end and all its events were written.
	Complete bool `json:"complete"`
	// Reason says why the trace is not complete.
	Reason string `json:"reason,omitempty"`
	Events int64  `json:"events"`
	// Kinds has, for each kind of event, the number of events of that kind.
	Kinds  map[string]int64 `json:"kinds"`
	FirstT traces.Time      `json:"firstT"`
	LastT  traces.Time      `json:"lastT"`
	// The digests are empty if the trace was repaired by a program that did not
	// know all kinds or fields of its events.
	ScheduleDigest string `json:"scheduleDigest,omitempty"`
	TraceDigest    string `json:"traceDigest,omitempty"`
}

func (f Footer) append(dst []byte) ([]byte, error) {
	text, err := json.Marshal(f)
	if err != nil {
		return dst, fmt.Errorf("encode footer: %w", err)
	}
	dst = appendFrameHead(dst, tagFooter, 8+len(text))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(text, crcTable))
	return append(dst, text...), nil
}

// parseFooter reads the checksum and the JSON text that follow the tag of a
// footer frame.
func parseFooter(rest []byte) (Footer, error) {
	var f Footer
	if len(rest) < 4 || crc32.Checksum(rest[4:], crcTable) != binary.LittleEndian.Uint32(rest) {
		return f, fmt.Errorf("footer does not match its checksum")
	}
	if err := json.Unmarshal(rest[4:], &f); err != nil {
		return f, fmt.Errorf("footer: %w", err)
	}
	return f, nil
}

// tally computes the footer of a trace from its events.
type tally struct {
	footer   Footer
	schedule traces.Schedule
	digest   *traces.TraceDigest // nil: a footer without digests
	foreign  int64               // number of events whose kind or fields this program does not know completely
	kinds    [256]int64
}

func newTally() *tally { return &tally{digest: traces.NewTraceDigest()} }

func (t *tally) add(e traces.Event) {
	t.count(e)
	t.digest.Add(e)
}

// count does the same as add, but for the trace digest.
func (t *tally) count(e traces.Event) {
	at := e.At()
	if t.footer.Events == 0 || at < t.footer.FirstT {
		t.footer.FirstT = at
	}
	if t.footer.Events == 0 || at > t.footer.LastT {
		t.footer.LastT = at
	}
	t.footer.Events++
	t.kinds[e.Kind()]++
	if t.digest != nil {
		t.schedule.Add(e)
	}
}

// addForeign counts the events that this program does not know completely.
func (t *tally) addForeign(from *records) {
	for kind, n := range from.unknownKinds {
		t.footer.Events += n
		t.kinds[kind] += n
	}
	t.foreign += from.unknown
}

func (t *tally) result(complete bool, reason string) Footer {
	f := t.footer
	f.Complete, f.Reason = complete, reason
	f.Kinds = map[string]int64{}
	for k, n := range t.kinds {
		if n > 0 {
			f.Kinds[traces.Kind(k).String()] = n
		}
	}
	if t.foreign == 0 && t.digest != nil {
		f.ScheduleDigest, f.TraceDigest = t.schedule.Digest().String(), t.digest.String()
	}
	return f
}
