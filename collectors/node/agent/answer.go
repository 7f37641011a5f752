package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"

	"heddle/collectors/node"
)

// Limits of what an agent's answer may hold. They are far above what a real node
// has, and so small that sums of figures fit into 64 bits and into a trace.
const (
	maxTextRunes  = 200     // of a text, such as the name of a disk
	maxErrorRunes = 400     // of an error of this machine that quotes the agent
	maxCursor     = 64      // bytes of a cursor
	maxParts      = 4096    // cores, disks or interfaces of a node
	maxCores      = 1 << 16 // cores' worth of CPU use
	maxFigure     = 1 << 44 // rates, numbers of requests, tasks and packets
	maxBytes      = 1 << 52 // bytes of memory
	maxNs         = 1 << 58 // time in ns: 9 years
	// minListItemBytes is the least length of an item of JSON that an agent writes,
	// on average. Answers of shorter items would take many times their length in
	// memory.
	minListItemBytes = 8
)

// maxOffset is the largest difference between the clocks of a node and of this
// machine that is reported.
const maxOffset = 365 * 24 * time.Hour

// reply is what came back from the agent's address.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r reply) media() string {
	media, _, _ := mime.ParseMediaType(r.header.Get("Content-Type"))
	return printable(media, maxTextRunes)
}

// statusText is the reply's status in the words of this machine.
func (r reply) statusText() string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", r.status, http.StatusText(r.status)))
}

// refusal returns why the agent refused the request, if it says so.
func (r reply) refusal() string {
	var said refusal
	if decode(r.body, &said) != nil {
		return ""
	}
	return printable(said.Error, maxTextRunes)
}

// printable returns a text in which each character that is not printable, such
// as one that a terminal would obey, is replaced by "?". The text is cut to at
// most so many characters.
func printable(s string, most int) string {
	var b strings.Builder
	for _, c := range s {
		if most--; most < 0 {
			b.WriteString("…")
			break
		}
		if !unicode.IsPrint(c) || c == unicode.ReplacementChar {
			c = '?'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// decode decodes the JSON of an answer, unless it would take far more memory
// than the answer has bytes.
func decode(body []byte, into any) error {
	if items := bytes.Count(body, []byte{','}); items > 64+len(body)/minListItemBytes {
		return fmt.Errorf("%w: %d items in %d bytes", ErrBadAnswer, items, len(body))
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%w: %s", ErrBadAnswer, printable(err.Error(), maxTextRunes))
	}
	return nil
}

func decodeInfo(body []byte) (Info, error) {
	var info Info
	if err := decode(body, &info); err != nil {
		return Info{}, err
	}
	clean(&info.Node, &info.Version, &info.Hostname, &info.Kernel, &info.Mode, &info.Cgroup, &info.NoDropCaches)
	var r ranges
	r.whole("cpus", int64(info.CPUs), maxCores)
	r.count("memoryBytes", info.MemoryBytes, maxBytes)
	r.whole("intervalMs", info.IntervalMs, maxNs)
	r.whole("keptSamples", int64(info.KeptSamples), math.MaxInt32)
	r.whole("nowWallNs", info.NowWallNs, math.MaxInt64/2)
	r.whole("nowMonoNs", info.NowMonoNs, maxNs)
	if info.Clock != nil {
		r.whole("clock.maxErrorUs", info.Clock.MaxErrorUs, maxNs)
	}
	return info, r.err
}

func decodeDropped(body []byte) (node.Dropped, error) {
	var d node.Dropped
	if err := decode(body, &d); err != nil {
		return node.Dropped{}, err
	}
	clean(&d.Scope, &d.How)
	var r ranges
	r.count("beforeBytes", d.BeforeBytes, maxBytes)
	r.count("afterBytes", d.AfterBytes, maxBytes)
	return d, r.err
}

// decodePage decodes a page of samples. It leaves out samples that no agent
// could have taken, and counts them.
func decodePage(body []byte) (Page, error) {
	var raw encodedPage
	if err := decode(body, &raw); err != nil {
		return Page{}, err
	}
	if len(raw.Samples) > maxPage {
		return Page{}, fmt.Errorf("%w: %d samples, want at most %d", ErrBadAnswer, len(raw.Samples), maxPage)
	}
	if raw.Next == "" || len(raw.Next) > maxCursor || printable(string(raw.Next), maxCursor) != string(raw.Next) {
		return Page{}, fmt.Errorf("%w: no cursor for the next answer in it", ErrBadAnswer)
	}
	p := Page{Samples: []node.Sample{}, Next: raw.Next, More: raw.More, Lost: raw.Lost, Restarted: raw.Restarted}
	for i, encoded := range raw.Samples {
		var s node.Sample
		err := decode(encoded, &s)
		if err == nil {
			err = checkSample(&s)
		}
		if err == nil && len(p.Samples) > 0 && s.Seq <= p.Samples[len(p.Samples)-1].Seq {
			err = fmt.Errorf("%w: seq %d after seq %d", ErrBadAnswer, s.Seq, p.Samples[len(p.Samples)-1].Seq)
		}
		if err != nil {
			p.Refused++
			if p.WhyRefused == nil {
				p.WhyRefused = fmt.Errorf("sample %d of a page: %w", i+1, err)
			}
			continue
		}
		p.Samples = append(p.Samples, s)
	}
	return p, nil
}

// checkSample returns an error if a figure of the sample is out of its range,
// and makes the sample's texts printable.
func checkSample(s *node.Sample) error {
	if s.Seq == 0 {
		return fmt.Errorf("%w: seq is 0", ErrBadAnswer)
	}
	if len(s.Cores) > maxParts || len(s.Disks) > maxParts || len(s.Networks) > maxParts || len(s.Absent) > maxParts {
		return fmt.Errorf("%w: %d cores, %d disks, %d interfaces; want at most %d", ErrBadAnswer, len(s.Cores), len(s.Disks), len(s.Networks), maxParts)
	}
	var r ranges
	r.whole("wallNs", s.WallNs, math.MaxInt64/2)
	r.whole("monoNs", s.MonoNs, maxNs)
	r.whole("intervalNs", s.IntervalNs, maxNs)
	if s.CPU != nil {
		r.cpu(s.CPU)
	}
	for i := range s.Cores {
		r.cpu(&s.Cores[i])
	}
	if q := s.Quota; q != nil {
		r.maybe("quota.limitCores", q.LimitCores, maxCores)
		r.count("quota.periods", q.Periods, maxFigure)
		r.count("quota.throttledPeriods", q.ThrottledPeriods, maxFigure)
		r.count("quota.throttledNs", q.ThrottledNs, maxNs)
	}
	if l := s.Load; l != nil {
		r.figure("load.load1", l.Load1, maxFigure)
		r.figure("load.load5", l.Load5, maxFigure)
		r.figure("load.load15", l.Load15, maxFigure)
		if l.Tasks != nil {
			r.whole("load.tasks", int64(*l.Tasks), maxFigure)
		}
	}
	if s.Memory != nil {
		r.memory(s.Memory)
	}
	for i := range s.Disks {
		r.disk(&s.Disks[i])
	}
	for i := range s.Networks {
		r.network(&s.Networks[i])
	}
	absent := make(map[string]string, len(s.Absent))
	for group, why := range s.Absent {
		absent[printable(group, maxTextRunes)] = printable(why, maxTextRunes)
	}
	if s.Absent != nil {
		s.Absent = absent
	}
	return r.err
}

func clean(texts ...*string) {
	for _, t := range texts {
		*t = printable(*t, maxTextRunes)
	}
}

// ranges checks figures against their ranges, which begin at 0, and keeps the
// first error.
type ranges struct{ err error }

func (r *ranges) figure(name string, v, most float64) {
	if !(v >= 0 && v <= most) && r.err == nil { // NaN is in no range
		r.err = fmt.Errorf("%w: %s is %g, want 0 to %g", ErrBadAnswer, name, v, most)
	}
}

func (r *ranges) maybe(name string, v *float64, most float64) {
	if v != nil {
		r.figure(name, *v, most)
	}
}

func (r *ranges) whole(name string, v, most int64) {
	if (v < 0 || v > most) && r.err == nil {
		r.err = fmt.Errorf("%w: %s is %d, want 0 to %d", ErrBadAnswer, name, v, most)
	}
}

func (r *ranges) count(name string, v, most uint64) {
	if v > most && r.err == nil {
		r.err = fmt.Errorf("%w: %s is %d, want 0 to %d", ErrBadAnswer, name, v, most)
	}
}

func (r *ranges) cpu(c *node.CPU) {
	r.figure("userCores", c.UserCores, maxCores)
	r.figure("systemCores", c.SystemCores, maxCores)
	r.maybe("idleCores", c.IdleCores, maxCores)
	r.maybe("iowaitCores", c.IowaitCores, maxCores)
	r.maybe("stealCores", c.StealCores, maxCores)
}

func (r *ranges) memory(m *node.Memory) {
	for _, f := range []struct {
		name string
		v    uint64
	}{
		{"totalBytes", m.TotalBytes}, {"freeBytes", m.FreeBytes}, {"availableBytes", m.AvailableBytes},
		{"cachedBytes", m.CachedBytes}, {"shmemBytes", m.ShmemBytes}, {"dirtyBytes", m.DirtyBytes}, {"pageCacheBytes", m.PageCacheBytes},
	} {
		r.count("memory."+f.name, f.v, maxBytes)
	}
	if m.BuffersBytes != nil {
		r.count("memory.buffersBytes", *m.BuffersBytes, maxBytes)
	}
}

func (r *ranges) disk(d *node.Disk) {
	clean(&d.Device)
	if d.Device == "" && r.err == nil {
		r.err = fmt.Errorf("%w: a disk without a name", ErrBadAnswer)
	}
	r.figure("disks.readBytesPerSec", d.ReadBytesPerSec, maxFigure)
	r.figure("disks.writeBytesPerSec", d.WriteBytesPerSec, maxFigure)
	r.figure("disks.readsPerSec", d.ReadsPerSec, maxFigure)
	r.figure("disks.writesPerSec", d.WritesPerSec, maxFigure)
	if d.InFlight != nil {
		r.count("disks.inFlight", *d.InFlight, maxFigure)
	}
	r.maybe("disks.queueMean", d.QueueMean, maxFigure)
	r.maybe("disks.busyFraction", d.BusyFraction, maxFigure)
}

func (r *ranges) network(n *node.Network) {
	clean(&n.Interface)
	if n.Interface == "" && r.err == nil {
		r.err = fmt.Errorf("%w: an interface without a name", ErrBadAnswer)
	}
	r.figure("networks.receiveBytesPerSec", n.ReceiveBytesPerSec, maxFigure)
	r.figure("networks.transmitBytesPerSec", n.TransmitBytesPerSec, maxFigure)
	r.figure("networks.receivePacketsPerSec", n.ReceivePacketsPerSec, maxFigure)
	r.figure("networks.transmitPacketsPerSec", n.TransmitPacketsPerSec, maxFigure)
	r.count("networks.receiveErrors", n.ReceiveErrors, maxFigure)
	r.count("networks.transmitErrors", n.TransmitErrors, maxFigure)
	r.count("networks.receiveDrops", n.ReceiveDrops, maxFigure)
	r.count("networks.transmitDrops", n.TransmitDrops, maxFigure)
}
