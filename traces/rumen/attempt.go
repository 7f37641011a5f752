package rumen

import (
	"bytes"
	"strconv"
	"strings"

	"heddle/traces"
	"heddle/traces/mend"
)

// attempt reads an attempt into the last of r.attempts.
func (r *Reader) attempt(letter byte, position int) {
	s := r.scan
	a := &r.attempts[len(r.attempts)-1]
	a.Number, a.foreign = int32(position), true
	if !s.Object() {
		return
	}
	a.rest.from = len(r.rest)
	var location HostID
	for first := true; s.More(&first, '}'); {
		switch key := s.Key(); string(key) {
		case "attemptID":
			text, _ := s.String()
			_, number, _, ok := parseID(text, "attempt_", letter)
			if a.foreign = !ok || number < 0; !a.foreign {
				a.Number = number
			} else {
				r.keepText("attemptID", text)
			}
		case "result":
			a.Outcome = r.outcome()
		case "hostName":
			text, _ := s.String()
			a.Host = r.host(text)
		case "location":
			location = r.location()
		case "startTime":
			r.time(&a.StartMs)
		case "finishTime":
			r.time(&a.FinishMs)
		case "shuffleFinished":
			r.time(&a.ShuffleMs)
		case "sortFinished":
			r.time(&a.SortMs)
		case "hdfsBytesRead":
			r.count(&a.HDFSReadBytes)
		case "hdfsBytesWritten":
			r.count(&a.HDFSWrittenBytes)
		case "fileBytesRead":
			r.count(&a.FileReadBytes)
		case "fileBytesWritten":
			r.count(&a.FileWrittenBytes)
		case "mapInputRecords":
			r.count(&a.MapInputRecords)
		case "mapOutputBytes":
			r.count(&a.MapOutputBytes)
		case "mapOutputRecords":
			r.count(&a.MapOutputRecords)
		case "reduceInputRecords":
			r.count(&a.ReduceInputRecords)
		case "reduceOutputRecords":
			r.count(&a.ReduceOutputRecords)
		case "reduceShuffleBytes":
			r.count(&a.ShuffleBytes)
		case "spilledRecords":
			r.count(&a.SpilledRecords)
		case "resourceUsageMetrics":
			r.usage(a)
		default:
			r.keep(&r.rest, key)
		}
	}
	switch {
	case a.Host == 0:
		a.Host = location
	case location != 0 && location != a.Host && r.KeepRest:
		h := r.hosts[location]
		r.rest = append(append(append(r.rest, `"location":`...), layers(h)...), ',')
	}
	a.rest.to = len(r.rest)
}

// usage reads an attempt's use of CPU and memory at its end.
func (r *Reader) usage(a *Attempt) {
	s := r.scan
	if !s.Object() {
		return
	}
	for first := true; s.More(&first, '}'); {
		switch key := s.Key(); string(key) {
		case "cumulativeCpuUsage":
			r.count(&a.CPUMs)
		case "physicalMemoryUsage":
			r.count(&a.PhysicalBytes)
		default:
			r.keep(&r.rest, key)
		}
	}
}

// count reads a number from 0 on, or -1.
func (r *Reader) count(to *int64) {
	n, ok := r.scan.Int()
	if ok && n >= Unknown {
		*to = n
	} else if ok {
		r.mend(negative, strconv.FormatInt(n, 10))
	}
}

// time reads milliseconds.
func (r *Reader) time(to *int64) {
	n, ok := r.scan.Int()
	switch {
	case !ok:
	case n < Unknown:
		r.mend(negative, strconv.FormatInt(n, 10))
	case n > maxMs:
		r.mend(hugeTime, strconv.FormatInt(n, 10))
	default:
		*to = n
	}
}

func (r *Reader) outcome() traces.Outcome {
	text, ok := r.scan.String()
	switch {
	case !ok:
		return traces.Unfinished
	case string(text) == "SUCCESS" || string(text) == "SUCCEEDED":
		return traces.Succeeded
	case string(text) == "FAILED":
		return traces.Failed
	case string(text) == "KILLED":
		return traces.Killed
	}
	r.mend(oddOutcome, string(text))
	return traces.Unfinished
}

func (r *Reader) mend(kind mend.Kind, about string) {
	if err := r.log.Add(kind, at(r.scan.Offset()), about); err != nil {
		r.scan.Fail(err)
	}
}

// name reads a text that other jobs have too.
func (r *Reader) name() string {
	text, _ := r.scan.String()
	return r.intern(text)
}

// id reads a job's id: Rumen writes a text.
func (r *Reader) id() string {
	text, _ := r.scan.String()
	return strings.Clone(string(text))
}

// maxNames bounds the texts that are kept for all jobs.
const maxNames = 1 << 16

func (r *Reader) intern(text []byte) string {
	if len(text) == 0 {
		return ""
	}
	if kept, ok := r.names[string(text)]; ok {
		return kept
	}
	if len(r.names) == maxNames {
		clear(r.names)
	}
	kept := string(text)
	r.names[kept] = kept
	return kept
}

// keep appends a member that has no field, unless it says nothing.
func (r *Reader) keep(to *[]byte, key []byte) {
	if !r.KeepRest {
		r.scan.Skip()
		return
	}
	begin := len(*to)
	*to = appendText(*to, key)
	*to = append(*to, ':')
	raw := r.scan.Raw()
	if saysNothing(raw) {
		*to = (*to)[:begin]
		return
	}
	*to = append(appendCompact(*to, raw), ',')
}

func (r *Reader) keepText(key string, text []byte) {
	if r.KeepRest {
		r.rest = append(r.rest, '"')
		r.rest = append(append(r.rest, key...), '"', ':')
		r.rest = append(appendText(r.rest, text), ',')
	}
}

// saysNothing is true for null, -1, [] and {}, which stand for what is absent.
func saysNothing(raw []byte) bool {
	switch {
	case len(raw) == 0 || string(raw) == "null" || string(raw) == "-1" || string(raw) == "-1.0":
		return true
	case raw[0] == '[' || raw[0] == '{':
		return len(bytes.TrimSpace(raw[1:len(raw)-1])) == 0
	}
	return false
}
