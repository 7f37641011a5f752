package paper

import (
	"fmt"

	"heddle/harness/stats"
)

// This file has the effects that papers on schedulers ask for.

// Saves is the time that scheduler b saves against a in the given columns of a
// design (all if none are given), asked to be at least so many percent. Its room is
// what a would save if its jobs took no longer than the bound that no scheduler
// passes.
func (d *Data) Saves(design, a, b string, least float64, columns ...int) Effect {
	g := d.Grid(design, a, b)
	e := Effect{
		What:     fmt.Sprintf("time that %s saves against %s", b, a),
		Unit:     "%",
		Least:    least,
		Estimate: Saved(g.Seconds(a, columns...), g.Seconds(b, columns...)),
	}
	if len(columns) == 1 {
		e.What += " with " + g.Column(columns[0])
	}
	if bound := g.Mean(a, func(s *Simulation) float64 { return s.Least }, columns...); len(bound) > 0 {
		for _, s := range bound {
			if !(s > 0) {
				return e
			}
		}
		e.Room, e.RoomWhy = Saved(
			g.Seconds(a, columns...),
			bound,
		), "the work of the jobs takes so long on all cores, containers and disks of the cluster"
	}
	return e
}

// Above is by how many points b's rate is above a's in the given columns of a design
// (all if none are given). The rate of any scheduler is at most the given one, seed
// by seed.
func (d *Data) Above(design, rate string, of, most Rate, a, b string, columns ...int) Effect {
	g := d.Grid(design, a, b)
	low := g.Shares(a, of, columns...)
	e := Effect{What: fmt.Sprintf("%s of %s above %s's", rate, b, a), Unit: "points", Estimate: More(low, g.Shares(b, of, columns...))}
	e.Room = RoomUpTo(low, g.Shares(a, most, columns...))
	has := stats.MeanShare(low).Value
	e.RoomWhy = fmt.Sprintf("%s is at %.1f %%, and no scheduler can be above %.1f %%", a, has, has+e.Room.Value)
	return e
}

// Rises is by how many points a scheduler's rate rises from one column of a design to
// another, where it can be at most the given rate.
func (d *Data) Rises(design, rate string, of, most Rate, label string, from, to int) Effect {
	g := d.Grid(design, label)
	low := g.Shares(label, of, from)
	what := fmt.Sprintf("%s of %s from %s to %s", rate, label, g.Column(from), g.Column(to))
	e := Effect{What: what, Unit: "points", Estimate: More(low, g.Shares(label, of, to)), Room: RoomUpTo(low, g.Shares(label, most, to))}
	e.RoomWhy = fmt.Sprintf("it begins at %.1f %%", stats.MeanShare(low).Value)
	return e
}

// Gaining returns the effects of a claim that a gain is larger here than there: without a
// gain there is nothing to be larger, so the verdict rests on it if it is not shown.
func Gaining(gain Effect, effects ...Effect) []Effect {
	if gain.Sign() == Shown {
		return append(effects, gain)
	}
	return append([]Effect{gain}, effects...)
}
