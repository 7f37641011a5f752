package tracefile

import (
	"bytes"
	"compress/gzip"
	"io"
	"regexp"
	"strings"
)

const packed = "compressed in another way than with gzip or zstd: unpack it"

// OwnTrace is what Foreign says of a trace of heddle.
const OwnTrace = "a trace of heddle already, which every command takes as it is"

// foreign lists files that people have: their first bytes or, as a regular expression
// with ^ or a quote at its beginning, how their text begins; and what they are. The
// first that fits counts.
var foreign = [...]struct{ begins, is string }{
	{`^Avro-(Json|Binary)|^Meta VERSION=|^Job JOBID="`, `a job history of Hadoop: "heddle trace import" makes a trace of it`},
	{`"(mapTasks|jobtype)"`, `a job trace of Rumen: "heddle trace import" makes a trace of it`},
	{`"(job\.tasks|job\.start\.ms)"`, `a job trace of YARN's Scheduler Load Simulator (SLS): "heddle trace import" makes a trace of it`},
	{"PK\x03\x04", packed},
	{"BZh", packed},
	{"\xfd7zXZ", packed},
	{"\x28\xb5\x2f\xfd", `compressed with zstd: "heddle trace import" makes a trace of it, if it is an event log of Spark`},
	{"LZ4Block", packed}, // these two and zstd are codecs of spark.eventLog
	{"\x82SNAPPY\x00", packed},
	{"\x1f\x8b", "compressed with gzip, once more if it was unpacked: unpack it"},
	{"\x5a\x2a\x4d\x18", OwnTrace},
	{`^\{"kind":`, OwnTrace},
	{`(?s)^[^\n]{257}ustar|^.{257}ustar`, "a tar archive: unpack it and name its folder"},
	{`^PAR1|^ORC|^Obj\x01|^SEQ[\x04-\x06]|^SQLite format`, "a table or a container of records: import the files that it was made of"},
	{`^crc\x00`, "the checksums that Hadoop keeps of a file: name that file, without the dot before and .crc behind its name"},
	{`^version https://git-lfs`, `a pointer of Git LFS: "git lfs pull" fetches the file itself`},
	{`(?i)^<!doctype html|^<html`, "a web page: save the file that it shows"},
	{`(?s)^<.*<configuration`, "the configuration of a Hadoop job: the job's history is the file beside it"},
	{`(?s)^<.*<topology`, "a rack table: it tells racks beside a trace of another tool, and is no trace"},
	{`^<`, "in XML, as no trace is"},
	{`"Event"\s*:\s*"SparkListener`, `an event log of Spark: "heddle trace import" makes a trace of it`},
	{`"(apps|app)"\s*:\s*[\[{]`, "an answer of the ResourceManager: it has no tasks; the jobs' histories in HDFS have them"},
	{
		`"(jobs|taskAttempts|tasks|jobCounters)"\s*:\s*\{\s*"|^\{\s*"job"\s*:`,
		"an answer of the history server: the job's history in HDFS, a .jhist file, has all of it",
	},
	{`"traceEvents"`, "a timeline for Perfetto: import what it was made of"},
	{`"(dagName|entitytype"\s*:\s*"TEZ_)`, "a history of Tez: heddle knows jobs of MapReduce"},
	{`"(children|rack)"\s*:`, "a topology: it tells the racks beside a trace of another tool, and is no trace"},
	{`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|^\d\d/\d\d/\d\d \d\d:\d\d:\d\d [A-Z]`, "a log of Hadoop: the jobs' histories are files of their own"},
	{`(?m)^(workloads|models|cluster|from):`, `an experiment or a set of replays: "heddle run" or "heddle sweep" takes it`},
}

// Foreign returns what a file is that begins with the given bytes, and what to do with
// it. It returns "" if it does not know.
func Foreign(head []byte) string {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if z, err := gzip.NewReader(bytes.NewReader(head)); err == nil {
		inside, _ := io.ReadAll(io.LimitReader(z, 1<<12)) // the head ends within
		if !bytes.Contains(inside, []byte("\x1f\x8b")) {  // a file may hold itself
			if is := Foreign(inside); is != "" {
				return "compressed with gzip, once more if it was unpacked: unpack it; inside, it is " + is
			}
		}
	}
	for _, f := range foreign {
		text := strings.HasPrefix(f.begins, "^") || strings.HasPrefix(f.begins, `"`) || strings.HasPrefix(f.begins, "(?")
		if text && regexp.MustCompile(f.begins).Match(head) || bytes.HasPrefix(head, []byte(f.begins)) {
			return f.is
		}
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return "a binary file of no known format"
	}
	return ""
}
