package drive

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

// TestHostileRecordings refuses recordings that would take too much memory, and
// follows one of a host with two NodeManagers.
func TestHostileRecordings(t *testing.T) {
	const node = `{"ID":"%s","Host":"r1n1","Rack":"/r","State":"RUNNING","Total":{"MemoryMB":512,"VCores":1}}`
	head := func(beat string, ids ...string) string {
		var nodes []string
		for _, id := range ids {
			nodes = append(nodes, fmt.Sprintf(node, id))
		}
		return `{"recording":2,"model":{"Model":"fifo"},"seed":1,"actuator":"labels","splits":"asSubmitted","setup":{"Beat":` + beat +
			`,"AMLabel":"am","Triples":["00"]},` +
			`"origin":"2026-11-22T22:07:50Z","nodes":[` + strings.Join(nodes, ",") + "]}\n"
	}
	const step = `{"now":"2026-11-22T22:07:51Z","observations":[{"received":"2026-11-22T22:07:51Z","submitted":{"number":"00","tag":"x"}}]}` +
		"\n"
	for _, c := range []struct {
		name, want string
		recording  io.Reader
	}{
		{"two NodeManagers on a host", "", strings.NewReader(head("200000000", "r1n1:1", "r1n1:2") + step)},
		{"an endless line", "a line is longer than 64MiB", io.MultiReader(strings.NewReader(head("200000000", "r1n1:1")), endless('['))},
		{"an endless first line", "a line is longer than 64MiB", endless(' ')},
		{"no heartbeats", "heartbeat every 0s: want 1ms or more", strings.NewReader(head("0", "r1n1:1") + step)},
		{
			"an observation from the next second", "",
			strings.NewReader(head("200000000", "r1n1:1") + strings.Replace(step, `"received":"2026-11-22T22:07:51`,
				`"received":"2026-11-22T22:07:52`, 1)),
		},
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
}

// endless is a reader of one byte, again and again.
type endless byte

func (e endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(e)
	}
	return len(p), nil
}
