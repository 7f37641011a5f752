package hibench

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// seqFile is what Hadoop writes for records of serialized keys and values.
func seqFile(keyClass, valueClass string, records ...[2][]byte) []byte {
	var b bytes.Buffer
	sync := []byte("0123456789abcdef")
	b.WriteString("SEQ\x06")
	b.Write(hadoopText(keyClass))
	b.Write(hadoopText(valueClass))
	b.Write([]byte{0, 0, 0, 0, 0, 1})
	b.Write(hadoopText("author"))
	b.Write(hadoopText("none"))
	b.Write(sync)
	for i, r := range records {
		if i%3 == 2 {
			b.Write([]byte{0xff, 0xff, 0xff, 0xff})
			b.Write(sync)
		}
		b.Write(binary.BigEndian.AppendUint32(nil, uint32(len(r[0])+len(r[1]))))
		b.Write(binary.BigEndian.AppendUint32(nil, uint32(len(r[0]))))
		b.Write(r[0])
		b.Write(r[1])
	}
	return b.Bytes()
}

func hadoopText(s string) []byte { return append(vlong(int64(len(s))), s...) }

// vlong is Hadoop's WritableUtils.writeVLong.
func vlong(v int64) []byte {
	if v >= -112 && v <= 127 {
		return []byte{byte(v)}
	}
	first := int64(-112)
	if v < 0 {
		first, v = -120, ^v
	}
	digits := bytes.TrimLeft(binary.BigEndian.AppendUint64(nil, uint64(v)), "\x00")
	return append([]byte{byte(first - int64(len(digits)))}, digits...)
}

func TestVLong(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.Int64().Draw(t, "v")
		got, err := readVLong(bytes.NewReader(vlong(want)))
		if err != nil || got != want {
			t.Errorf("got %d, %v; want %d", got, err, want)
		}
	})
}

// TestSeqReader reads what was written, and takes no file that
// is cut off for a whole one.
func TestSeqReader(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.Map(rapid.SliceOfN(rapid.SliceOf(rapid.Byte()), 2, 2),
			func(s [][]byte) [2][]byte { return [2][]byte{s[0], s[1]} })).Draw(t, "records")
		file := seqFile("a.Key", "b.Value", want...)
		s, err := newSeqReader(bytes.NewReader(file))
		if err != nil || s.keyClass != "a.Key" || s.valueClass != "b.Value" {
			t.Fatalf("header: %+v, %v", s, err)
		}
		for i, w := range want {
			key, value, err := s.next()
			if err != nil || !bytes.Equal(key, w[0]) || !bytes.Equal(value, w[1]) {
				t.Fatalf("record %d: %q, %q, %v; want %q, %q", i, key, value, err, w[0], w[1])
			}
		}
		if _, _, err := s.next(); err != io.EOF {
			t.Errorf("at the end: %v; want io.EOF", err)
		}
		// Cut off inside a record, it must not look like a whole file.
		cut := rapid.IntRange(0, len(file)-1).Draw(t, "cut")
		n, err := countRecords(file[:cut])
		if err == nil && n == len(want) && n > 0 {
			t.Errorf("cut to %d of %d bytes: still %d records", cut, len(file), n)
		}
	})
}

func countRecords(file []byte) (n int, err error) {
	s, err := newSeqReader(bytes.NewReader(file))
	for err == nil {
		if _, _, err = s.next(); err == nil {
			n++
		}
	}
	if errors.Is(err, io.EOF) && s != nil {
		err = nil
	}
	return n, err
}

func TestSeqReaderRefuses(t *testing.T) {
	good := string(seqFile("k", "v", [2][]byte{[]byte("key"), []byte("value")}))
	for name, tt := range map[string]struct{ file, want string }{
		"empty":       {"", "unexpected EOF"},
		"text":        {"hello world", "want SEQ and version 6"},
		"version 4":   {"SEQ\x04" + good[4:], "want SEQ and version 6"},
		"compressed":  {good[:8] + "\x01" + good[9:], "it is compressed"},
		"long string": {"SEQ\x06\x8c\x7f\xff\xff\xff", "a string has"},
		"bad sync":    {good + "\xff\xff\xff\xff" + strings.Repeat("x", 16), "wrong sync"},
		"long record": {good + "\x7f\x00\x00\x00\x00\x00\x00\x00", "record of 2130706432 bytes"},
		"key length":  {good + "\x00\x00\x00\x01\x00\x00\x00\x02x", "record of 1 bytes with a key of 2"},
		"cut record":  {good[:len(good)-1], "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			if n, err := countRecords([]byte(tt.file)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%d records, %v; want an error with %q", n, err, tt.want)
			}
		})
	}
}

func FuzzSeqReader(f *testing.F) {
	f.Add(seqFile("k", "v", [2][]byte{hadoopText("key"), hadoopText("value")}))
	f.Fuzz(func(t *testing.T, file []byte) {
		countRecords(file)
		if b, err := text(file); err == nil && len(b) > len(file) {
			t.Errorf("%d characters in %d bytes", len(b), len(file))
		}
	})
}

// What seqWriter writes, seqReader reads, beyond a sync marker too.
func TestSeqWriter(t *testing.T) {
	var file bytes.Buffer
	w := newSeqWriter(&file, "part-00000", hadoopIO+"Text", hadoopIO+"Text")
	const rows = 3000
	for i := range rows {
		w.write(asText(nil), asText(bytes.Repeat([]byte{'x'}, i%300)))
	}
	mustDo(t, w.flush())
	s := must(newSeqReader(&file))
	for i := range rows {
		_, value, err := s.next()
		if err == nil {
			value, err = text(value)
		}
		if err != nil || len(value) != i%300 {
			t.Fatalf("row %d: %d bytes, %v; want %d", i, len(value), err, i%300)
		}
	}
	if _, _, err := s.next(); err != io.EOF {
		t.Errorf("at the end: %v; want io.EOF", err)
	}
}
