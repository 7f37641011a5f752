package rumen

import (
	"errors"
	"fmt"
	"strings"

	"heddle/traces"
	"heddle/traces/format"
)

// finish replaces wrong ids of a job that was read, of its tasks and of its
// attempts.
func (r *reader) finish() error {
	j := &r.job
	part, named := strings.CutPrefix(j.ID, "job_")
	id, err := r.JobID(j.ID, func() error { return r.in.Mend(format.JobAgain, j.ID) })
	if err == nil && j.ID == "" {
		err = r.in.Mend(noJobID, string(id))
	}
	if err != nil {
		return err
	}
	j.ID = string(id)
	if !named {
		part = j.idPart()
		if part != "" && part != strings.TrimPrefix(j.ID, "job_") {
			if err := r.in.Mend(foreignIDs, j.ID); err != nil {
				return err
			}
		}
	}
	return errors.Join(r.finishTasks(j.Maps, traces.Map, part), r.finishTasks(j.Reduces, traces.Reduce, part))
}

// idPart returns the part of a task id that names the job, such as
// "1400000000000_0001". It takes it from the first valid task id of the job.
func (j *job) idPart() string {
	for _, tasks := range [...][]task{j.Maps, j.Reduces} {
		for i := range tasks {
			if tasks[i].ID.valid {
				return tasks[i].ID.job
			}
		}
	}
	return ""
}

// finishTasks gives tasks and attempts the numbers in their ids. A task or
// attempt with a wrong id gets its position in the list as its number.
func (r *reader) finishTasks(tasks []task, kind traces.TaskKind, part string) error {
	for i := range tasks {
		t := &tasks[i]
		known := t.ID.valid && t.ID.kind == kind && t.ID.job == part
		if !known {
			t.ID.index = int32(i)
			if err := r.in.Mend(foreignTask, fmt.Sprintf("%s, task %d", r.job.ID, i)); err != nil {
				return err
			}
		}
		for k := range t.Attempts {
			a := &t.Attempts[k]
			if a.ID.valid && a.ID.kind == kind && a.ID.job == part && (!known || a.ID.index == t.ID.index) {
				continue
			}
			a.ID.number = int32(k)
			if err := r.in.Mend(foreignTry, fmt.Sprintf("%s, task %d, attempt %d", r.job.ID, i, k)); err != nil {
				return err
			}
		}
		if err := unique(t.Attempts, func(a *attempt) *int32 { return &a.ID.number }, func(number int32) error {
			return r.in.Mend(tryAgain, fmt.Sprintf("%s, task %d, attempt %d", r.job.ID, i, number))
		}); err != nil {
			return err
		}
	}
	return unique(tasks, func(t *task) *int32 { return &t.ID.index }, func(index int32) error {
		return r.in.Mend(taskAgain, fmt.Sprintf("%s, task %d", r.job.ID, index))
	})
}

// unique makes the task indexes or attempt numbers in a list unique: a number
// that comes again is replaced by the greatest number plus one. It returns at
// once if the numbers ascend, as they mostly do.
func unique[T any](list []T, number func(*T) *int32, again func(int32) error) error {
	ascending, top := true, int32(-1)
	for i := range list {
		n := *number(&list[i])
		ascending = ascending && n > top
		top = max(top, n)
	}
	if ascending {
		return nil
	}
	seen := make(map[int32]bool, len(list))
	for i := range list {
		n := number(&list[i])
		if seen[*n] {
			if err := again(*n); err != nil {
				return err
			}
			top++
			*n = top
		}
		seen[*n] = true
	}
	return nil
}
