package jobsplit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"heddle/traces/errtest"
)

const fileSplit = "org.apache.hadoop.mapreduce.lib.input.FileSplit"

func TestStagingFiles(t *testing.T) {
	// Taken from the staging folders of running jobs of Hadoop 3.4.2.
	const wordcount, terasort = "hdfs://master:8020/hdfspart/in/", "hdfs://master:8020/hdfspart/tg/part-m-0000"
	const hive = "hdfs://master:8020/heddle/hibench/40000visits-4800pages-4maps-seed1/Join/Input/uservisits/part-0000"
	for name, want := range map[string]struct {
		metas  []Meta
		splits []Split
		class  string // refused
	}{
		"wordcount": {
			metas: []Meta{
				{[]string{"r1n2", "r2n1"}, 7, 4052632},
				{[]string{"r1n2", "r2n2"}, 104, 1 << 20},
				{[]string{"r1n2", "r2n2"}, 201, 1 << 20},
				{[]string{"r1n2", "r2n2"}, 298, 1 << 20},
				{[]string{"r2n2", "r1n1"}, 395, 906904},
			},
			splits: []Split{
				{wordcount + "b", 0, 4052632},
				{wordcount + "a", 0, 1 << 20},
				{wordcount + "a", 1 << 20, 1 << 20},
				{wordcount + "a", 2 << 20, 1 << 20},
				{wordcount + "a", 3 << 20, 906904},
			},
		},
		"terasort": {
			metas: []Meta{
				{[]string{"r2n1"}, 7, 524288},
				{[]string{"r1n1"}, 115, 524288},
				{[]string{"r2n1"}, 223, 475712},
				{[]string{"r1n1"}, 331, 475712},
			},
			splits: []Split{
				{terasort + "0", 0, 524288},
				{terasort + "1", 0, 524288},
				{terasort + "0", 524288, 475712},
				{terasort + "1", 524288, 475712},
			},
		},
		"oldapi": { // org.apache.hadoop.mapred; a path that looks encoded and is not ASCII
			metas: []Meta{
				{[]string{"r2n2", "r1n1"}, 7, 2026320},
				{[]string{"r2n2", "r1n1"}, 97, 2026312},
				{[]string{"r1n2", "r2n2"}, 187, 8},
			},
			splits: []Split{
				{"hdfs://master:8020/hdfspart/a b%20é/y", 0, 2026320},
				{"hdfs://master:8020/hdfspart/a b%20é/y", 2026320, 2026312},
				{"hdfs://master:8020/hdfspart/a b%20é/x", 0, 8},
			},
		},
		"hive": { // HiveInputFormat's splits, which wrap those of the old interface
			metas: []Meta{
				{[]string{"r1n1", "r2n2"}, 7, 1988361},
				{[]string{"r1n1", "r2n1"}, 270, 1987931},
				{[]string{"r2n1", "r1n1"}, 533, 1986829},
				{[]string{"r2n1", "r1n1"}, 796, 1983688},
			},
			splits: []Split{
				{hive + "3", 0, 1988361}, {hive + "1", 0, 1987931}, {hive + "0", 0, 1986829}, {hive + "2", 0, 1983688},
			},
		},
		"teragen": { // rows to make, no file
			metas: []Meta{{nil, 7, 0}, {nil, 88, 0}},
			class: "org.apache.hadoop.examples.terasort.TeraGen$RangeInputFormat$RangeInputSplit",
		},
	} {
		t.Run(name, func(t *testing.T) {
			info := read(t, name+".splitmetainfo")
			metas := errtest.Must(ParseMeta(bytes.NewReader(info)))
			if d := cmp.Diff(want.metas, metas); d != "" {
				t.Errorf("metas (-want +got):\n%s", d)
			}
			if got := AppendMeta(nil, metas); !bytes.Equal(got, info) {
				t.Errorf("written again:\n%q, Hadoop wrote\n%q", got, info)
			}
			splits, err := Parse(read(t, name+".split"), metas)
			if want.class != "" {
				var unknown *UnknownClassError
				if !errors.As(err, &unknown) || unknown.Class != want.class {
					t.Fatalf("error %v, want one that refuses %s", err, want.class)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want.splits, splits); d != "" {
				t.Errorf("splits (-want +got):\n%s", d)
			}
		})
	}
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	b := errtest.Must(os.ReadFile("testdata/" + name))
	return b
}

func TestBadMeta(t *testing.T) {
	good := string(AppendMeta(nil, []Meta{{[]string{"a", "b"}, 7, 100}}))
	for name, c := range map[string]struct{ in, want string }{
		"empty":         {"", "unexpected EOF"},
		"other file":    {"PK\x03\x04 a zip file", `starts with "PK\x03\x04 a z"`},
		"version":       {"META-SPL\x02\x00", "version 2: want 1"},
		"cut":           {good[:len(good)-1], "unexpected EOF"},
		"longer":        {good + "x", "more bytes after the last map"},
		"negative maps": {"META-SPL\x01\xff", "-1 maps"},
		"many maps":     {"META-SPL\x01\x8b\x7f\xff\xff\xff\xff", "maps"},
		"many hosts":    {"META-SPL\x01\x01\x8c\x7f\xff\xff\xff", "hosts"},
		"long name":     {"META-SPL\x01\x01\x01\x8c\x7f\xff\xff\xff", "bytes of text"},
		"not UTF-8":     {"META-SPL\x01\x01\x01\x01\xff\x07\x07", "is not UTF-8"},
		"negative":      {"META-SPL\x01\x01\x00\xff\x07", "map 0: offset -1, length 7"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseMeta(strings.NewReader(c.in))
			wantError(t, err, c.want)
		})
	}
}

func TestBadSplits(t *testing.T) {
	one, metas := encode([]Split{{"hdfs://h:1/x", 5, 6}}, fileSplit)
	negative, _ := encode([]Split{{"/x", -1, 6}}, fileSplit)
	for name, c := range map[string]struct {
		data  []byte
		metas []Meta
		want  string
	}{
		"empty":     {nil, metas, `starts with ""; want`},
		"other":     {[]byte("META-SPL"), metas, `starts with "META-SP"; want`},
		"version":   {[]byte("SPL\x00\x00\x00\x02"), metas, `starts with "SPL\x00\x00\x00\x02"; want`},
		"before":    {one, []Meta{{Offset: 6}}, "map 0: its split starts at byte 6: want 7 to "},
		"after":     {one, []Meta{metas[0], {Offset: int64(len(one))}}, "map 1: its split starts at byte"},
		"cut":       {one[:len(one)-1], metas, "unexpected EOF"},
		"negative":  {negative, metas, "offset -1, length 6"},
		"not there": {one, []Meta{{Offset: 9}}, "job.split: map 0"},
		"Hive, cut": {append([]byte(splitHead), AppendText(nil, hiveSplit)...), []Meta{{Offset: 7}}, "unexpected EOF"},
		"Hive's combined splits": {
			append([]byte(splitHead), AppendText(nil, "org.apache.hadoop.hive.ql.io.CombineHiveInputFormat$CombineHiveInputSplit")...),
			[]Meta{{Offset: 7}},
			"CombineHiveInputSplit; want a FileSplit",
		},
		"Hive, another class inside": {
			append(append([]byte(splitHead), AppendText(nil, hiveSplit)...), "\x00\x05a.b.C"...),
			[]Meta{{Offset: 7}},
			"class a.b.C; want a FileSplit",
		},
		"Hive, class not ASCII": {
			append(append([]byte(splitHead), AppendText(nil, hiveSplit)...), "\x00\x02\xc3\xa9"...), []Meta{{Offset: 7}}, "is not ASCII",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse(c.data, c.metas)
			wantError(t, err, c.want)
		})
	}
}

func TestWriteReadMeta(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Meta {
			return Meta{
				Hosts:  rapid.SliceOfN(rapid.String(), 0, 5).Draw(t, "hosts"),
				Offset: rapid.Int64Min(0).Draw(t, "offset"),
				Length: rapid.Int64Min(0).Draw(t, "length"),
			}
		})).Draw(t, "metas")
		got := errtest.Must(ParseMeta(bytes.NewReader(AppendMeta(nil, want))))
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("(-written +read):\n%s", d)
		}
	})
}

// What Hadoop wrote with the older interface is written again byte by byte.
func TestEncodeIsHadoops(t *testing.T) {
	info, want := read(t, "oldapi.splitmetainfo"), read(t, "oldapi.split")
	metas := errtest.Must(ParseMeta(bytes.NewReader(info)))
	splits := errtest.Must(Parse(want, metas))
	var hosts [][]string
	for _, m := range metas {
		hosts = append(hosts, m.Hosts)
	}
	data, again, err := Encode(splits, hosts)
	if err != nil || !bytes.Equal(data, want) || !bytes.Equal(AppendMeta(nil, again), info) {
		t.Errorf("job.split %q, job.splitmetainfo %q, %v; Hadoop wrote %q, %q", data, AppendMeta(nil, again), err, want, info)
	}
}

func TestEncodeRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		split Split
		want  string
	}{
		"offset":    {Split{"/x", -1, 0}, "map 0: offset -1"},
		"length":    {Split{"/x", 0, -1}, "length -1"},
		"no path":   {Split{}, `path ""`},
		"long path": {Split{Path: strings.Repeat("x", maxText+1)}, "want UTF-8 of 1 to"},
		"not UTF-8": {Split{Path: "\xff"}, "want UTF-8"},
	} {
		if _, _, err := Encode([]Split{c.split}, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestWriteReadSplits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Split {
			return Split{
				Path:   rapid.StringN(1, 50, -1).Draw(t, "path"),
				Offset: rapid.Int64Min(0).Draw(t, "offset"),
				Length: rapid.Int64Min(0).Draw(t, "length"),
			}
		})).Draw(t, "splits")
		hosts := rapid.SliceOfN(rapid.SliceOf(rapid.String()), 0, len(want)).Draw(t, "hosts")
		data, metas, err := Encode(want, hosts)
		if err != nil {
			t.Fatal(err)
		}
		got := errtest.Must(Parse(data, metas))
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("(-written +read):\n%s", d)
		}
		for i, m := range metas {
			if m.Length != want[i].Length || i < len(hosts) && !cmp.Equal(m.Hosts, hosts[i], cmpopts.EquateEmpty()) {
				t.Fatalf("map %d: meta %+v of split %+v", i, m, want[i])
			}
		}
	})
}

func FuzzEncode(f *testing.F) {
	f.Add("hdfs://h:1/x", int64(5), int64(6))
	f.Fuzz(func(t *testing.T, path string, offset, length int64) {
		want := []Split{{path, offset, length}}
		data, metas, err := Encode(want, nil)
		if err != nil {
			return
		}
		if got, err := Parse(data, metas); err != nil || !cmp.Equal(got, want) {
			t.Fatalf("%v, %v after writing %v", got, err, want)
		}
	})
}

func TestVlong(t *testing.T) {
	for v, want := range map[int64]string{ // as WritableUtils writes them
		0: "\x00", 127: "\x7f", -112: "\x90",
		128: "\x8f\x80", 255: "\x8f\xff", 256: "\x8e\x01\x00",
		-113: "\x87\x70", -256: "\x87\xff", -257: "\x86\x01\x00",
		1<<63 - 1: "\x88\x7f\xff\xff\xff\xff\xff\xff\xff",
		-1 << 63:  "\x80\x7f\xff\xff\xff\xff\xff\xff\xff",
	} {
		if got := string(appendVlong(nil, v)); got != want {
			t.Errorf("%d is written as %q, want %q", v, got, want)
		}
		d := &decoder{data: []byte(want)}
		if got := d.vlong(); got != v || d.err != nil {
			t.Errorf("%q reads as %d, %v; want %d", want, got, d.err, v)
		}
	}
}

func FuzzParseMeta(f *testing.F) {
	for _, name := range []string{"wordcount", "teragen", "terasort", "oldapi", "hive"} {
		f.Add(read(f, name+".splitmetainfo"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		metas, err := ParseMeta(bytes.NewReader(b))
		if err != nil {
			return
		}
		again := errtest.Must(ParseMeta(bytes.NewReader(AppendMeta(nil, metas))))
		if d := cmp.Diff(metas, again); d != "" {
			t.Fatalf("changed by writing:\n%s", d)
		}
	})
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"wordcount", "teragen", "terasort", "oldapi", "hive"} {
		f.Add(read(f, name+".split"), int64(7))
	}
	f.Fuzz(func(t *testing.T, b []byte, offset int64) {
		splits, err := Parse(b, []Meta{{Offset: offset}})
		if err == nil && (len(splits) != 1 || splits[0].Offset < 0 || splits[0].Length < 0) {
			t.Fatalf("%v from %q", splits, b)
		}
	})
}

// encode is the JobSplitWriter for splits of one class.
func encode(splits []Split, class string) ([]byte, []Meta) {
	var b []byte
	b = append(b, splitHead...)
	var metas []Meta
	for _, s := range splits {
		metas = append(metas, Meta{Offset: int64(len(b)), Length: s.Length})
		b = AppendText(b, class)
		b = AppendText(b, s.Path)
		b = binary.BigEndian.AppendUint64(b, uint64(s.Offset))
		b = binary.BigEndian.AppendUint64(b, uint64(s.Length))
	}
	return b, metas
}

func TestReadErrorIsKept(t *testing.T) {
	errtest.Is(t, errtest.Of(ParseMeta(io.MultiReader(strings.NewReader("META-SPL"), failing{}))), errDisk)
}

var errDisk = errors.New("disk gone")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errDisk }
