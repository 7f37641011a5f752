package tracefile

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"
)

// TestForeignPacked: a packed file is named by what is in it, if its beginning tells.
func TestForeignPacked(t *testing.T) {
	pack := func(text string) []byte {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		must(z.Write([]byte(text)))
		mustDo(t, z.Close())
		return out.Bytes()
	}
	spark := pack(`{"Event":"SparkListenerLogStart"}` + strings.Repeat(" ", 1<<16))
	for want, head := range map[string][]byte{
		"inside, it is an event log of Spark": spark[:len(spark)/2],
		"inside, it is a job history":         pack("Avro-Json\n"),
		"gzip, once more":                     pack(string(pack("x"))),
		"gzip, once":                          pack("x"),
		"zstd: \"heddle trace import\" makes": []byte("\x28\xb5\x2f\xfd\x00"),
	} {
		if got := Foreign(head); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
