package replay

import "heddle/traces"

// What follows is a trace in figures, measured and simulated alike.

// CompletionMs is the mean time of jobs from submission to end, of those that
// succeeded; 0 where none did.
func (t *Trace) CompletionMs() float64 {
	sum, n := 0.0, 0
	for _, j := range t.Jobs {
		if j.Outcome == traces.Succeeded {
			sum += float64(j.Finished-j.T) / 1e6
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// MakespanMs is from the first submission to the last job's end.
func (t *Trace) MakespanMs() float64 {
	var last traces.Time
	for _, j := range t.Jobs {
		last = max(last, j.Finished)
	}
	return float64(max(0, last-t.Jobs[0].T)) / 1e6
}

// DurationsMs are how long the attempts that won took, reduces from the last map
// on if they started before it.
func (t *Trace) DurationsMs(kind traces.TaskKind) []float64 {
	var list []float64
	for _, s := range t.samples() {
		if s.kind == kind {
			list = append(list, s.tookMs)
		}
	}
	return list
}

// Mix is the share of maps, 0 to 1, that won at each level.
func (t *Trace) Mix() [traces.LevelOff + 1]float64 {
	var mix [traces.LevelOff + 1]float64
	n := 0.0
	for _, j := range t.Jobs {
		for i := range j.Tasks[traces.Map] {
			if a := j.Tasks[traces.Map][i].Won; a != nil && a.Level.Valid() {
				mix[a.Level]++
				n++
			}
		}
	}
	for l := range mix {
		mix[l] /= max(1, n)
	}
	return mix
}
