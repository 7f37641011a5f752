package drive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// FuzzRecording goes through any recording, without its compression: it is followed,
// or refused with an error.
func FuzzRecording(f *testing.F) {
	data, err := os.ReadFile("testdata/fifo-price.jsonl.zst")
	if err != nil {
		f.Fatal(err)
	}
	unzip, err := zstd.NewReader(nil)
	if err != nil {
		f.Fatal(err)
	}
	defer unzip.Close()
	plain, err := unzip.DecodeAll(data, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain[:10_000])
	head, rest, _ := bytes.Cut(plain, []byte("\n"))
	for range 30 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		f.Add(bytes.Join([][]byte{head, line, nil}, []byte("\n")))
	}
	f.Fuzz(func(t *testing.T, lines []byte) {
		if len(lines) > 20_000 {
			t.Skip()
		}
		_ = replayLines(bytes.NewReader(lines), nil) // most recordings are refused, each for its own reason
	})
}

// TestHostileRecordings refuses recordings that would take too much memory, and
// follows one of a host with two NodeManagers.
func TestHostileRecordings(t *testing.T) {
	const node = `{"ID":"%s","Host":"r1n1","Rack":"/r","State":"RUNNING","Total":{"MemoryMB":512,"VCores":1}}`
	head := func(beat string, ids ...string) string {
		var nodes []string
		for _, id := range ids {
			nodes = append(nodes, fmt.Sprintf(node, id))
		}
		return `{"recording":1,"model":{"Model":"fifo"},"seed":1,"actuator":"labels","splits":"asSubmitted","setup":{"Beat":` + beat + `,"AMLabel":"am","Triples":["00"]},` +
			`"origin":"2026-11-22T22:07:50Z","nodes":[` + strings.Join(nodes, ",") + "]}\n"
	}
	const step = `{"now":"2026-11-22T22:07:51Z","observations":[{"received":"2026-11-22T22:07:51Z","submitted":{"number":"00","tag":"x"}}]}` + "\n"
	for _, c := range []struct {
		name, want string
		recording  io.Reader
	}{
		{"two NodeManagers on a host", "", strings.NewReader(head("200000000", "r1n1:1", "r1n1:2") + step)},
		{"an endless line", "a line is longer than 64MiB", io.MultiReader(strings.NewReader(head("200000000", "r1n1:1")), endless('['))},
		{"an endless first line", "a line is longer than 64MiB", endless(' ')},
		{"many values in a line", "values, want at most", strings.NewReader(head("200000000", "r1n1:1") + `{"observations":[` + strings.Repeat("{},", maxLineValues+1) + "{}]}\n")},
		{"no heartbeats", "heartbeat every 0s: want 1ms or more", strings.NewReader(head("0", "r1n1:1") + step)},
		{"a step after 200 years", "which are 10000 heartbeats", strings.NewReader(head("200000000", "r1n1:1") + strings.Replace(step, "2026", "2226", 1))},
		{"an observation from the next second", "", strings.NewReader(head("200000000", "r1n1:1") + strings.Replace(step, `"received":"2026-11-22T22:07:51`, `"received":"2026-11-22T22:07:52`, 1))},
		{"an observation after 200 years", "which are 10000 heartbeats", strings.NewReader(head("200000000", "r1n1:1") + strings.Replace(step, `"received":"2026`, `"received":"2226`, 1))},
		{"nothing", "first line: unexpected EOF", strings.NewReader("")},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := replayLines(c.recording, nil)
		runtime.ReadMemStats(&after)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %.300v, want %q", c.name, err, c.want)
		}
		if taken := (after.TotalAlloc - before.TotalAlloc) >> 20; taken > 300 {
			t.Errorf("%s: took %d MiB of memory", c.name, taken)
		}
	}
	var answers answerList
	var err error
	for large := make(json.RawMessage, maxLineBytes); err == nil && len(answers.list) < 100; {
		err = answers.add(large)
	}
	if err == nil || len(answers.list) != maxAnswerBytes/maxLineBytes+1 {
		t.Errorf("after %d answers of %d bytes: %v, want an error", len(answers.list), maxLineBytes, err)
	}
}

// endless is a reader of one byte, again and again.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}
