// Package jobsplit reads and writes the two files in a job's staging folder that
// tell the ApplicationMaster about input splits. job.split says which input each
// map reads. job.splitmetainfo says on which hosts that input is stored. Entry i
// of each file belongs to map i. Both are written for a job that is being
// submitted. job.splitmetainfo is also written anew, to tell an
// ApplicationMaster that has not started yet on which host each map should run.
//
// The package supports splits that are parts of files, and those of Hive's
// HiveInputFormat, which wrap them. For other classes of splits, such as
// TeraGen's row ranges, CombineFileSplit and those of Hive's default
// CombineHiveInputFormat, it returns an UnknownClassError.
package jobsplit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf8"
)

// Meta is the entry of one map in the file job.splitmetainfo.
type Meta struct {
	// Hosts are the nodes on which the ApplicationMaster requests a container
	// for the map.
	Hosts []string
	// Offset is where the map's split starts in the file job.split, in bytes.
	Offset int64
	// Length is the number of input bytes that the map reads.
	Length int64
}

// Split is the part of an input file that one map reads.
type Split struct {
	// Path is the path of the input file as the client wrote it, usually
	// "hdfs://host:port/path", without percent encoding.
	Path string
	// Offset and Length say which bytes of the input file the map reads.
	Offset, Length int64
}

// UnknownClassError means that an input split has a Java class that this
// package cannot read.
type UnknownClassError struct {
	// Map is the index of the map that reads the split; the first map is 0. Class
	// is the split's Java class.
	Map   int
	Class string
}

func (e *UnknownClassError) Error() string {
	return fmt.Sprintf("job.split: map %d: its split has class %s; want a FileSplit", e.Map, e.Class)
}

const (
	metaMagic   = "META-SPL"
	metaVersion = 1
	// splitHead is the 8 bytes with which a file job.split starts: 4 bytes of
	// magic text, then the version 1 as a big-endian int32.
	splitHead = "SPL\x00\x00\x00\x01"
	// maxEntries limits the number of maps in a file. No ApplicationMaster can
	// handle so many.
	maxEntries = 10_000_000
	maxHosts   = 10_000
	maxText    = 64 << 10
)

// fileSplits are the Java classes of splits that Hadoop writes as path (Text),
// offset (long) and length (long).
var fileSplits = map[string]bool{
	"org.apache.hadoop.mapreduce.lib.input.FileSplit": true,
	"org.apache.hadoop.mapred.FileSplit":              true,
}

// hiveSplit is the Java class of splits that Hive writes as the class of the
// split that it wraps, that split, and the class of an input format. Hive writes
// the names of these two classes as java.io.DataOutput.writeUTF does.
const hiveSplit = "org.apache.hadoop.hive.ql.io.HiveInputFormat$HiveInputSplit"

// ParseMeta decodes a whole file job.splitmetainfo.
func ParseMeta(r io.Reader) ([]Meta, error) {
	data, err := io.ReadAll(r)
	d := &decoder{data: data, err: err}
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
	// The list grows as entries are read: the file starts with the number of
	// entries, but that number may be wrong and huge.
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

// AppendMeta appends the entries metas to b in the format of job.splitmetainfo.
func AppendMeta(b []byte, metas []Meta) []byte {
	b = append(b, metaMagic...)
	b = appendVlong(b, metaVersion)
	b = appendVlong(b, int64(len(metas)))
	for _, m := range metas {
		b = appendVlong(b, int64(len(m.Hosts)))
		for _, h := range m.Hosts {
			b = AppendText(b, h)
		}
		b = appendVlong(b, m.Offset)
		b = appendVlong(b, m.Length)
	}
	return b
}

// Encode returns the content of the file job.split of a job whose map i reads
// splits[i]. It also returns the job's entries for job.splitmetainfo, with
// hosts[i] as the hosts of map i; hosts may be shorter than splits. The class of
// the splits is that of Hadoop's older interface, org.apache.hadoop.mapred, which
// Hadoop Streaming uses. It fails for values that a reader would refuse.
func Encode(splits []Split, hosts [][]string) (data []byte, metas []Meta, err error) {
	data = []byte(splitHead)
	metas = make([]Meta, 0, len(splits))
	for i, s := range splits {
		switch {
		case s.Offset < 0 || s.Length < 0:
			return nil, nil, fmt.Errorf("job.split: map %d: offset %d, length %d: want 0 or more", i, s.Offset, s.Length)
		case s.Path == "" || len(s.Path) > maxText || !utf8.ValidString(s.Path):
			return nil, nil, fmt.Errorf("job.split: map %d: path %.40q: want UTF-8 of 1 to %d bytes", i, s.Path, maxText)
		}
		m := Meta{Offset: int64(len(data)), Length: s.Length}
		if i < len(hosts) {
			m.Hosts = hosts[i]
		}
		metas = append(metas, m)
		data = AppendText(data, "org.apache.hadoop.mapred.FileSplit")
		data = AppendText(data, s.Path)
		data = binary.BigEndian.AppendUint64(data, uint64(s.Offset))
		data = binary.BigEndian.AppendUint64(data, uint64(s.Length))
	}
	return data, metas, nil
}

// Parse decodes the splits in data, the content of a file job.split. metas are
// the entries of the same job's file job.splitmetainfo, which say where in
// job.split each split starts.
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
	d := &decoder{data: data[m.Offset:]}
	class := d.text()
	if class == hiveSplit {
		class = d.utf()
	}
	if d.err == nil && !fileSplits[class] {
		return Split{}, &UnknownClassError{Map: i, Class: class}
	}
	s := Split{Path: d.text(), Offset: d.long(), Length: d.long()}
	if d.err == nil && (s.Offset < 0 || s.Length < 0) {
		d.fail("offset %d, length %d: want 0 or more", s.Offset, s.Length)
	}
	if d.err != nil {
		return Split{}, fmt.Errorf("job.split: map %d at byte %d: %w", i, m.Offset+int64(d.n), d.err)
	}
	return s, nil
}
