package sweep

import (
	"cmp"
	"slices"

	"heddle/harness/doc"
	"heddle/harness/measure"
	"heddle/traces/printable"
)

// Doc returns the answers for people. The metrics are those of the report.
func (a *Answers) doc(metrics []measure.Metric) (d doc.Doc) {
	m := metrics[0]
	if b := a.Best; b != nil {
		d = append(d, doc.Heading("Best setting by "+m.Name))
		t := doc.NewTable("best", "trace", m.Name)
		for i, x := range b.Means {
			t.Add(b.Traces[i], x.cell(m.Unit))
		}
		told := b.told()
		if a.Thresholds != "" {
			told += " among those that keep the thresholds"
		}
		d = append(d, doc.Lead(b.Setting+"; "+told), t)
		if len(b.HeldOut) > 0 {
			h := doc.NewTable("held out", "trace left out", "best on the others", "worse there by")
			unit := m.Unit
			if m.IsFactor() {
				unit = "%"
			}
			for _, x := range b.HeldOut {
				h.Add(x.Trace, x.Setting, x.Loss.cell(unit))
			}
			d = append(d, h)
		}
	}
	if len(a.Front) > 0 {
		t := doc.NewTable("Pareto front", "setting", metrics[0].Name, metrics[1].Name)
		for _, f := range a.Front[:min(len(a.Front), mostRows)] {
			t.Add(f.Setting, doc.Number(f.Values[0], metrics[0].Unit), doc.Number(f.Values[1], metrics[1].Unit))
		}
		d = append(d, doc.Heading("Pareto front of "+metrics[0].Name+" and "+metrics[1].Name), t)
	}
	if len(a.Effects) > 0 {
		d = append(d, doc.Heading("What moves "+m.Name), effectsTable(a.Effects, m))
	}
	return d
}

func (b *Best) told() string {
	switch b.Untold {
	case 0:
		return "the seeds tell it from every other setting"
	default:
		return "the seeds do not tell it from " + printable.Count(b.Untold, "other setting")
	}
}

func effectsTable(list []AxisEffect, m measure.Metric) *doc.Table {
	sobol := slices.ContainsFunc(list, func(e AxisEffect) bool { return e.First != nil })
	t := doc.NewTable("effects", "model", "axis", "variance", "least at", "", "most at", "")
	if sobol {
		t.Columns = append(t.Columns, "Sobol' first", "Sobol' total")
	}
	for _, e := range list {
		byMean := func(a, b Level) int { return cmp.Compare(float64(a.Mean), float64(b.Mean)) }
		if len(e.Levels) == 0 {
			continue
		}
		least, most := slices.MinFunc(e.Levels, byMean), slices.MaxFunc(e.Levels, byMean)
		row := []any{
			e.Model, e.Axis, doc.Number(float64(e.Share)*100, "%").Short(),
			least.Value, doc.Number(least.Mean, m.Unit), most.Value, doc.Number(most.Mean, m.Unit),
		}
		if e.First != nil {
			row = append(row, e.First.cell(""), e.Total.cell(""))
		}
		t.Add(row...)
	}
	return t
}

func (x *Mean) cell(unit string) doc.Cell { return (&Interval{x.Mean, x.CI95}).cell(unit) }

func (x *Interval) cell(unit string) doc.Cell {
	return doc.Estimate(x.Value, x.CI95[0], x.CI95[1], unit).Short()
}
