package paper

import (
	"fmt"
	"math"
	"testing"

	"heddle/harness/sim/draw"
	"heddle/harness/stats"
)

// steadyWorld makes up the node-local maps of two schedulers in nine columns. Rates stray as
// binomial ones do, times a factor. A part of that is the same in all columns, as if they shared
// the places of blocks.
type steadyWorld struct {
	number        uint64
	seeds         int
	level, factor map[string]float64
	common        float64 // correlation of the columns
	maps          int
}

func (w steadyWorld) effect(t *testing.T) Effect {
	t.Helper()
	p := &Paper{
		Name: "steady", Setup: small{Layout: 1, Maps: 12, TaskMs: 1000, Kind: "one"},
		Schedulers: []Scheduler{{Label: "Old", Model: "fifo"}, {Label: "New", Model: "random"}}, Claimant: "New",
		Designs: []Design{{ID: "D", X: "maps"}},
	}
	for k := range 9 {
		p.Designs[0].Columns = append(p.Designs[0].Columns, Column{fmt.Sprint(k), map[string]string{"maps": fmt.Sprint(k + 1)}})
	}
	var e Effect
	p.Claims = []Claim{{ID: "S", Effects: func(d *Data) []Effect {
		e = Effect{None: 1, Estimate: d.Estimate("steadier(local[D: Old], local[D: New])")}
		return []Effect{e}
	}}}
	_, err := p.Run(t.Context(), Options{Seed: w.number, Seeds: w.seeds, Simulate: func(c Case, seed uint64) (Simulation, error) {
		label := c.Scheduler.Label
		level, column := w.level[label], uint64(c.Setting.(small).Maps)
		key := draw.Stream(w.number, "steady"+label).At(seed)
		stray := math.Sqrt(w.common)*normal(key.At(0)) + math.Sqrt(1-w.common)*normal(key.At(column))
		local := level + w.factor[label]*stray*math.Sqrt(level*(1-level)/float64(w.maps))
		s := Simulation{Seconds: 1}
		s.Locality.Node = min(w.maps, max(0, int(math.Round(local*float64(w.maps)))))
		s.Locality.Off = w.maps - s.Locality.Node
		return s, nil
	}})
	check(t, err)
	return e
}

// TestSteadierFalseAlarms has both schedulers stray as much as chance does, at other levels, with
// columns that have something in common: an effect or its opposite may seem to be there in about
// 5 of 100 worlds.
func TestSteadierFalseAlarms(t *testing.T) {
	worlds := 1000
	if testing.Short() {
		worlds = 200
	}
	for _, common := range []float64{0, 0.1, 0.2} {
		for _, seeds := range []int{6, 20} {
			alarms := 0
			for number := range uint64(worlds) {
				w := steadyWorld{number: number, seeds: seeds, common: common, maps: 150}
				w.level, w.factor = map[string]float64{"Old": 0.85, "New": 0.45}, map[string]float64{"Old": 1, "New": 1}
				e := w.effect(t)
				if e.Lo > 1 || e.Hi < 1 {
					alarms++
				}
			}
			rate := float64(alarms) / float64(worlds)
			t.Logf("correlation %.1f, %d seeds: %.1f %% false alarms", common, seeds, 100*rate)
			// Four deviations of a rate of 5 % in so many worlds.
			if most := 0.05 + 4*math.Sqrt(0.05*0.95/float64(worlds)); rate > most {
				t.Errorf("correlation %.1f, %d seeds: %.1f %% false alarms, want about 5 and at most %.1f", common, seeds, 100*rate, 100*most)
			}
		}
	}
}

// TestSteadier has a scheduler that strays half as much, one that strays less only since its level
// is near 1, and one that cannot stray.
func TestSteadier(t *testing.T) {
	half := steadyWorld{
		seeds: 20, maps: 150, level: map[string]float64{"Old": 0.4, "New": 0.4},
		factor: map[string]float64{"Old": 2, "New": 1},
	}.effect(t)
	if half.Lo <= 1 || half.Value < 1.7 || half.Value > 2.3 {
		t.Errorf("one that strays half as much: %v [%v, %v] times, want about 2", half.Value, half.Lo, half.Hi)
	}
	near := steadyWorld{
		seeds: 20, maps: 150, level: map[string]float64{"Old": 0.5, "New": 0.95},
		factor: map[string]float64{"Old": 1, "New": 1},
	}.effect(t)
	if near.Lo > 1 || near.Hi < 1 {
		t.Errorf("one whose level is nearer to 1: %v [%v, %v] times, want no credit for that", near.Value, near.Lo, near.Hi)
	}
	full := steadyWorld{
		seeds: 20, maps: 150, level: map[string]float64{"Old": 0.5, "New": 1},
		factor: map[string]float64{"Old": 1, "New": 1},
	}.effect(t)
	if full.Bounded() {
		t.Errorf("all maps are local with every seed: %v [%v, %v] times, want that it cannot be told", full.Value, full.Lo, full.Hi)
	}
	// By hand: shares of 100 maps, 40 and 60, with a mean of 50 have the variance .02, the binomial
	// one is .0025.
	shares := []stats.Share{{Part: 40, Of: 100}, {Part: 60, Of: 100}}
	p := 100.5 / 201
	if got, want := logDispersion(shares, -1), math.Log(0.02/(p*(1-p)/100)+0.01); math.Abs(got-want) > 1e-12 {
		t.Errorf("the logarithm of the dispersion is %v, want %v", got, want)
	}
}
