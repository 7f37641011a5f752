// Package jobsplit reads the two files that a MapReduce client leaves in a
// job's staging folder for its ApplicationMaster: job.split, which says what
// each map reads, and job.splitmetainfo, which says on which hosts. Entry i of
// either is map i. It writes job.splitmetainfo too, which is how a plan of map
// to host reaches an ApplicationMaster that has not started yet.
//
// It knows file splits only: a job whose splits are of another class (TeraGen's
// row ranges, CombineFileSplit) is refused by UnknownClassError.
package jobsplit

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// Meta is one map's entry in job.splitmetainfo.
type Meta struct {
	// Hosts are the names that the ApplicationMaster asks containers on.
	Hosts []string
	// Offset is where the map's split starts in job.split, in bytes.
	Offset int64
	// Length is what the map reads, in bytes of input.
	Length int64
}

// Split is the part of a file that one map reads.
type Split struct {
	// Path is as the client wrote it, usually "hdfs://host:port/path", without
	// any percent encoding.
	Path string
	// Offset and Length are in bytes of the file.
	Offset, Length int64
}

// UnknownClassError says that a split is of a class that has no known fields.
type UnknownClassError struct {
	// Map is the split's index, Class the Java class of it.
	Map   int
	Class string
}

func (e *UnknownClassError) Error() string {
	return fmt.Sprintf("job.split: map %d is a %s, which is not known to be a part of a file", e.Map, e.Class)
}

const (
	metaMagic   = "META-SPL"
	metaVersion = 1
	// splitHead is magic and version of job.split, the latter as a plain int32.
	splitHead = "SPL\x00\x00\x00\x01"
	// maxEntries is above any job that an ApplicationMaster can hold.
	maxEntries = 10_000_000
	maxHosts   = 10_000
	maxText    = 64 << 10
)

// fileSplits are the classes that Hadoop serialises as Text path, long offset,
// long length.
var fileSplits = map[string]bool{
	"org.apache.hadoop.mapreduce.lib.input.FileSplit": true,
	"org.apache.hadoop.mapred.FileSplit":              true,
}

// ParseMeta reads a whole job.splitmetainfo.
func ParseMeta(r io.Reader) ([]Meta, error) {
	d := &decoder{r: bufio.NewReader(r)}
	metas := d.metas()
	if d.err != nil {
		return nil, fmt.Errorf("job.splitmetainfo: at byte %d: %w", d.n, d.err)
	}
	return metas, nil
}

func (d *decoder) metas() []Meta {
	d.magic(metaMagic)
	if v := d.vlong(); d.err == nil && v != metaVersion {
		d.fail("version %d, know only %d", v, metaVersion)
	}
	n := d.count("maps", maxEntries)
	// Grown, not made to size: n is not to be trusted before its bytes are there.
	var metas []Meta
	for range n {
		m := Meta{}
		for range d.count("hosts", maxHosts) {
			m.Hosts = append(m.Hosts, d.text())
		}
		m.Offset, m.Length = d.vlong(), d.vlong()
		if d.err == nil && (m.Offset < 0 || m.Length < 0) {
			d.fail("map %d: offset %d, length %d", len(metas), m.Offset, m.Length)
		}
		if d.err != nil {
			return nil
		}
		metas = append(metas, m)
	}
	d.end()
	return metas
}

// AppendMeta appends a job.splitmetainfo that holds metas to b.
func AppendMeta(b []byte, metas []Meta) []byte {
	b = append(b, metaMagic...)
	b = appendVlong(b, metaVersion)
	b = appendVlong(b, int64(len(metas)))
	for _, m := range metas {
		b = appendVlong(b, int64(len(m.Hosts)))
		for _, h := range m.Hosts {
			b = appendText(b, h)
		}
		b = appendVlong(b, m.Offset)
		b = appendVlong(b, m.Length)
	}
	return b
}

// Parse reads the splits that metas point to in data, a whole job.split.
func Parse(data []byte, metas []Meta) ([]Split, error) {
	if !bytes.HasPrefix(data, []byte(splitHead)) {
		return nil, fmt.Errorf("job.split: starts with %q, not %q", data[:min(len(data), len(splitHead))], splitHead)
	}
	splits := make([]Split, 0, len(metas))
	for i, m := range metas {
		s, err := parseOne(data, i, m)
		if err != nil {
			return nil, err
		}
		splits = append(splits, s)
	}
	return splits, nil
}

func parseOne(data []byte, i int, m Meta) (Split, error) {
	if m.Offset < int64(len(splitHead)) || m.Offset >= int64(len(data)) {
		return Split{}, fmt.Errorf("job.split: map %d starts at byte %d of %d", i, m.Offset, len(data))
	}
	d := &decoder{r: bytes.NewReader(data[m.Offset:])}
	class := d.text()
	if d.err == nil && !fileSplits[class] {
		return Split{}, &UnknownClassError{Map: i, Class: class}
	}
	s := Split{Path: d.text(), Offset: d.long(), Length: d.long()}
	if d.err == nil && (s.Offset < 0 || s.Length < 0) {
		d.fail("offset %d, length %d", s.Offset, s.Length)
	}
	if d.err != nil {
		return Split{}, fmt.Errorf("job.split: map %d at byte %d: %w", i, m.Offset+d.n, d.err)
	}
	return s, nil
}
