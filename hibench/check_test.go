package hibench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"heddle/traces/errtest"
)

const hadoopIO = "org.apache.hadoop.io."

// texts is a SequenceFile of pairs of Text.
func texts(keyValue ...string) string {
	var records [][2][]byte
	for i := 0; i < len(keyValue); i += 2 {
		records = append(records, [2][]byte{hadoopText(keyValue[i]), hadoopText(keyValue[i+1])})
	}
	return string(seqFile(hadoopIO+"Text", hadoopIO+"Text", records...))
}

// counts is a SequenceFile of words and their counts.
func counts(wordCount ...any) string {
	var records [][2][]byte
	for i := 0; i < len(wordCount); i += 2 {
		records = append(records, [2][]byte{
			hadoopText(wordCount[i].(string)),
			binary.BigEndian.AppendUint32(nil, uint32(wordCount[i+1].(int))),
		})
	}
	return string(seqFile(hadoopIO+"Text", hadoopIO+"IntWritable", records...))
}

func TestCheck(t *testing.T) {
	row := func(c string) string { return strings.Repeat(c, 100) }
	words := []string{texts("key", "a b  a", "not counted", "c\ta\n"), texts("k", "b")}
	pairs := []string{texts("b", "1", "a", "2"), texts("c", "3", "a", "4")}
	lines := []string{"k\tab ac b\n", "k\tac\n\nxac ab"} // grep looks for a[b-z]: ac 3, ab 2
	rightWords, rightPairs, rightMatches := Counters{MapOutputRecords: 6}, Counters{MapInputRecords: 4, ReduceOutputRecords: 4},
		Counters{MapOutputRecords: 7}
	tests := []struct {
		name          string
		workload      string
		input, output []string // files
		counters      Counters
		want          string // in an error; "": none
	}{
		{"counts right", "wordcount", words, []string{counts("a", 3), counts("b", 2, "c", 1)}, rightWords, ""},
		{
			"counters differ", "wordcount", words,
			[]string{counts("a", 3, "b", 2, "c", 1)},
			Counters{MapOutputRecords: 7},
			"sum of counts and words mapped (counters): 6, want 7",
		},
		{"count wrong", "wordcount", words, []string{counts("a", 3, "b", 3, "c", 1)}, Counters{MapOutputRecords: 7}, `word "b": 3, want 2`},
		{"word missing", "wordcount", words, []string{counts("a", 3, "b", 2)}, Counters{MapOutputRecords: 5}, `word "c": 0, want 1`},
		{
			"word too many", "wordcount", words,
			[]string{counts("a", 3, "b", 2, "c", 1, "d", 1)},
			Counters{MapOutputRecords: 7},
			"counts of all words",
		},
		{"word twice", "wordcount", words, []string{counts("a", 3, "b", 2), counts("b", 2, "c", 1)}, rightWords, `word "b" occurs twice`},

		{"sorted", "sort", pairs, []string{texts("a", "4", "a", "2", "c", "3"), texts("b", "1")}, rightPairs, ""},
		{"not sorted", "sort", pairs, []string{texts("b", "1", "a", "2", "a", "4", "c", "3")}, rightPairs, `key "a" after "b"`},
		{"record lost", "sort", pairs, []string{texts("a", "2", "a", "4", "c", "3")}, rightPairs, "records of output and input"},
		{"record changed", "sort", pairs, []string{texts("a", "2", "a", "4", "b", "1", "c", "4")}, rightPairs, "records of output and input"},
		{
			"value moved to another key", "sort", pairs,
			[]string{texts("a", "4", "a", "2", "b", "3", "c", "1")},
			rightPairs,
			"records of output and input",
		},
		{
			"sort counters differ", "sort", pairs,
			[]string{texts()},
			Counters{MapInputRecords: 4, ReduceOutputRecords: 3},
			"records written and read (counters): 3, want 4",
		},

		{"matches right", "grep", lines, []string{"3\tac\n2\tab\n"}, rightMatches, ""},
		{
			"match counters differ", "grep", lines,
			[]string{"3\tac\n2\tab\n"},
			Counters{MapOutputRecords: 5},
			"matches and different matches mapped (counters): 5, want 7",
		},
		{"match lost", "grep", lines, []string{"3\tac\n"}, Counters{MapOutputRecords: 4}, `match "ab": 0, want 2`},
		{"match too many", "grep", lines, []string{"3\tac\n2\tab\n1\tad\n"}, Counters{MapOutputRecords: 9}, "counts of all matches"},
		{"match twice", "grep", lines, []string{"3\tac\n2\tab\n2\tab\n"}, rightMatches, `match "ab" occurs twice`},
		{"counts rise", "grep", lines, []string{"2\tab\n3\tac\n"}, rightMatches, `match "ac": count 3 after 2; want falling counts`},
		{"no count", "grep", lines, []string{"ac\n"}, rightMatches, `line "ac": want a count, a tab and a match`},

		{"rows right", "terasort", []string{row("b"), row("a")}, []string{row("a"), row("b")}, Counters{}, ""},
		{
			"rows not in order", "terasort",
			[]string{row("b"), row("a")},
			[]string{row("b") + row("a")},
			Counters{},
			`row 2: key "aaaaaaaaaa" after "bbbbbbbbbb"`,
		},
		{
			"files not in order", "terasort",
			[]string{row("b"), row("a")},
			[]string{row("b"), row("a")},
			Counters{},
			`row 2: key "aaaaaaaaaa" after "bbbbbbbbbb"`,
		},
		{
			"row changed", "terasort",
			[]string{row("b"), row("a")},
			[]string{row("a") + row("c")},
			Counters{},
			"checksum of rows in output and input",
		},
		{"row lost", "terasort", []string{row("b"), row("a")}, []string{row("a")}, Counters{}, "bytes of output and input: 100, want 200"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newFakeHadoop(t)
			spec := Spec{Workload: tt.workload, Profile: "tiny"}
			if tt.workload == Grep {
				spec = Spec{Workload: Grep, SizeBytes: 100, Regex: "a[b-z]"}
			}
			r := newRunner(t, h.env(t), spec)
			for i, file := range tt.input {
				write(t, h.fs.path(fmt.Sprintf("%s/part-m-%05d", r.inputPath(), i)), file, 0o644)
			}
			for i, file := range tt.output {
				write(t, h.fs.path(fmt.Sprintf("%s/part-r-%05d", r.outputPath("t1"), i)), file, 0o644)
			}
			write(t, h.fs.path(r.outputPath("t1")+"/_SUCCESS"), "", 0o644)
			k, err := r.Check(context.Background(), "t1", tt.counters)
			if tt.want == "" {
				if err != nil || len(k) == 0 {
					t.Errorf("%q, %v; want something compared and no error", k, err)
				}
				return
			}
			if !errors.Is(err, ErrInvalidOutput) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v; want ErrInvalidOutput with %q", err, tt.want)
			}
		})
	}
}

// Beyond what Check reads, the cluster looks at the order of the rows.
func TestCheckByTeraValidate(t *testing.T) {
	for validate, want := range map[string]string{
		"checksum\t12":                         "",
		"error\tmisorder in part\nchecksum\t1": "TeraValidate: error\tmisorder in part",
	} {
		h := newFakeHadoop(t)
		r := newRunner(t, h.env(t), Spec{Workload: "terasort", Profile: "tiny"})
		in, out := h.fs.path(r.inputPath()+"/part-m-00000"), h.fs.path(r.outputPath("t1"))
		for _, file := range []string{in, out + "/part-r-00000"} {
			write(t, file, "", 0o644)
			mustDo(t, os.Truncate(file, readLimitBytes+terasortRowBytes))
		}
		write(t, out+"/_SUCCESS", "", 0o644)
		dir := h.fs.path(r.checkPath("t1"))
		h.does(t, "mkdir -p "+dir+"; printf '"+validate+"\\n' > "+dir+"/part-r-00000; exit 0")
		k, err := r.Check(t.Context(), "t1", Counters{})
		if want == "" && (err != nil || len(k) != 2) || want != "" &&
			(!errors.Is(err, ErrInvalidOutput) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %+v, %v; want %q", validate, k, err, want)
		}
	}
}

// An input is read once, and again when its files are others.
func TestCheckKeepsSums(t *testing.T) {
	h := newFakeHadoop(t)
	env := h.env(t)
	env.Sums = &Sums{}
	r := newRunner(t, env, Spec{Workload: "sort", Profile: "tiny"})
	in, out := h.fs.path(r.inputPath()+"/part-m-00000"), h.fs.path(r.outputPath("t1"))
	check := func(what string, ok bool) {
		t.Helper()
		if _, err := r.Check(t.Context(), "t1", Counters{}); (err == nil) != ok {
			t.Errorf("%s: error %v", what, err)
		}
	}
	write(t, out+"/part-r-00000", texts("a", "1"), 0o644)
	write(t, out+"/_SUCCESS", "", 0o644)
	write(t, in, texts("a", "1"), 0o644)
	info := must(os.Stat(in))
	check("read", true)
	write(t, in, texts("b", "1"), 0o644)
	mustDo(t, os.Chtimes(in, info.ModTime(), info.ModTime()))
	check("known", true)
	mustDo(t, os.Chtimes(in, info.ModTime(), info.ModTime().Add(time.Second)))
	check("read again", false)
}

func TestCheckCannotSay(t *testing.T) {
	h := newFakeHadoop(t)
	r := newRunner(t, h.env(t), Spec{Workload: "sort", Profile: "tiny"})
	in, out := h.fs.path(r.inputPath()+"/part-m-00000"), h.fs.path(r.outputPath("t1"))
	check := func(want string) {
		t.Helper()
		_, err := r.Check(context.Background(), "t1", Counters{})
		if want == "" && err != nil || want != "" && (err == nil || errors.Is(err, ErrInvalidOutput) || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v; want one with %q", err, want)
		}
	}
	check("no such file")
	write(t, in, "", 0o644)
	write(t, out+"/part-r-00000", texts("a", "b"), 0o644)
	check("_SUCCESS")
	write(t, out+"/_SUCCESS", "", 0o644)
	check("SequenceFile")
	mustDo(t, os.Truncate(in, readLimitBytes+1))
	check("")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	write(t, in, texts("a", "b"), 0o644)
	errtest.Is(t, errOf(r.Check(ctx, "t1", Counters{})), context.Canceled)
}
