package rumen

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"

	"heddle/traces"
	"heddle/traces/format"
	"heddle/traces/internal/jsonstream"
	"heddle/traces/mend"
)

// Limits that protect the import from damaged or hostile files.
const (
	// maxIndex limits task indexes and attempt numbers, since other packages use
	// them as indexes of arrays.
	maxIndex = 16 << 20
	// maxListed is the greatest number of maps, or of reduces, of a job. maxTries
	// is the greatest number of attempts of a job. There are limits because an
	// import keeps one whole job in memory.
	maxListed = 1 << 20
	maxTries  = 1 << 21
	// maxCount is the greatest number of bytes, records or milliseconds: 2^60,
	// about 10^18.
	maxCount = 1 << 60
)

// Defects that an import finds in Rumen's job traces, and what it does about
// each.
var (
	negative    mend.Kind = "a number below -1: taken as unknown"
	hugeCount   mend.Kind = "a number over 2^60: taken as unknown"
	hugeTime    mend.Kind = "a time after the year 2200: taken as unknown"
	noJobID     mend.Kind = "a job without an id: given one"
	foreignIDs  mend.Kind = "tasks whose ids are of another job: taken as the job's they are in"
	foreignTask mend.Kind = "a task's id that is none of its job's: numbered by its position"
	taskAgain   mend.Kind = "a task's id that came before in its job: given the next free number"
	foreignTry  mend.Kind = "an attempt's id that is none of its task's: numbered by its position"
	tryAgain    mend.Kind = "an attempt's id that came before in its task: given the next free number"
	manyTasks   mend.Kind = "a task beyond the first 1,048,576 maps or reduces of a job: left out (part)"
	manyTries   mend.Kind = "an attempt beyond the first 2,097,152 of a job: left out (part)"
	oddOutcome  mend.Kind = "an outcome that is not Rumen's: taken as unfinished"
)

// reader reads Rumen's files one job after the other. It remembers the hosts of
// all files.
type reader struct {
	*format.Import
	in    *jsonstream.Reader
	job   job
	tries int             // number of attempts of the current job read so far
	hosts map[string]host // hosts of all files, by their paths such as "/rack/host"
	path  []byte          // path of the host whose location is being read; the memory is reused
	value func(any) error // reads a value into a field, as its type wants
}

func newReader(im *format.Import) *reader {
	r := &reader{Import: im, hosts: map[string]host{}}
	r.value = r.into
	return r
}

// Read implements format.Reader: it reads a file and adds the events of its
// jobs.
func (r *reader) Read(in io.Reader) error {
	r.open(in)
	for {
		err := r.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		events, err := r.events()
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := r.Add(e); err != nil {
				return err
			}
		}
	}
}

func (r *reader) open(in io.Reader) { r.in = jsonstream.New(in, r.Log) }

// next reads the next job of the file and replaces wrong ids of its tasks and
// attempts.
func (r *reader) next() error {
	if err := r.in.Next(r.readJob); err != nil {
		return err
	}
	r.Records++
	return r.finish()
}

func (r *reader) readJob() error {
	j := &r.job
	maps, reduces := j.Maps[:0], j.Reduces[:0]
	*j, r.tries = noJob, 0
	j.Maps, j.Reduces = maps, reduces
	return r.in.Fields(j, r.value)
}

// into reads a value into a field of a job, a task or an attempt.
func (r *reader) into(field any) error {
	switch to := field.(type) {
	case *number:
		return r.number(to)
	case *millis:
		return r.time(to)
	case *outcome:
		return r.outcome(to)
	case *taskID:
		return r.taskID(to)
	case *attemptID:
		return r.attemptID(to)
	case *host:
		return r.host(to)
	case *location:
		return r.location(to)
	case *[]location:
		return r.locations(to)
	case *[]task:
		return r.tasks(to)
	case *[]attempt:
		return r.attempts(to)
	case **usage:
		*to = &usage{CPUMs: unknown, PhysicalBytes: unknown}
		return r.in.Fields(*to, r.value)
	case *properties:
		return r.in.Fields(to, r.value)
	case *otherTasks:
		return r.others()
	}
	return r.in.Skip()
}

func (r *reader) number(to *number) error {
	n, err := r.limited(maxCount, hugeCount)
	*to = number(n)
	return err
}

func (r *reader) time(to *millis) error {
	n, err := r.limited(format.LatestMs, hugeTime)
	*to = millis(n)
	return err
}

// limited reads a number from 0 to the limit most. Any other number becomes -1,
// which means unknown.
func (r *reader) limited(most int64, over mend.Kind) (int64, error) {
	n, ok, err := r.in.Int()
	switch {
	case !ok || err != nil:
		return unknown, err
	case n < unknown:
		return unknown, r.in.MendHere(negative, strconv.FormatInt(n, 10))
	case n > most:
		return unknown, r.in.MendHere(over, strconv.FormatInt(n, 10))
	}
	return n, nil
}

func (r *reader) outcome(to *outcome) error {
	text, ok, err := r.in.Text()
	if !ok || err != nil {
		return err
	}
	if string(text) == "SUCCEEDED" {
		text = []byte("SUCCESS")
	}
	i := slices.Index(outcomes[:], string(text))
	*to = outcome(max(i, 0))
	if i < 0 {
		return r.in.MendHere(oddOutcome, string(text))
	}
	return nil
}

func (r *reader) taskID(to *taskID) error {
	text, _, err := r.in.Text()
	*to, _ = r.parseID(text, "task_")
	return err
}

func (r *reader) attemptID(to *attemptID) error {
	text, _, err := r.in.Text()
	var number []byte
	to.taskID, number = r.parseID(text, "attempt_")
	n, ok := digits(number)
	to.number, to.valid = n, to.valid && ok
	return err
}

// parseID reads the id of a task, "task_TIMESTAMP_JOB_m_INDEX", or of an
// attempt, "attempt_TIMESTAMP_JOB_m_INDEX_NUMBER". It returns the attempt's
// number as text.
func (r *reader) parseID(text []byte, prefix string) (id taskID, number []byte) {
	rest, ok := bytes.CutPrefix(text, []byte(prefix))
	i := bytes.IndexByte(rest, '_')
	k := i + 1 + bytes.IndexByte(rest[i+1:], '_')
	if !ok || i < 0 || k <= i || len(rest) < k+3 || rest[k+2] != '_' || rest[k+1] != 'm' && rest[k+1] != 'r' {
		return id, nil
	}
	if rest[k+1] == 'r' {
		id.kind = traces.Reduce
	}
	index, number, more := bytes.Cut(rest[k+3:], []byte("_"))
	id.job = r.in.Keep(rest[:k])
	id.index, id.valid = digits(index)
	id.valid = id.valid && more == (prefix == "attempt_")
	return id, number
}

func digits(text []byte) (int32, bool) {
	n := int32(0)
	for _, c := range text {
		if c < '0' || c > '9' || n > maxIndex/10 {
			return 0, false
		}
		n = n*10 + int32(c-'0')
	}
	return n, len(text) > 0 && n < maxIndex
}

func (r *reader) host(to *host) error {
	text, _, err := r.in.Text()
	if err == nil {
		*to, err = r.hostAt(text)
	}
	return err
}

// hostAt returns the host with the path "/rack/host" or "host", and adds a new
// host to the cluster.
func (r *reader) hostAt(path []byte) (host, error) {
	h, known := r.hosts[string(path)]
	if known {
		return h, nil
	}
	if h = splitHost(string(path)); h.Name == "" {
		return host{}, nil
	}
	h.Name = r.Racks.Name(h.Name)
	if r.in.Aside {
		r.Racks.Tell(h.Name, h.Rack)
		return h, nil
	}
	r.hosts[string(path)] = h
	return h, r.Host(h.Name, h.Rack)
}

func (r *reader) location(to *location) error {
	r.path = r.path[:0]
	err := r.in.Object(func(key []byte) error {
		if string(key) != "layers" {
			return r.in.Skip()
		}
		return r.in.List(func() error {
			layer, _, err := r.in.Text()
			r.path = append(append(r.path, '/'), layer...)
			return err
		})
	})
	if err != nil {
		return err
	}
	// Rumen writes a host's location as layers, such as rack and host. A location
	// with only one layer names a host without a rack.
	path := r.path
	if bytes.Count(path, []byte("/")) == 1 {
		path = path[1:]
	}
	h, err := r.hostAt(path)
	*to = location(h)
	return err
}

func (r *reader) locations(to *[]location) error {
	return r.in.List(func() error {
		var l location
		err := r.location(&l)
		if l.Name != "" {
			*to = append(*to, l)
		}
		return err
	})
}

func (r *reader) tasks(to *[]task) error {
	return r.in.List(func() error {
		if len(*to) == maxListed {
			return errors.Join(r.in.Mend(manyTasks, r.job.ID), r.in.Skip())
		}
		t := jsonstream.Another(to)
		hosts, attempts := t.Hosts[:0], t.Attempts[:0]
		*t = noTask
		t.Hosts, t.Attempts = hosts, attempts
		return r.in.Fields(t, r.value)
	})
}

func (r *reader) attempts(to *[]attempt) error {
	return r.in.List(func() error {
		if r.tries++; r.tries > maxTries {
			return errors.Join(r.in.Mend(manyTries, r.job.ID), r.in.Skip())
		}
		a := jsonstream.Another(to)
		*a = noAttempt
		return r.in.Fields(a, r.value)
	})
}

// The function others reads the set-up and clean-up tasks of a job, only to
// learn the racks of their hosts.
func (r *reader) others() error {
	tries := r.tries
	r.in.Aside = true
	var list []task
	err := r.tasks(&list)
	r.in.Aside, r.tries = false, tries
	return err
}
