package calibration

import (
	"fmt"
	"math"
	"slices"

	"heddle/harness/replay/recorded"
	"heddle/harness/stats"
	"heddle/traces"
)

// correctable is the largest number of tasks in a trace that is replayed to correct a
// fit. Replays of larger traces would take too long.
const correctable = 100_000

// steps says how far each correction goes. Where attempts wait for each other, times in a
// replay change by more than the computing times that they follow from, so that whole
// corrections would swing from too long to too short. Each swing halves those that follow.
type steps struct {
	gain, off float64 // off: mean logarithm of the ratios of the last replays
}

// next takes how far the times of replays are off, measured by simulated.
func (s *steps) next(ratios []float64) {
	off := 0.0
	for _, r := range ratios {
		off += math.Log(r) / float64(len(ratios))
	}
	if off*s.off < 0 && min(math.Abs(off), math.Abs(s.off)) > stillOff {
		s.gain /= 2
	}
	s.off = off
}

// factor returns by what to multiply a computing time, at most by 2 and at least by half.
func (s *steps) factor(ratio float64) float64 {
	return math.Pow(min(max(ratio, 0.5), 2), s.gain)
}

// correct replays the traces under their own models, and corrects the computing
// times, the launch time and the fitted rates. It does so several times, so that
// attempts get the mean, the spread and the differences between locality levels that
// they have in the traces. The spread needs a correction because attempts wait for
// each other in the traces, and the replay adds such waits again.
//
// The result is the relative error of replays in the mean map time, as the root mean
// square over traces: 0 if every trace is too large to be replayed, infinite if a
// replay fails.
func (c *Calibration) correct(list []*recorded.Trace, fits []*rateFit, replay Replay) float64 {
	var small []*recorded.Trace
	measured := map[phaseKey]*moments{}
	for _, t := range workloadCost.measured(list) {
		if t.Tasks() <= correctable {
			small = append(small, t)
			addMoments(measured, t)
		}
	}
	levels := levelCosts(rateCost.measured(small))
	seeds := seedsFor(small)
	measuredStart := c.AMStart
	var firsts []float64
	for _, t := range turnoverCost.measured(small) {
		firsts = append(firsts, firstStarts(t)...)
	}
	measuredFirst := figure(firsts)
	var again []replayed
	to := steps{gain: 1}
	for i := 0; i < corrections || i < mostCorrections && math.Abs(to.off) > stillOff; i++ {
		var err error
		if again, err = replayAll(small, c, seeds, replay); err != nil {
			c.Warnings = append(c.Warnings, fmt.Sprintf("a replay failed, so the fit is not corrected: %v", err))
			return math.Inf(1)
		}
		simulated := map[phaseKey]*moments{}
		var starts, turn, first []float64
		var seen []*recorded.Trace // replays from which maps at different locality levels can be compared
		for _, x := range again {
			addMoments(simulated, x.simulated)
			if amStartCost.measuredIn(x.was) {
				starts = append(starts, amStarts(x.simulated)...)
			}
			if turnoverCost.measuredIn(x.was) {
				turn = append(turn, x.simulated.Turnovers()...)
				first = append(first, firstStarts(x.simulated)...)
			}
			if rateCost.measuredIn(x.was) {
				seen = append(seen, x.simulated)
			}
		}
		start, ratios := figure(starts), []float64{}
		if c.AMStart.Samples > 0 && start.Value > 0 {
			ratios = append(ratios, measuredStart.Value/start.Value)
		}
		ratios = append(ratios, ratiosOf(measured, simulated)...)
		slices.Sort(ratios)
		to.next(ratios)
		c.correctPhases(measured, simulated, &to)
		if c.AMStart.Samples > 0 && start.Value > 0 {
			c.AMStart = alone(c.AMStart, measuredStart, start, to.factor(measuredStart.Value/start.Value))
		}
		if c.Turnover.Samples > 0 && len(turn) > 0 {
			c.turn(figure(turn).Value, figure(first), measuredFirst)
		}
		correctRates(fits, levels, levelCosts(seen))
	}
	c.Noise = noiseOf(again)
	return misfit(again)
}

// ratiosOf returns how far each phase's time in the replays is off.
func ratiosOf(measured, simulated map[phaseKey]*moments) (ratios []float64) {
	for key, m := range measured {
		if s := simulated[key]; s != nil && s.sum > 0 && m.sum > 0 {
			ratios = append(ratios, m.mean()/s.mean())
		}
	}
	return ratios
}

// correctPhases takes each phase's times closer to what was measured.
func (c *Calibration) correctPhases(measured, simulated map[phaseKey]*moments, to *steps) {
	for i := range c.Workloads {
		w := &c.Workloads[i]
		for k, p := range []*Phase{&w.Map, &w.Reduce} {
			key := phaseKey{w.Workload, traces.TaskKind(k)}
			m, s := measured[key], simulated[key]
			if m == nil || s == nil || s.sum == 0 {
				continue
			}
			factor := to.factor(m.mean() / s.mean())
			p.FixedMs *= factor
			p.MsPerMiB *= factor
			p.Corrected *= factor
			p.Spread = narrowed(p.Spread, min(max(m.spread()/s.spread(), 0.5), 1))
		}
	}
}

// turn corrects the times to launch a container and to free the one before by how far the
// turnover and the first starts of jobs in replays are from those measured.
func (c *Calibration) turn(turnover float64, first, measuredFirst Figure) {
	both := min(max(0, c.LaunchMs+c.FreeMs+c.Turnover.Value-turnover), c.Turnover.Value)
	launch := both
	if first.Samples > 0 && measuredFirst.Samples > 0 {
		launch = min(max(0, c.LaunchMs+measuredFirst.Value-first.Value), both)
	}
	c.LaunchMs, c.FreeMs = launch, both-launch
}

// alone corrects the start of an ApplicationMaster, as it is when nothing else runs, so
// that starts in replays take as long as they were measured to take. The replays make all
// jobs start in the same way, so that only what the jobs do to each other makes them differ;
// what is left of the measured deviation is from job to job.
func alone(start, measured, simulated Figure, factor float64) Figure {
	start.Value *= factor
	left := math.Sqrt(max(0, measured.Error*measured.Error-simulated.Error*simulated.Error))
	start.Error = left * start.Value / measured.Value
	return start
}

// replayed is a trace and one replay of it.
type replayed struct{ was, simulated *recorded.Trace }

// replayAll replays each trace with so many seeds. The replays of a trace stand together.
func replayAll(list []*recorded.Trace, c *Calibration, seeds int, replay Replay) ([]replayed, error) {
	var all []replayed
	for i, t := range list {
		for k := range seeds {
			x, err := replay(t, c, uint64(i+1+k*len(list)))
			if err != nil {
				return nil, err
			}
			all = append(all, replayed{t, x})
		}
	}
	return all, nil
}

// seedsFor returns with how many seeds each trace is replayed to correct a fit. Few small
// traces are replayed more than once, since the chance in a single replay would become
// part of the fit.
func seedsFor(list []*recorded.Trace) int {
	tasks := 0
	for _, t := range list {
		tasks += t.Tasks()
	}
	return max(1, min(enoughReplays/max(1, len(list)), enoughTasks/max(1, tasks)))
}

// misfit returns how far the mean map times in replays are from those in the traces:
// the relative errors' root mean square over the replays.
func misfit(list []replayed) float64 {
	squares, n := 0.0, 0
	for _, x := range list {
		was, is := stats.Mean(durationsMs(x.was, traces.Map)).Value, stats.Mean(durationsMs(x.simulated, traces.Map)).Value
		if was > 0 && is > 0 {
			squares += (is/was - 1) * (is/was - 1)
			n++
		}
	}
	return math.Sqrt(squares / float64(max(1, n)))
}

// narrowed returns the ratios of a Spread with their distance from the mean multiplied by a
// factor, and the mean kept.
func narrowed(spread []float64, factor float64) []float64 {
	var list []float64
	for _, q := range spread {
		list = append(list, max(0, 1+factor*(q-1)))
	}
	overMean(list)
	return list
}

type phaseKey struct {
	workload string
	kind     traces.TaskKind
}

type moments struct{ sum, squares, n float64 }

func (m *moments) mean() float64 { return m.sum / m.n }

// spread returns the coefficient of variation of the attempts' durations; it is
// always above 0, so that it can be divided by.
func (m *moments) spread() float64 {
	return math.Sqrt(max(1e-6, m.squares/m.n/(m.mean()*m.mean())-1))
}

// addMoments adds the durations of a trace's attempts to the sums for mean and
// spread, by workload and kind of task.
func addMoments(to map[phaseKey]*moments, t *recorded.Trace) {
	for _, s := range samples(t) {
		key := phaseKey{s.workload, s.kind}
		if to[key] == nil {
			to[key] = &moments{}
		}
		to[key].sum += s.tookMs
		to[key].squares += s.tookMs * s.tookMs
		to[key].n++
	}
}

// corrections is how many times all traces are replayed, one time after the other, to
// correct a fit step by step, and mostCorrections how often at most, as long as times are
// off by more than stillOff (natural logarithm).
const (
	corrections     = 5
	mostCorrections = 12
	stillOff        = 0.05
)

const (
	enoughReplays = 30     // to correct a fit: with more, chance is below what repeats differ by
	enoughTasks   = 20_000 // in all replays together
)
