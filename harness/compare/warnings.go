package compare

import (
	"fmt"
	"slices"
	"strings"

	"heddle/harness/measure"
	"heddle/harness/stats"
	"heddle/traces"
)

// MadeUp returns the parts of the trials' traces that were made up or computed, and not
// recorded.
func (r *Report) MadeUp() []string { return slices.Concat(madeUp(r.trials)) }

// madeUp returns the parts of traces that an import made up, and those that replays of
// recorded traces computed instead of taking them from there. What a simulation makes, such
// as a schedule, is its result.
func madeUp(trials []trial) (imported, computed []string) {
	recorded := map[string][]string{} // by workload, what was not recorded in the trace itself
	others := []string{}              // in any of the traces, for replays of one that does not stand beside them
	for _, t := range trials {
		if isRecording(t.model) {
			recorded[t.workload] = append([]string{}, t.figures[0].Synthetic...)
			others = append(others, recorded[t.workload]...)
		}
	}
	of := func(workload string) []string {
		if was := recorded[workload]; was != nil || len(recorded) == 0 {
			return was
		}
		return others
	}
	for _, t := range trials {
		for _, f := range t.figures {
			if slices.Contains(f.Synthetic, "input") { // a workload that was simulated from its description, without a trace
				continue
			}
			for _, part := range f.Synthetic {
				to := &imported
				if was := of(t.workload); was != nil && f.Origin == traces.Simulated && !slices.Contains(was, part) {
					to = &computed
				}
				if result := part == "schedule" && f.Origin == traces.Simulated; !result && !slices.Contains(*to, part) {
					*to = append(*to, part)
				}
			}
		}
	}
	slices.Sort(imported)
	slices.Sort(computed)
	return imported, computed
}

// madeUpWarning says which figures rest on what was made up or computed.
func madeUpWarning(trials []trial) (list []string) {
	imported, computed := madeUp(trials)
	if len(imported) > 0 {
		list = append(list, fmt.Sprintf("made up, not recorded: %s; figures that rest on them follow from the rules of the import, "+
			"not from a cluster", strings.Join(imported, ", ")))
	}
	if len(computed) > 0 {
		list = append(list, fmt.Sprintf("computed in the replays, not taken from the recorded trace: %s; figures that rest on them follow "+
			"from the costs that the replays were given (--calibration)", strings.Join(computed, ", ")))
	}
	return list
}

// starved says of each workload whether reduces held all slots while maps waited.
func (r *Report) starved() (list []string) {
	for _, w := range r.Workloads() {
		var all []*measure.Figures
		for _, t := range only(r.trials, w) {
			for _, f := range t.figures {
				all = append(all, &measure.Figures{Model: t.model, StarvedMs: f.StarvedMs, MakespanMs: f.MakespanMs})
			}
		}
		if text := measure.StarvedText(all...); text != "" {
			list = append(list, w+": "+text)
		}
	}
	return list
}

// heldUp says how long the trials of a model stood still, since that and not the model is part of a difference.
func (r *Report) heldUp(model string) string {
	var lost []float64
	for _, t := range r.trials {
		for _, f := range t.figures {
			if t.model == model {
				lost = append(lost, f.StarvedMs/1000)
			}
		}
	}
	if r.Unit != "s" || len(lost) == 0 || slices.Max(lost) < 1 {
		return ""
	}
	return fmt.Sprintf(" %s lost %.1f s by reduces that held all slots (mean; at most %.1f s), which is part of the difference.", model,
		stats.Mean(lost).Value, slices.Max(lost))
}

// warnings collects warnings. A warning that several models or pairs have is
// given once.
type warnings struct {
	texts []string
	about map[string][]string
}

func (w *warnings) add(format string, args ...any) {
	w.from("", []string{fmt.Sprintf(format, args...)})
}

func (w *warnings) from(about string, texts []string) {
	for _, text := range texts {
		if w.about == nil {
			w.about = map[string][]string{}
		}
		if _, ok := w.about[text]; !ok {
			w.texts = append(w.texts, text)
		}
		w.about[text] = append(w.about[text], about)
	}
}

func (w *warnings) list() []string {
	list := []string{}
	for _, text := range w.texts {
		if about := strings.Join(w.about[text], ", "); strings.Trim(about, ", ") != "" {
			text = about + ": " + text
		}
		list = append(list, text)
	}
	return list
}

// speeds returns a warning if the maps of a workload took unlike CPU time under two models,
// about those that differ most. The work of the maps is the same, so that a part of what the
// models seem to differ by may be the machine's.
func speeds(workload string, trials []trial) []string {
	cpu, err := metricsOf([]string{measure.MapCPU})
	if err != nil {
		panic(err) // the metric is one of measure's
	}
	var slow, fast string
	most := 1.0
	for _, p := range newTable(cpu[0], workload, trials).Pairs {
		ratio := 1 + float64(p.DiffPct)/100
		if !p.Significant() || max(ratio, 1/ratio) <= most {
			continue
		}
		if slow, fast, most = p.B, p.A, ratio; ratio < 1 {
			slow, fast, most = p.A, p.B, 1/ratio
		}
	}
	if slow == "" {
		return nil
	}
	return []string{fmt.Sprintf("%s: the same maps took %.0f %% more CPU time under %s than under %s: either processors were slower in "+
		"those trials, or tasks slowed each other or read more over the network; --metric %s shows all models",
		workload, 100*(most-1), slow, fast, measure.MapCPU)}
}
