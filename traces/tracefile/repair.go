package tracefile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"heddle/traces/outfile"
)

// Repaired is the result of repairing a trace with Repair.
type Repaired struct {
	From string `json:"from"`
	// To is the path of the repaired file. It is empty if the trace was not
	// damaged, since no file is written then.
	To     string `json:"to"`
	Events int64  `json:"events"` // number of events in the repaired file
	Blocks int64  `json:"blocks"` // number of blocks in the repaired file
	// LostEvents is the number of events that are known to be missing. LostTail
	// is true if the end of the trace is missing; then more events may be lost.
	LostEvents int64     `json:"lostEvents"`
	LostTail   bool      `json:"lostTail"`
	Damage     []Finding `json:"damage"`
}

// String says in words how much of the trace is lost.
func (r Repaired) String() string {
	var parts []string
	if r.LostEvents > 0 {
		parts = append(parts, fmt.Sprintf("%d events are lost", r.LostEvents))
	}
	if r.LostTail {
		parts = append(parts, "what came after the last whole block is lost")
	}
	if len(parts) == 0 {
		parts = append(parts, "no event is lost")
	}
	return strings.Join(parts, ", ")
}

// Repair copies the undamaged blocks of a trace to a new file. The footer of the
// new file says that the trace is not complete. The blocks are copied unchanged,
// so that events that only newer versions of heddle know are kept.
func Repair(from, to string) (Repaired, error) {
	r := Repaired{From: from, Damage: []Finding{}}
	before, err := Check(from)
	if err != nil {
		return r, err
	}
	if len(before.Damage) == 0 {
		r.Events, r.Blocks = before.Events, before.Blocks
		return r, nil
	}
	if line := before.Damage[0].Line; line > 0 {
		return r, fmt.Errorf("repair trace %s: it is in JSON Lines: delete line %d and all others that \"heddle trace check\" names", from, line)
	}
	if err := outfile.Absent(to); err != nil {
		return r, fmt.Errorf("repair trace: %w", err)
	}
	in, err := os.Open(from)
	if err != nil {
		return r, fmt.Errorf("repair trace: %w", err)
	}
	defer in.Close()
	err = replaceFile(to, func(out *os.File) error {
		return repair(bufio.NewReaderSize(in, 1<<18), out, to, &r)
	})
	if err == nil {
		r.To = to
	}
	return r, err
}

func repair(in *bufio.Reader, out io.Writer, to string, r *Repaired) error {
	scan, err := newScanner(in, r.From)
	if err != nil {
		return err
	}
	write := func(b []byte) error {
		if _, err := out.Write(b); err != nil {
			return &WriteError{Path: to, Err: err}
		}
		return nil
	}
	if err := write(appendFileFrame(nil, scan.version)); err != nil {
		return err
	}
	total, expected := newTally(), uint64(0)
	for {
		b, err := scan.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if damage, ok := errors.AsType[*DamageError](err); ok {
			r.Damage = append(r.Damage, damage.finding())
			continue
		}
		if err != nil {
			return err
		}
		if r.Blocks == 0 && (len(b.records) == 0 || b.records[0] != recordHeader) {
			return fmt.Errorf("repair trace %s: its header is lost: nothing can be kept", r.From)
		}
		if !readable(b, total) {
			r.Damage = append(r.Damage, Finding{Offset: b.offset, What: "bad record"})
			continue
		}
		if b.head.before > expected {
			r.LostEvents += int64(b.head.before - expected)
		}
		expected = b.head.before + uint64(b.head.events)
		b.head.before = uint64(r.Events)
		r.Events += int64(b.head.events)
		r.Blocks++
		stored := b.stored[len(b.stored)-int(b.head.storedBytes):]
		if err := write(append(b.head.append(nil), stored...)); err != nil {
			return err
		}
	}
	if r.Blocks == 0 {
		return fmt.Errorf("repair trace %s: it has no whole block: nothing can be kept", r.From)
	}
	if scan.footer == nil {
		r.LostTail = true
	} else if n := uint64(scan.footer.Events); n > expected {
		r.LostEvents += int64(n - expected)
	}
	footer, err := total.result(false, "repaired: "+r.String()).append(nil)
	if err != nil {
		return err
	}
	return write(footer)
}

// readable reports whether all records of a block can be read. If so, it adds
// their events to the counts in total.
func readable(b block, total *tally) bool {
	for _, t := range []*tally{newTally(), total} {
		end := &scanner{in: bufio.NewReaderSize(strings.NewReader(""), 16), footer: &Footer{}}
		src := &records{scan: end, started: true}
		src.dec.reset(b.records)
		e, err := src.next()
		for ; err == nil; e, err = src.next() {
			t.add(e)
		}
		if !errors.Is(err, io.EOF) {
			return false
		}
		t.addForeign(src)
	}
	return true
}
