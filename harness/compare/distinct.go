package compare

import (
	"fmt"
	"slices"
	"strings"

	"heddle/harness/measure"
)

// Two trials with one schedule are one observation, however often it was made: the
// same tasks ran on the same nodes at the same times. Simulated repeats can be like
// this, and so can copies of a run folder. All statistics count them once.

// digestOf returns the digest of a trial's schedule, "" if the schedule is not known.
func digestOf(m *measure.Figures) string {
	if strings.Trim(m.ScheduleDigest, "0") == "" {
		return ""
	}
	return m.ScheduleDigest
}

// joinDigests returns the digest of several workloads' trials together. The order of
// the list makes no difference.
func joinDigests(list []string) string {
	if slices.ContainsFunc(list, func(d string) bool { return strings.HasSuffix(d, " ") }) {
		return "" // one of them is not known
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}

// schedule identifies the schedule of a trial among those of a comparison.
type schedule struct{ model, workload, digest string }

func (t *trial) schedule() schedule { return schedule{t.model, t.workload, t.digest} }

// distinct returns the first trial of each schedule. Trials whose schedule is not
// known are all kept.
func distinct(trials []trial) []trial {
	seen := map[schedule]bool{}
	var list []trial
	for _, t := range trials {
		if t.digest == "" || !seen[t.schedule()] {
			seen[t.schedule()] = true
			list = append(list, t)
		}
	}
	return list
}

// distinctPairs returns those trials of two models that belong to the same run and repeat, as pairs a[i], b[i],
// if they have no schedule in common with a pair before. The result again counts the trials of the others.
func distinctPairs(as, bs []trial) (a, b []trial, again int) {
	seen := map[schedule]bool{}
	for _, x := range as {
		i := slices.IndexFunc(bs, func(y trial) bool { return y.run == x.run && y.repeat == x.repeat })
		if i < 0 {
			continue
		}
		s, t := x.schedule(), bs[i].schedule()
		if s.digest != "" && seen[s] || t.digest != "" && seen[t] {
			again += 2
			continue
		}
		seen[s], seen[t] = true, true
		a, b = append(a, x), append(b, bs[i])
	}
	return a, b, again
}

// equalSchedules returns a warning for each model and workload with trials that are
// counted once, since their schedules are equal.
func equalSchedules(trials []trial) []string {
	var list []string
	for _, model := range modelsOf(trials) {
		for _, w := range workloadsOf(under(trials, model)) {
			of := only(under(trials, model), w)
			switch n := len(distinct(of)); n {
			case len(of):
			case 1:
				list = append(list, fmt.Sprintf("%s under %s: %d trials have one and the same schedule, by its digest, and count as 1 repeat", w,
					model, len(of)))
			default:
				list = append(list, fmt.Sprintf("%s under %s: %d trials have only %d different schedules, by their digests, and count as %d "+
					"repeats", w, model, len(of), n, n))
			}
		}
	}
	return list
}

// series returns a warning for each model whose trials go on with what the model had
// learnt in the trial before.
func series(trials []trial) []string {
	var list []string
	for _, model := range modelsOf(trials) {
		if slices.ContainsFunc(trials, func(t trial) bool { return t.model == model && t.goesOn }) {
			list = append(list, model+" keeps what it learns from trial to trial: its trials are a series and no independent repeats, so "+
				"intervals and p-values say too little; "+
				"--where 'repeat!=1' leaves out the first, and a run of the same file with state: fresh shows what the state is worth")
		}
	}
	return list
}
