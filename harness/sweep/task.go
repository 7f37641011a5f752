package sweep

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"heddle/harness/internal/cputime"
)

// RunTask runs the replays of a map, with the given index, and writes their rows as lines.
// It reads the job's task in the working folder. What it says on report is for Hadoop
// Streaming: counters, which also tell that the map is alive.
func RunTask(ctx context.Context, task io.Reader, index int, out, report io.Writer) error {
	var t Task
	if err := json.NewDecoder(task).Decode(&t); err != nil {
		return fmt.Errorf("read the sweep's task: %w", err)
	}
	if t.Plan == nil || index >= len(t.Chunks) {
		return fmt.Errorf("read the sweep's task: it has no plan, or not the replays of map %d", index)
	}
	if err := errors.Join(t.Plan.check(), t.Plan.checkBuild()); err != nil {
		return err
	}
	var todo []Replay
	for _, i := range t.Chunks[index] {
		if i < 0 || i >= len(t.Plan.Replays) {
			return fmt.Errorf("read the sweep's task: map %d has the replay %d, of %d", index, i, len(t.Plan.Replays))
		}
		todo = append(todo, t.Plan.Replays[i])
	}
	if t.MemoryBytes > 0 {
		debug.SetMemoryLimit(t.MemoryBytes)
	}
	w, before := bufio.NewWriter(out), time.Duration(0)
	err := Local(ctx, t.Plan, todo, func(r Row) error {
		line, err := r.line()
		if err == nil {
			_, err = w.Write(line)
		}
		if err == nil {
			err = w.Flush()
		}
		now := cputime.Used()
		fmt.Fprintf(report, "reporter:counter:heddle,replays,1\nreporter:counter:heddle,cpuMs,%d\n", (now - before).Milliseconds())
		before = now
		return err
	})
	return err
}
