package jhist

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"heddle/traces"
	"heddle/traces/format"
	"heddle/traces/mend"
)

// Format describes Hadoop's job history files to package exchange.
var Format = format.Format{
	Name:   "jhist",
	About:  "job histories of Hadoop 0.18 to 3.4: .jhist files, and the text of a JobTracker",
	Origin: traces.Recovered,
	Model:  "yarn",
	Detect: func(head []byte) bool {
		text := bytes.TrimLeft(head, " \t\r\n")
		return bytes.HasPrefix(text, []byte(avroJSON)) || bytes.HasPrefix(text, []byte(avroBinary)) || textRecord.Match(text)
	},
	NewReader: func(im *format.Import) format.Reader {
		return &reader{Import: im, seen: map[string]int{}, buf: bufio.NewReaderSize(nil, readBytes)}
	},
}

// Defects that an import finds in job history files, and what it does about
// each.
var (
	cutHistory mend.Kind = "a history that ends inside an event: read without that event (part)"
	badEvents  mend.Kind = "an event of a history that does not fit its schema: left out (part)"
	takenBack  mend.Kind = "a map that succeeded, and whose output was lost later: " +
		"taken as failed or killed, and as ending when it succeeded"
	localInput     mend.Kind = "a map that read from local files only: all that it read there taken as its input"
	historyAgain   mend.Kind = "a second history of a job: the one that is whole, else the longest, else the first is taken"
	badHistory     mend.Kind = "a history that cannot be read: left out (job)"
	noHistoryJob   mend.Kind = "a history without a job: left out (job)"
	impossibleTime mend.Kind = "a time before 1970 or after 2200: taken as that of the job's submission"
	oddCount       mend.Kind = "a count below 0 or over 2^60: taken as not reported"
	oddTotal       mend.Kind = "a number of tasks below 0 or over the limit: taken as that of the tasks in the history"
)

// reader turns job history files into events. Each file describes one job, but
// text of several jobs may stand in one file.
type reader struct {
	*format.Import
	seen map[string]int // ids of the jobs read so far, and how whole the history of each is
	buf  *bufio.Reader
}

// Read implements format.Reader: it reads a history file and adds the events of
// its job.
func (r *reader) Read(in io.Reader) error {
	r.buf.Reset(in)
	for {
		if err := r.readJob(); err != nil {
			return err
		}
		if _, err := r.buf.Peek(1); err != nil {
			return notEOF(err)
		}
	}
}

func (r *reader) readJob() error {
	r.Records++
	job, events, err := parse(r.buf, r.Log)
	if cut, ok := errors.AsType[*CutOffError](err); ok {
		err = r.Log.Add(cutHistory, fmt.Sprintf("byte %d", cut.Offset), cut.Err.Error())
	}
	switch {
	case job == nil && !r.Log.Strict:
		return r.Log.Add(badHistory, "its beginning", err.Error())
	case err != nil:
		return err
	case job.ID == "":
		return r.Log.Add(noHistoryJob, "its end", "no event names a job")
	}
	if job.Outcome != traces.Unfinished {
		events += maxLineBytes // more than any history has
	}
	if had, again := r.seen[job.ID]; again || r.Chosen[job.ID] > r.Records {
		if events > had && r.Chosen[job.ID] == 0 {
			r.seen[job.ID], r.Better[job.ID] = events, r.Records
		}
		return r.Log.Add(historyAgain, "its name", job.ID)
	}
	r.seen[job.ID] = events
	job.Rename(r.Racks.Name)
	racks := job.Racks()
	r.placeHosts(job, racks)
	conf := confOf(r.Log.File, job.ID)
	for _, e := range Events(job, 0) {
		switch s := e.(type) {
		case *traces.JobSubmitted:
			if note := configured(s, conf); note != nil {
				if err := r.Add(note); err != nil {
					return err
				}
			}
		case *traces.JobStarted:
			s.AMMemoryBytes = format.Memory(conf["yarn.app.mapreduce.am.resource.mb"])
		}
		if err := r.Add(e); err != nil {
			return err
		}
	}
	for host, rack := range racks {
		if err := r.Host(host, rack); err != nil {
			return err
		}
	}
	return nil
}

// placeHosts gives a job racks that its history file does not have. For attempts
// that were never launched, it adds the racks of their hosts and of the hosts of
// their splits.
func (r *reader) placeHosts(job *Job, own map[string]string) {
	for host, rack := range own {
		r.Racks.Tell(host, rack)
	}
	for _, t := range job.Tasks {
		for _, a := range t.Attempts {
			if a.StartMs != 0 || a.Host == "" {
				continue
			}
			for _, host := range append([]string{a.Host}, t.SplitHosts...) {
				if rack := r.Racks.Of(host); rack != "" && own[host] == "" {
					job.HostRacks[traces.Node(host)] = rack
				}
			}
		}
	}
}
