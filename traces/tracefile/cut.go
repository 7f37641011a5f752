package tracefile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"heddle/traces"
	"heddle/traces/outfile"
)

// Piece selects some jobs of a trace, for the function Cut, which copies them.
type Piece struct {
	// From and To limit the selection to jobs submitted at a time T with From <=
	// T < To. If To is 0, there is no upper limit.
	From, To traces.Time
	// Jobs are the ids of the jobs to select; empty means all jobs.
	Jobs []traces.JobID
}

// Cut copies the events of the selected jobs to a new trace file. Events of
// nodes and blocks are copied up to the last event of those jobs. Times do not
// change. Cut returns the number of selected jobs.
func Cut(from, to string, piece Piece) (int, error) {
	if err := outfile.Absent(to); err != nil {
		return 0, fmt.Errorf("cut trace: %w", err)
	}
	jobs, last, err := piece.choose(from)
	if err != nil {
		return 0, err
	}
	if len(jobs) == 0 {
		return 0, fmt.Errorf("cut trace %s: no job of it is in that piece: \"heddle trace info\" lists them", from)
	}
	sum, err := SHA256(from)
	if err != nil {
		return 0, err
	}
	in, err := Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	h := in.Header()
	h.Inputs = append(slices.Clip(h.Inputs), traces.Input{Name: filepath.Base(from), SHA256: sum})
	return len(jobs), replaceFile(to, func(f *os.File) error {
		w, err := newWriter(f, to, h)
		if err != nil {
			return err
		}
		decisions := map[int64]bool{}
		for e := range in.All() {
			keep := e.At() <= last
			if job := traces.JobOf(e); job != "" {
				keep = jobs[job]
			}
			switch e := e.(type) {
			case *traces.Decision:
				decisions[e.ID] = keep
			case *traces.Actuation:
				keep = decisions[e.Decision]
			}
			if !keep {
				continue
			}
			if err := w.Write(e); err != nil {
				return err
			}
		}
		if err := in.Err(); err != nil {
			return err
		}
		return w.Close()
	})
}

// choose returns the jobs of the trace file that the Piece p selects, and the
// time of the last event of these jobs.
func (p Piece) choose(path string) (map[traces.JobID]bool, traces.Time, error) {
	in, err := Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer in.Close()
	jobs, last := map[traces.JobID]bool{}, traces.Time(math.MinInt64)
	to := cmp.Or(p.To, math.MaxInt64)
	for e := range in.All() {
		job, comes := traces.JobOf(e), e.Kind().Begins()
		if comes && p.From <= e.At() && e.At() < to && (len(p.Jobs) == 0 || slices.Contains(p.Jobs, job)) {
			jobs[job] = true
		}
		if jobs[job] {
			last = max(last, e.At())
		}
	}
	return jobs, last, in.Err()
}

// SHA256 returns the SHA-256 of a trace file's bytes, in hexadecimal digits.
func SHA256(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("hash trace: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("hash trace %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
