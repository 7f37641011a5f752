// Package jobsplit reads the two files in a job's staging folder that tell the
// ApplicationMaster about input splits: job.split says what each map reads, and
// job.splitmetainfo on which hosts that is stored. Entry i of both belongs to
// map i. The package can also write job.splitmetainfo, and so pass a plan of
// map to host to an ApplicationMaster that has not started yet.
//
// It supports file splits only. For other classes, such as TeraGen's row ranges
// and CombineFileSplit, it returns an UnknownClassError.
package jobsplit

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// Meta is the entry of one map in job.splitmetainfo.
type Meta struct {
	// Hosts are the nodes on which the ApplicationMaster requests containers.
	Hosts []string
	// Offset is where the map's split starts in job.split, in bytes.
	Offset int64
	// Length is the bytes of input that the map reads.
	Length int64
}

// Split is the part of a file that one map reads.
type Split struct {
	// Path is as the client wrote it, usually "hdfs://host:port/path", without
	// percent encoding.
	Path string
	// Offset and Length are bytes of the file.
	Offset, Length int64
}

// UnknownClassError means that a split has a Java class that is not supported.
type UnknownClassError struct {
	// Map is the split's index, and Class its Java class.
	Map   int
	Class string
}

func (e *UnknownClassError) Error() string {
	return fmt.Sprintf("job.split: map %d: its split has class %s; want a FileSplit", e.Map, e.Class)
}

const (
	metaMagic   = "META-SPL"
	metaVersion = 1
	// splitHead is the start of job.split: a magic text, and the version as an
	// int32.
	splitHead = "SPL\x00\x00\x00\x01"
	// maxEntries is more maps than any ApplicationMaster can hold.
	maxEntries = 10_000_000
	maxHosts   = 10_000
	maxText    = 64 << 10
)

// fileSplits are the classes that Hadoop serialises as path (Text), offset
// (long) and length (long).
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
		d.fail("version %d: want %d", v, metaVersion)
	}
	n := d.count("maps", maxEntries)
	// The slice grows as entries are read, since the count may be wrong.
	var metas []Meta
	for range n {
		m := Meta{}
		for range d.count("hosts", maxHosts) {
			m.Hosts = append(m.Hosts, d.text())
		}
		m.Offset, m.Length = d.vlong(), d.vlong()
		if d.err == nil && (m.Offset < 0 || m.Length < 0) {
			d.fail("map %d: offset %d, length %d: want 0 or more", len(metas), m.Offset, m.Length)
		}
		if d.err != nil {
			return nil
		}
		metas = append(metas, m)
	}
	d.end()
	return metas
}

// AppendMeta appends metas to b in the format of job.splitmetainfo.
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

// Parse reads the splits that metas point to. data is a whole job.split.
func Parse(data []byte, metas []Meta) ([]Split, error) {
	if !bytes.HasPrefix(data, []byte(splitHead)) {
		return nil, fmt.Errorf("job.split: starts with %q; want %q", data[:min(len(data), len(splitHead))], splitHead)
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
		return Split{}, fmt.Errorf("job.split: map %d: its split starts at byte %d: want %d to %d", i, m.Offset, len(splitHead), len(data)-1)
	}
	d := &decoder{r: bytes.NewReader(data[m.Offset:])}
	class := d.text()
	if d.err == nil && !fileSplits[class] {
		return Split{}, &UnknownClassError{Map: i, Class: class}
	}
	s := Split{Path: d.text(), Offset: d.long(), Length: d.long()}
	if d.err == nil && (s.Offset < 0 || s.Length < 0) {
		d.fail("offset %d, length %d: want 0 or more", s.Offset, s.Length)
	}
	if d.err != nil {
		return Split{}, fmt.Errorf("job.split: map %d at byte %d: %w", i, m.Offset+d.n, d.err)
	}
	return s, nil
}
