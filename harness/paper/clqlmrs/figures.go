package clqlmrs

import (
	"fmt"
	"slices"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

func figures() []paper.Part {
	part := func(id, title string, run func(*paper.Bench) (*paper.Figure, error)) paper.Part {
		return paper.Part{ID: id, Kind: paper.Published, Title: title, Run: run}
	}
	return []paper.Part{
		part("fig5", "Cache-locality rate by cache size, WordCount", figure5),
		part("fig6", "Local-task rate by block size, WordCount", figure6),
		part("fig7", "Local-task rate by number of maps, WordCount", figure7),
		part("table4", "Cache, data and rack locality by number of maps, WordCount", table4),
		part("fig8", "Local-task rate by application", figure8),
		part("fig9", "Execution time by application", figure9),
		part("table5", "Execution time of Sort and TeraSort", table5),
	}
}

// Each function below returns the settings (clusters with jobs) that one figure
// of the paper compares, and the names of the figure's columns.

var cacheSizes = []float64{2, 4, 6, 8}

func byCache() (columns []string, settings []testbed) {
	for _, gib := range cacheSizes {
		x := standard
		x.cacheGiB = gib
		columns, settings = append(columns, fmt.Sprintf("%g GB", gib)), append(settings, x)
	}
	return columns, settings
}

var blockSizes = []int64{64, 128, 256}

// byBlock returns settings that have the same input in HDFS blocks of different
// sizes.
func byBlock() (columns []string, settings []testbed) {
	for _, mib := range blockSizes {
		x := standard
		x.maps, x.blockMiB = int(int64(standard.maps)*standard.blockMiB/mib), mib
		columns, settings = append(columns, fmt.Sprintf("%d MB", mib)), append(settings, x)
	}
	return columns, settings
}

func byMaps(counts ...int) (columns []string, settings []testbed) {
	for _, n := range counts {
		x := standard
		x.maps = n
		// The input is smaller than in the other figures. The cache shrinks
		// with it, so that it holds the same share of the input.
		x.cacheGiB = standard.cacheGiB * float64(n) / float64(standard.maps)
		columns, settings = append(columns, fmt.Sprintf("%d maps", n)), append(settings, x)
	}
	return columns, settings
}

func byApplication() (columns []string, settings []testbed) {
	for _, a := range applications {
		x := standard
		x.app = a.name
		columns, settings = append(columns, a.title), append(settings, x)
	}
	return columns, settings
}

// grid contains the simulations of a figure: each scheduler in each setting (a
// cluster with its jobs).
type grid struct {
	schedulers []scheduler
	columns    []string
	settings   []testbed
	trials     [][]paper.Simulation // all simulations of the figure, sorted by scheduler, then by setting, then by seed
}

func newGrid(b *paper.Bench, schedulers []scheduler, columns []string, settings []testbed) (*grid, error) {
	var cases []paper.Case
	for _, s := range schedulers {
		for _, x := range settings {
			cases = append(cases, s.in(x))
		}
	}
	trials, err := b.Trials(cases...)
	return &grid{schedulers, columns, settings, trials}, err
}

// A grid has simulations of each scheduler in each setting. The function at
// returns those of one scheduler in one setting, one for each seed.
func (g *grid) at(scheduler, setting int) []paper.Simulation {
	return g.trials[scheduler*len(g.settings)+setting]
}

func (g *grid) rate(scheduler, setting int, of paper.Rate) []stats.Share {
	return paper.Each(g.at(scheduler, setting), of)
}

func (g *grid) seconds(scheduler, setting int) []float64 {
	return paper.Each(g.at(scheduler, setting), paper.Seconds)
}

// rates returns a scheduler's locality rate over all settings together, one
// value for each seed.
func (g *grid) rates(scheduler int, of paper.Rate) []stats.Share {
	return together(g.trials[scheduler*len(g.settings):][:len(g.settings)], of)
}

// meanSeconds returns the mean time of a scheduler's jobs over all settings,
// one value for each seed.
func (g *grid) meanSeconds(scheduler int) []float64 {
	return meanSeconds(g.trials[scheduler*len(g.settings):][:len(g.settings)])
}

// rateFigure returns a figure with one row of locality rates for each
// scheduler. The last row is the share of maps whose block is cached on some
// node.
func (g *grid) rateFigure(x string, of paper.Rate) *paper.Figure {
	f := &paper.Figure{X: x, Unit: "%", Columns: g.columns}
	g.rateRows(f, "", of)
	g.cachedRow(f)
	return f
}

func (g *grid) rateRows(f *paper.Figure, suffix string, of paper.Rate) {
	g.rows(f, suffix, func(i, k int) paper.Value { return paper.ValueOf(stats.MeanShare(g.rate(i, k, of))) })
}

func (g *grid) secondsFigure(x string) *paper.Figure {
	f := &paper.Figure{X: x, Unit: "s", Columns: g.columns}
	g.rows(f, "", func(i, k int) paper.Value { return paper.ValueOf(stats.Mean(g.seconds(i, k))) })
	f.Notes = append(f.Notes, cachedNote(g.trials...))
	return f
}

func (g *grid) rows(f *paper.Figure, suffix string, cell func(scheduler, setting int) paper.Value) {
	for i, s := range g.schedulers {
		row := paper.Row{Name: s.label + suffix}
		for k := range g.settings {
			row.Cells = append(row.Cells, cell(i, k))
		}
		f.Rows = append(f.Rows, row)
	}
}

func (g *grid) cachedRow(f *paper.Figure) {
	row := paper.Row{Name: "cached anywhere"}
	for k := range g.settings {
		row.Cells = append(row.Cells, given(g.rate(0, k, paper.CachedShare)))
	}
	f.Rows = append(f.Rows, row)
}

// cachedNote returns a note for a figure, which says how many of the maps'
// blocks are cached. It is for figures that have no row for this share.
func cachedNote(trials ...[]paper.Simulation) string {
	var all stats.Share
	for _, s := range together(trials, paper.CachedShare) {
		all = all.Plus(s)
	}
	return fmt.Sprintf("Measured: %.1f %% of the maps' blocks are cached somewhere.", all.Percent())
}

// given returns the mean, over seeds, of a share that the simulated set-up
// fixes, such as the share of cached blocks. If the share is the same with
// every seed, its interval has no width.
func given(runs []stats.Share) paper.Value {
	e := stats.MeanShare(runs)
	same := func(s stats.Share) bool { return s.Percent() == runs[0].Percent() }
	if !slices.ContainsFunc(runs, func(s stats.Share) bool { return !same(s) }) {
		e.Lo, e.Hi = e.Value, e.Value
	}
	return paper.ValueOf(e)
}

// gain returns by how many percent the times b are below the times a. It is the
// geometric mean over the pairs a[i], b[i], which have the same seed.
func gain(a, b []float64) stats.Estimate {
	r := stats.PairedRatio(a, b).Estimate
	r.Value, r.Lo, r.Hi = 100*(1-r.Value), 100*(1-r.Hi), 100*(1-r.Lo)
	return r
}

// longer returns by how many percent the times b are above the times a. It is
// the geometric mean over the pairs a[i], b[i], which have the same seed.
func longer(a, b []float64) stats.Estimate {
	r := stats.PairedRatio(a, b).Estimate
	r.Value, r.Lo, r.Hi = 100*(r.Value-1), 100*(r.Lo-1), 100*(r.Hi-1)
	return r
}

// more returns by how many percentage points the shares b are above the shares
// a. It is the mean over the pairs a[i], b[i], which have the same seed.
func more(a, b []stats.Share) stats.Estimate { return stats.PairedShareDifference(a, b).Estimate }

// The function times returns the mean of the shares b divided by the mean of
// the shares a, to say "b is 1.3 times a".
func times(a, b []stats.Share) stats.Estimate {
	e := paper.RatioOfMeans(percents(a), percents(b))
	e.Lo = max(0, e.Lo) // cut the interval at 0, since a ratio of shares cannot be negative
	return e
}

func percents(runs []stats.Share) []float64 {
	xs := make([]float64, len(runs))
	for i, s := range runs {
		xs[i] = s.Percent()
	}
	return xs
}

func quantity(what, model, unit, published string, e stats.Estimate) paper.Quantity {
	return paper.Quantity{What: what, Model: model, Unit: unit, Published: published, Value: paper.ValueOf(e)}
}

var fifth = []scheduler{fifo, acl2, acl5, learner}

func cacheGrid(b *paper.Bench) (*grid, error) {
	columns, settings := byCache()
	return newGrid(b, fifth, columns, settings)
}

func figure5(b *paper.Bench) (*paper.Figure, error) {
	g, err := cacheGrid(b)
	if err != nil {
		return nil, err
	}
	f := g.rateFigure("cache of all nodes", paper.CacheRate)
	for i, published := range []string{"3", "17", "25", "24"} {
		f.Beside = append(f.Beside, quantity("rise from 4 to 8 GB", fifth[i].label, "points", published, more(g.rate(i, 1, paper.CacheRate), g.rate(i, 3, paper.CacheRate))))
	}
	f.Notes = []string{"The last row is the most that any scheduler can have. The paper does not say whether rises are points or percent; points are taken."}
	return f, nil
}

func blockGrid(b *paper.Bench) (*grid, error) {
	columns, settings := byBlock()
	return newGrid(b, four, columns, settings)
}

func figure6(b *paper.Bench) (*paper.Figure, error) {
	g, err := blockGrid(b)
	if err != nil {
		return nil, err
	}
	f := g.rateFigure("block size of the same input", paper.LocalRate)
	for i, published := range []string{"rises", "rises", "rises", "rises"} {
		f.Beside = append(f.Beside, quantity("rise from 64 to 256 MB", four[i].label, "points", published, more(g.rate(i, 0, paper.LocalRate), g.rate(i, 2, paper.LocalRate))))
	}
	return f, nil
}

func mapsGrid(b *paper.Bench) (*grid, error) {
	columns, settings := byMaps(10, 20, 30, 40, 50)
	return newGrid(b, four, columns, settings)
}

func figure7(b *paper.Bench) (*paper.Figure, error) {
	g, err := mapsGrid(b)
	if err != nil {
		return nil, err
	}
	f := g.rateFigure("maps", paper.LocalRate)
	for i, published := range []string{"rises", "rises", "rises most", "rises most"} {
		f.Beside = append(f.Beside, quantity("rise from 10 to 50 maps", four[i].label, "points", published, more(g.rate(i, 0, paper.LocalRate), g.rate(i, 4, paper.LocalRate))))
	}
	return f, nil
}

func localityGrid(b *paper.Bench) (*grid, error) {
	columns, settings := byMaps(10, 25, 50, 100)
	return newGrid(b, four, columns, settings)
}

func table4(b *paper.Bench) (*paper.Figure, error) {
	g, err := localityGrid(b)
	if err != nil {
		return nil, err
	}
	f := &paper.Figure{X: "maps", Unit: "%", Columns: g.columns}
	g.rateRows(f, ", cache", paper.CacheRate)
	g.cachedRow(f)
	g.rateRows(f, ", cache or data", paper.LocalRate)
	g.rows(f, ", rack", func(i, k int) paper.Value { return given(g.rate(i, k, paper.RackRate)) })
	for i, published := range []string{"25", "35", "46", "55"} {
		f.Beside = append(f.Beside, quantity("cache locality at 100 maps (the paper: at most)", four[i].label, "%", published, stats.MeanShare(g.rate(i, 3, paper.CacheRate))))
	}
	for i := 1; i < 3; i++ {
		f.Beside = append(f.Beside, quantity("data locality at 10 maps", four[i].label, "%", "99", stats.MeanShare(g.rate(i, 0, paper.LocalRate))))
	}
	f.Notes = []string{"Rack is all maps in a rack that has their block. HDFS puts three replicas into both racks of two, so it is 100 for any scheduler."}
	return f, nil
}

func applicationGrid(b *paper.Bench) (*grid, error) {
	columns, settings := byApplication()
	return newGrid(b, four, columns, settings)
}

func figure8(b *paper.Bench) (*paper.Figure, error) {
	g, err := applicationGrid(b)
	if err != nil {
		return nil, err
	}
	f := g.rateFigure("application", paper.LocalRate)
	for i, published := range []string{"", "13.8", "17.6", "20.8"} {
		if i > 0 {
			f.Beside = append(f.Beside, quantity("mean above FIFO", four[i].label, "points", published, more(g.rates(0, paper.LocalRate), g.rates(i, paper.LocalRate))))
		}
	}
	for k, published := range []string{"17 (derived)", "22", "20", "22", "23"} {
		f.Beside = append(f.Beside, quantity(g.columns[k]+" above FIFO", learner.label, "points", published, more(g.rate(0, k, paper.LocalRate), g.rate(3, k, paper.LocalRate))))
	}
	f.Notes = []string{"The paper does not say whether gains are points or percent; points are taken."}
	return f, nil
}

func figure9(b *paper.Bench) (*paper.Figure, error) {
	g, err := applicationGrid(b)
	if err != nil {
		return nil, err
	}
	f := g.secondsFigure("application")
	for i, published := range []string{"", "8.6 (derived)", "19.4", "26.54"} {
		if i > 0 {
			f.Beside = append(f.Beside, quantity("mean gain over FIFO", four[i].label, "%", published, gain(g.meanSeconds(0), g.meanSeconds(i))))
		}
	}
	for i, published := range []string{"", "19.63", "8.98"} {
		if i > 0 {
			f.Beside = append(f.Beside, quantity("mean gain over "+four[i].label, learner.label, "%", published, gain(g.meanSeconds(i), g.meanSeconds(3))))
		}
	}
	return f, nil
}

func table5(b *paper.Bench) (*paper.Figure, error) {
	columns, settings := byApplication()
	g, err := newGrid(b, four, columns[1:3], settings[1:3])
	if err != nil {
		return nil, err
	}
	f := g.secondsFigure("application")
	for k, published := range [][3]string{{"20", "10.8", "10.31 (derived)"}, {"18.45", "4.4", "14.70 (derived)"}} {
		name := g.columns[k]
		f.Beside = append(f.Beside,
			quantity(name+", gain over FIFO", learner.label, "%", published[0], gain(g.seconds(0, k), g.seconds(3, k))),
			quantity(name+", gain over ACL", learner.label, "%", published[1], gain(g.seconds(2, k), g.seconds(3, k))),
			quantity(name+", gain over FIFO", acl.label, "%", published[2], gain(g.seconds(0, k), g.seconds(2, k))))
	}
	return f, nil
}
