package tracefile

import (
	"bytes"
	"compress/gzip"
	_ "embed" // foreign.txt
	"io"
	"regexp"
	"strconv"
	"strings"
)

// OwnTrace is what Foreign says of a trace of heddle.
const OwnTrace = "a trace of heddle already, which every command takes as it is"

// foreign lists files that people have: how each begins, as a regular expression or, after
// a "=", as bytes, and in the indented line after that what it is. The first that fits
// counts.
//
//go:embed foreign.txt
var foreign string

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
	fits := false
	for line := range strings.Lines(foreign) {
		line = strings.TrimSuffix(line, "\n")
		is, told := strings.CutPrefix(line, "\t")
		begin, raw := strings.CutPrefix(line, "=")
		switch {
		case told && fits:
			return is
		case raw:
			begin, _ = strconv.Unquote(`"` + begin + `"`)
			fits = fits || strings.HasPrefix(string(head), begin)
		case !told:
			fits = fits || regexp.MustCompile(line).Match(head)
		}
	}
	if bytes.IndexByte(head, 0) >= 0 {
		return "a binary file of no known format"
	}
	return ""
}
