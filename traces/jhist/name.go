package jhist

import (
	"fmt"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// Name is what the name of a finished job's file says. The file itself is the
// authority: its job name, for one, is whole, the one here is cut.
type Name struct {
	JobID    string
	SubmitMs int64
	User     string
	JobName  string // the first 50 characters
	FinishMs int64
	Maps     int32 // finished
	Reduces  int32 // finished
	Status   string
	Queue    string
	StartMs  int64 // 0 in older files
}

// ParseName reads a file's name; folders before it do not matter.
func ParseName(name string) (Name, error) {
	base := path.Base(name)
	fail := func(what string) (Name, error) {
		return Name{}, fmt.Errorf("read history file name %q: %s: want JOB-SUBMIT-USER-NAME-FINISH-MAPS-REDUCES-STATUS[-QUEUE[-START]].jhist", base, what)
	}
	stem, ok := strings.CutSuffix(base, ".jhist")
	parts := strings.Split(stem, "-")
	if !ok || len(parts) < 8 || len(parts) > 10 {
		return fail("wrong number of parts")
	}
	if !strings.HasPrefix(parts[0], "job_") {
		return fail("no job id")
	}
	n := Name{JobID: parts[0], User: unescape(parts[2]), JobName: unescape(parts[3]), Status: parts[7]}
	numbers := []struct {
		part string
		to   *int64
	}{{parts[1], &n.SubmitMs}, {parts[4], &n.FinishMs}}
	if len(parts) > 8 {
		n.Queue = unescape(parts[8])
	}
	if len(parts) > 9 {
		numbers = append(numbers, struct {
			part string
			to   *int64
		}{parts[9], &n.StartMs})
	}
	for _, v := range numbers {
		ms, err := strconv.ParseInt(v.part, 10, 64)
		if err != nil {
			return fail(fmt.Sprintf("bad time %q", v.part))
		}
		*v.to = ms
	}
	maps, err1 := strconv.ParseInt(parts[5], 10, 32)
	reduces, err2 := strconv.ParseInt(parts[6], 10, 32)
	if err1 != nil || err2 != nil {
		return fail("bad number of tasks")
	}
	n.Maps, n.Reduces = int32(maps), int32(reduces)
	return n, nil
}

// unescape leaves text whose cut went through an escape as it is.
func unescape(part string) string {
	if text, err := url.QueryUnescape(part); err == nil {
		return text
	}
	return part
}
