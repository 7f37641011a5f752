package sweep

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"heddle/harness/results"
	"heddle/harness/runs"
)

// Row is the result of one replay, as a line of a file: with the replay's key, and the
// digest by which equal results are known and damaged lines are found.
type Row struct {
	Key    string          `json:"key"`
	SHA256 string          `json:"sha256"` // of Key and Trial
	Trial  json.RawMessage `json:"trial"`  // a results.Trial
}

// newRow returns the row of a trial.
func newRow(key string, t results.Trial) (Row, error) {
	text, err := json.Marshal(&t)
	if err != nil {
		return Row{}, fmt.Errorf("write row %s: %w", t.Name, err)
	}
	return Row{Key: key, SHA256: digest([]byte(key), text), Trial: text}, nil
}

// digest returns the SHA-256 of texts, each with its length.
func digest(texts ...[]byte) string {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintln(h, len(text))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// line returns the row as a line.
func (r *Row) line() ([]byte, error) {
	text, err := json.Marshal(r)
	return append(text, '\n'), err
}

// parseRow reads a line. A line that was cut off or changed is an error.
func parseRow(line []byte) (r Row, err error) {
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("read row: %w", err)
	}
	if r.Key == "" || r.SHA256 != digest([]byte(r.Key), r.Trial) {
		return r, errors.New("read row: its digest is not that of its result")
	}
	return r, nil
}

// errUnlike says that one replay gave two results. Replays are deterministic, so another
// heddle made one of them, or a machine counts wrong.
var errUnlike = errors.New("one replay has two different results")

// Rows are the rows of a plan's replays, each at most once.
type Rows struct {
	byKey map[string]Row
	// Damaged counts lines that were cut off or changed; their replays run again.
	Damaged int
}

func newRows() *Rows { return &Rows{byKey: map[string]Row{}} }

// Add adds a row. It reports whether the row is new. A row that is there has to
// be equal; else the error is errUnlike.
func (s *Rows) Add(r Row) (isNew bool, err error) {
	old, known := s.byKey[r.Key]
	if known && old.SHA256 != r.SHA256 {
		return false, fmt.Errorf("%w: replay %s: digests %.12s and %.12s", errUnlike, r.Key, old.SHA256, r.SHA256)
	}
	s.byKey[r.Key] = r
	return !known, nil
}

// Read adds the rows of a file's lines. Lines that are damaged, such as a last one that
// was cut off when its writer was killed, lose only themselves.
func (s *Rows) Read(in io.Reader) error {
	lines := bufio.NewReaderSize(in, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if row, perr := parseRow(line); perr != nil {
				s.Damaged++
			} else if _, err := s.Add(row); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read rows: %w", err)
		}
	}
}

// Todo returns the replays of a plan that have no row.
func (s *Rows) Todo(p *Plan) (list []Replay) {
	for _, r := range p.Replays {
		if _, known := s.byKey[r.Key]; !known {
			list = append(list, r)
		}
	}
	return list
}

// Trials returns the results of a plan's replays in the plan's order, without those that
// have no row yet.
func (s *Rows) Trials(p *Plan) ([]results.Trial, error) {
	var list []results.Trial
	for _, r := range p.Replays {
		row, known := s.byKey[r.Key]
		if !known {
			continue
		}
		var t results.Trial
		if err := json.Unmarshal(row.Trial, &t); err != nil || t.Figures == nil || len(t.Held) != len(p.Thresholds) {
			return nil, fmt.Errorf("read row %s: no result of a replay: %w", r.Key, err)
		}
		list = append(list, t)
	}
	return list, nil
}

// Digest returns the SHA-256 of the keys and results of a plan's replays, in the plan's
// order. It does not depend on where and in which order they ran.
func (s *Rows) Digest(p *Plan) string {
	h := sha256.New()
	for _, r := range p.Replays {
		row, known := s.byKey[r.Key]
		if known {
			fmt.Fprintln(h, row.Key, row.SHA256)
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// rowsFile appends rows to a file of a run folder. Each row is written at once and whole:
// a process that is killed loses none that it has written.
type rowsFile struct{ f *os.File }

// openRows reads the rows that a run folder has, and opens its file of rows to append
// more. A last line that was cut off gets an end, so that it spoils no other.
func openRows(run *runs.Run, rows *Rows) (*rowsFile, error) {
	f, err := os.OpenFile(filepath.Join(run.Dir, runs.RowsFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open rows: %w", err)
	}
	err = rows.Read(f)
	if err == nil {
		err = endLine(f)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open rows: %w", err)
	}
	return &rowsFile{f}, nil
}

// endLine moves to the end of a file, and ends its last line if that was cut off.
func endLine(f *os.File) error {
	n, err := f.Seek(0, io.SeekEnd)
	if err != nil || n == 0 {
		return err
	}
	last := make([]byte, 1)
	if _, err := f.ReadAt(last, n-1); err != nil {
		return err
	}
	if last[0] != '\n' {
		_, err = f.WriteString("\n")
	}
	return err
}

func (w *rowsFile) add(r Row) error {
	line, err := r.line()
	if err == nil {
		_, err = w.f.Write(line)
	}
	if err != nil {
		return runs.Explain(w.f.Name(), 0, fmt.Errorf("write row: %w", err))
	}
	return nil
}

func (w *rowsFile) close() error {
	err := errors.Join(w.f.Sync(), w.f.Close())
	if errors.Is(err, fs.ErrClosed) {
		return nil
	}
	return err
}
