package capture

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"heddle/collectors/hdfs"
	"heddle/traces"
)

// TestLocations runs testdata/locations: "sample t=SECONDS" holds a line a
// block, "ID: host/rack host/rack* …" (* is cached); "level t= block= node=
// rack=" asks how near a node was; "drop" ends the job that reads them, and samples
// are another's; "events" prints what changed.
func TestLocations(t *testing.T) {
	datadriven.Walk(t, "testdata/locations", func(t *testing.T, path string) {
		l := newLocations()
		reader := &samples{}
		var events []traces.Event
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "sample":
				var at int
				d.ScanArgs(t, "t", &at)
				reader.at = append(reader.at, seconds(at))
				events = append(events, l.add(reader, "hdfs://nn:8020/in", parseBlocks(t, d.Input))...)
				return ""
			case "drop":
				l.drop(reader)
				reader = &samples{}
				return fmt.Sprintf("%d blocks kept\n", len(l.blocks))
			case "level":
				var at, block int
				var node, rack string
				d.ScanArgs(t, "t", &at)
				d.ScanArgs(t, "block", &block)
				d.ScanArgs(t, "node", &node)
				d.ScanArgs(t, "rack", &rack)
				level, age := l.levelAt(traces.Block(block), traces.Node(node), rack, seconds(at))
				if age >= 0 {
					age /= 1e9
				}
				return fmt.Sprintf("%s, sample %d s old\n", level, age)
			case "events":
				var out strings.Builder
				for _, e := range events {
					switch e := e.(type) {
					case *traces.BlockReplica:
						fmt.Fprintf(&out, "%d replica block %d on %s gone=%v %s+%d\n", int64(e.T)/1e9, e.Block, e.Node, e.Gone, e.Path, e.OffsetBytes)
					case *traces.BlockCached:
						fmt.Fprintf(&out, "%d cached block %d on %s gone=%v\n", int64(e.T)/1e9, e.Block, e.Node, e.Gone)
					}
				}
				return out.String()
			}
			t.Fatalf("unknown command %q", d.Cmd)
			return ""
		})
	})
}

func seconds(n int) traces.Time { return traces.Time(n) * 1e9 }

func parseBlocks(t *testing.T, text string) []hdfs.Block {
	var blocks []hdfs.Block
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		id, replicas, ok := strings.Cut(line, ":")
		b := hdfs.Block{Offset: int64(i) * 100, Length: 100}
		if _, err := fmt.Sscan(id, &b.ID); err != nil || !ok {
			t.Fatalf("block line %q: want ID: host/rack …", line)
		}
		for r := range strings.FieldsSeq(replicas) {
			host, rack, _ := strings.Cut(strings.TrimSuffix(r, "*"), "/")
			b.Replicas = append(b.Replicas, hdfs.Replica{Host: host, Rack: "/" + rack, Cached: strings.HasSuffix(r, "*")})
		}
		blocks = append(blocks, b)
	}
	return blocks
}
