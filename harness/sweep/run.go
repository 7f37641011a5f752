package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"heddle/harness/queues"
	"heddle/harness/results"
	"heddle/harness/runs"
	"heddle/harness/sched"
)

// Files of a sweep's run folder, beside the rows and the table.
const (
	planFile   = "plan.json"
	sourceFile = "sweep.yaml"
	queuesFile = "capacity-scheduler.xml" // of the best setting
)

// Begin makes the run folder of a plan below root. A folder of this name that has the
// same sweep, unfinished, is continued; the plan then has the replays that were added there.
// The argument source is the sweep file.
func Begin(root, name string, p *Plan, source []byte, command []string) (*runs.Run, error) {
	m := runs.Manifest{Command: command, World: runs.WorldSimulated, Seed: p.Seed, Clusters: p.clusters()}
	run, err := runs.New(root, name, "sweep", m)
	if err != nil {
		return nil, err
	}
	was, err := readPlan(run)
	if err == nil {
		err = was.checkBuild()
	}
	if err == nil && (was.MostSeeds != p.MostSeeds || !slices.Equal(was.Metrics, p.Metrics) || !slices.Equal(was.first(), p.first())) {
		err = fmt.Errorf("%w: %s: it has an unfinished sweep of other replays; choose another name, or remove it", runs.ErrExists, run.Dir)
	}
	switch {
	case err == nil:
		was.in = p.in
		*p = *was
		return run, nil
	case !errors.Is(err, fs.ErrNotExist):
		run.Close()
		return nil, err
	}
	err = run.WriteFile(sourceFile, source)
	if err == nil {
		err = p.write(run) // last: with it, the sweep can be continued
	}
	if err != nil {
		return nil, errors.Join(err, run.End(err))
	}
	return run, nil
}

func (p *Plan) write(run *runs.Run) error {
	text, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("write plan: %w", err)
	}
	return run.WriteFile(planFile, append(text, '\n'))
}

// clusters says of each workload which cluster it is on, so that unlike ones are not
// compared.
func (p *Plan) clusters() map[string]map[string]string {
	all := map[string]map[string]string{}
	for i := range p.Replays {
		r := &p.Replays[i]
		if name := p.workload(r); all[name] == nil {
			c := map[string]string{"trace": p.Traces[r.Trace].SHA256}
			for key, value := range p.Settings[r.Setting].Cluster {
				c[key] = value
			}
			all[name] = c
		}
	}
	return all
}

func readPlan(run *runs.Run) (*Plan, error) {
	if _, ok := run.File(planFile); !ok {
		return nil, fmt.Errorf("%w: %s has no %s", fs.ErrNotExist, run.Dir, planFile)
	}
	text, err := run.ReadFile(planFile)
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	p := &Plan{}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", runs.ErrDamaged, filepath.Join(run.Dir, planFile), err)
	}
	return p, p.check()
}

// check refuses a plan whose parts do not fit, since another program may have written it.
func (p *Plan) check() error {
	if len(p.Replays) == 0 || len(p.Replays) > results.MostRows {
		return fmt.Errorf("read plan: %d replays; want 1 to %d", len(p.Replays), results.MostRows)
	}
	if err := p.checkSize(); err != nil {
		return fmt.Errorf("read plan: %w", err)
	}
	for i, r := range p.Replays {
		if r.Trace < 0 || r.Trace >= len(p.Traces) || r.Setting < 0 || r.Setting >= len(p.Settings) {
			return fmt.Errorf("read plan: replay %d has trace %d and setting %d, of %d and %d",
				i, r.Trace, r.Setting, len(p.Traces), len(p.Settings))
		}
		if p.key(&r) != r.Key {
			return fmt.Errorf("read plan: replay %d has the key %s, and is %s by this heddle", i, r.Key, p.key(&r))
		}
	}
	for model, list := range p.Points {
		if slices.ContainsFunc(list, func(i int) bool { return i < 0 || i >= len(p.Settings) }) {
			return fmt.Errorf("read plan: a point of model %s has a setting that is not there", model)
		}
	}
	return nil
}

// Open reads the run folder of a sweep. Its plan says what all of it is.
func Open(dir string) (*runs.Run, *Plan, error) {
	run, err := runs.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	p, err := readPlan(run)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s is no sweep, or one that was ended before it began: %w", dir, err)
	}
	return run, p, err
}

// Where runs replays of a plan somewhere, and calls done with each row, from one goroutine
// at a time. A row may come more than once. It returns an error if replays are left.
type Where func(ctx context.Context, p *Plan, todo []Replay, done func(Row) error) error

// Options are what Run needs.
type Options struct {
	Plan  *Plan
	Run   *runs.Run // which this process owns
	Where Where
	// Progress is called with how many of all replays have a row. It may be nil.
	Progress func(done, all int)
}

// Run runs the replays of a plan that have no row yet, those that the plan's rule for seeds
// adds, and writes the table of results once all have a row. After an error or an interrupt the rows that are known stay, and the
// sweep can be continued.
func Run(ctx context.Context, o Options) (*Rows, error) {
	rows, err := fill(ctx, &o)
	if err == nil {
		err = finish(&o, rows)
	}
	if end := o.Run.End(err); err == nil && end != nil {
		return rows, end
	}
	if err == nil {
		os.Remove(filepath.Join(o.Run.Dir, runs.RowsFile)) // the table has them
	}
	return rows, err
}

func fill(ctx context.Context, o *Options) (*Rows, error) {
	rows := newRows()
	if err := o.Plan.checkBuild(); err != nil {
		return rows, err
	}
	file, err := openRows(o.Run, rows)
	if err != nil {
		return rows, err
	}
	report := func() {
		if o.Progress != nil {
			o.Progress(len(rows.byKey), len(o.Plan.Replays))
		}
	}
	done := func(r Row) error {
		isNew, err := rows.Add(r)
		if err != nil || !isNew {
			return err
		}
		if err := file.add(r); err != nil {
			return err
		}
		report()
		return ctx.Err()
	}
	for more := true; more && err == nil; {
		report()
		err = o.Where(ctx, o.Plan, rows.Todo(o.Plan), done)
		if left := len(rows.Todo(o.Plan)); err == nil && left > 0 {
			err = fmt.Errorf("sweep %s: %d of %d replays have no result", o.Plan.Name, left, len(o.Plan.Replays))
		}
		if err != nil {
			break
		}
		if more, err = o.Plan.extend(rows); more {
			err = o.Plan.write(o.Run)
		}
	}
	return rows, errors.Join(err, file.close())
}

func finish(o *Options, rows *Rows) error {
	trials, err := rows.Trials(o.Plan)
	if err != nil {
		return err
	}
	if err := results.WriteTable(o.Run, trials); err != nil {
		return err
	}
	if !slices.ContainsFunc(o.Plan.Settings, func(s Setting) bool { return s.Model.FollowsQueues() }) {
		return nil
	}
	x, err := report(o.Plan, trials, rows.Digest(o.Plan))
	if err != nil || x.Answers.Best == nil || x.Answers.Best.QueuesFile == "" {
		return err
	}
	m, err := o.Plan.Settings[x.Answers.Best.at].Model.Scheduler(o.Plan.Seed)
	if err != nil {
		return err
	}
	f := sched.QueuesOf(m)
	again, err := queues.Read(strings.NewReader(f.XML()))
	if err == nil && len(f.Differs(again)) > 0 {
		err = errors.New("it reads otherwise than it was written")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", queuesFile, err)
	}
	return o.Run.WriteFile(queuesFile, []byte(f.XML()))
}
