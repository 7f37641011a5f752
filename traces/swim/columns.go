package swim

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"strings"

	"heddle/traces"
)

// layout says what the columns of a list hold. It is as in SWIM's lists, or as a
// header says.
type layout struct {
	sep     byte // between columns
	columns []column
	named   bool     // by a header
	wrong   string   // what a header lacks
	unread  []string // names of columns that are not known
	number  int      // of the line, from 1
	jobs    int      // lines so far that are no header
	last    traces.Time
	fields  [][]byte // of one line; the memory is reused
}

// column is what a column holds. unit is what a number of the column is worth, in bytes
// or ns.
type column struct {
	what int
	unit int64
}

const (
	id = iota
	submit
	gap
	input
	shuffle
	output
	path
	queue
	user
	other
)

var (
	names   = [...]string{"id", "submit", "gap", "map input", "shuffle", "output", "path", "queue", "user", ""}
	inOrder = []column{{id, 1}, {submit, 1e9}, {gap, 1e9}, {input, 1}, {shuffle, 1}, {output, 1}, {path, 1}, {other, 1}, {other, 1}}
	queued  = append(append(inOrder[:path:path], column{queue, 1}), inOrder[path+1:]...)
)

// least is the number of columns of a job, up to the output.
const least = output + 1

// headers are words in the names of columns. The first that occurs in a name tells what
// the column holds.
var headers = [...]struct {
	word string
	what int
}{
	{"path", path},
	{"queue", queue},
	{"pool", queue},
	{"user", user},
	{"gap", gap},
	{"inter_", gap},
	{"map_output", shuffle},
	{"submi", submit},
	{"arriv", submit},
	{"start", submit},
	{"shuffle", shuffle},
	{"input", input},
	{"output", output},
	{"id", id},
	{"job", id},
	{"name", id},
	{"time", submit},
}

var plainName = strings.NewReplacer(" ", "_", "-", "_", "(", "_", ")", "")

// units are ends of the names of columns, and what a number of theirs is worth in bytes or seconds.
var units = [...]struct {
	end   string
	worth float64
}{
	{"ms", 1e-3},
	{"us", 1e-6},
	{"min", 60},
	{"kib", 1 << 10},
	{"mib", 1 << 20},
	{"gib", 1 << 30},
	{"kb", 1e3},
	{"mb", 1e6},
	{"gb", 1e9},
	{"tb", 1e12},
}

// header reports whether a line names columns: no field is a number, and some are names
// that are known.
func (l *layout) header(line []byte) bool {
	found, unread := []column{}, []string{}
	has, known := [other + 1]bool{}, false
	for i, field := range split(line, l.sep, l.fields[:0]) {
		if _, number := parseNumber(field, 1); number && i > 0 {
			return false
		}
		name, c := plainName.Replace(strings.ToLower(string(field))), column{other, 1}
		for _, h := range headers {
			if strings.Contains(name, h.word) && !has[h.what] {
				c.what = h.what
				break
			}
		}
		worth := 1.0
		for _, u := range units {
			if strings.HasSuffix(name, "_"+u.end) {
				worth = u.worth
				break
			}
		}
		if c.what == submit || c.what == gap {
			worth *= 1e9
		}
		c.unit = int64(worth)
		if c.what == other {
			unread = append(unread, string(field))
		}
		has[c.what], known = true, known || c.what >= submit && c.what <= output
		found = append(found, c)
	}
	if !known || len(found) < 3 {
		return false
	}
	l.columns, l.named, l.unread = found, true, unread
	for _, want := range [...]int{submit, input, shuffle, output} {
		if !has[want] {
			l.wrong = "the header names no column " + names[want]
		}
	}
	return true
}

// haveQueues reports whether the seventh column of a list has queues: a few short names
// or small numbers that many jobs share. Paths are hashed, and of many kinds.
func haveQueues(head []byte, sep byte) bool {
	seen, jobs, small := map[string]bool{}, 0, true
	for line := range bytes.Lines(head) {
		f := split(bytes.TrimRight(line, " \t\r\n"), sep, nil)
		if len(f) <= path || len(f[path]) == 0 || !bytes.HasSuffix(line, []byte("\n")) {
			continue
		}
		jobs++
		name := string(f[path])
		n, number := parseNumber(f[path], 1)
		if len(name) > 24 || strings.ContainsAny(name, "/:") || number && len(name) > 4 {
			return false
		}
		small = small && number && n < 100
		seen[name] = true
	}
	return jobs > 1 && (small || 3*len(seen) <= jobs)
}

// separator returns what stands between the columns of a list: that by which most of its first
// lines have the numbers of a job. A blank stands for any number of blanks.
func separator(head []byte) (sep byte) {
	most := -1
	for _, one := range []byte("\t;, ") {
		jobs, fields := 0, [][]byte{}
		for line := range bytes.Lines(head) {
			fields = split(bytes.TrimRight(line, " \t\r\n"), one, fields[:0])
			numbers := 0
			for _, f := range fields {
				if _, ok := parseNumber(f, 1); ok {
					numbers++
				}
			}
			if numbers >= least-2 { // an id is no number, and the gap need not be there
				jobs++
			}
		}
		if jobs > most && (jobs > 0 || bytes.IndexByte(head, one) >= 0) {
			sep, most = one, jobs
		}
	}
	return sep
}

// split returns the fields of a line. Quotes may stand around a field if sep is no tab.
func split(line []byte, sep byte, to [][]byte) [][]byte {
	if sep == ' ' {
		return append(to, bytes.Fields(line)...)
	}
	quoted, begin := false, 0
	for i := 0; i <= len(line); i++ {
		switch {
		case i == len(line) || line[i] == sep && !quoted:
			to = append(to, bytes.Trim(line[begin:i], ` "`))
			begin = i + 1
		case line[i] == '"' && sep != '\t':
			quoted = !quoted
		}
	}
	return to
}

var thousands = regexp.MustCompile(`^\d{1,3}(,\d{3})+(\.\d+)?$`)

// parseNumber reads a number from 0 to maxNumber, and multiplies it by unit. It accepts
// what people and programs write, such as 1e+09, 5.0, 2.5 or 1,000,000, and rounds.
func parseNumber(field []byte, unit int64) (n int64, ok bool) {
	for _, c := range field {
		d := int64(c) - '0'
		if d < 0 || d > 9 || n > (maxNumber/unit-d)/10 {
			text := string(field)
			if thousands.MatchString(text) {
				text = strings.ReplaceAll(text, ",", "")
			}
			f, err := strconv.ParseFloat(text, 64)
			f = math.Round(f * float64(unit))
			return int64(f), err == nil && f >= 0 && f <= maxNumber
		}
		n = 10*n + d
	}
	return n * unit, len(field) > 0
}
