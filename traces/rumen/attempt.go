package rumen

import (
	"strconv"
	"strings"

	"heddle/traces"
	"heddle/traces/internal/members"
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
			index, number, part, ok := parseID(text, "attempt_", letter)
			if a.foreign = !ok || number < 0 || !r.sameJob(part); !a.foreign {
				a.Number, a.index = number, index
			} else {
				r.keepText(a.rest.from, "attemptID", text)
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
			r.keep(&r.rest, a.rest.from, key)
		}
	}
	switch {
	case a.Host == 0:
		a.Host = location
	case location != 0 && location != a.Host && r.KeepRest:
		h := r.hosts[location]
		own := members.AppendKey(r.rest[a.rest.from:], "location")
		r.rest = append(r.rest[:a.rest.from], append(own, layers(h)...)...)
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
			r.keep(&r.rest, a.rest.from, key)
		}
	}
}

// count reads a number from 0 to maxCount, or -1.
func (r *Reader) count(to *int64) {
	n, ok := r.scan.Int()
	switch {
	case !ok:
	case n < Unknown:
		r.mend(negative, strconv.FormatInt(n, 10))
	case n > maxCount:
		r.mend(hugeCount, strconv.FormatInt(n, 10))
	default:
		*to = n
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
func (r *Reader) keep(to *[]byte, begin int, key []byte) {
	if !r.KeepRest {
		r.scan.Skip()
		return
	}
	r.path = append(r.path[:0], key...) // the key is gone after Raw
	raw := r.scan.Raw()
	*to = append((*to)[:begin], members.AppendRaw((*to)[begin:], string(r.path), raw)...)
}

func (r *Reader) keepText(begin int, key string, text []byte) {
	if r.KeepRest {
		r.rest = append(r.rest[:begin], members.AppendString(r.rest[begin:], key, string(text))...)
	}
}
