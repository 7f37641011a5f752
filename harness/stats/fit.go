package stats

import "math"

// Point is a value Y that was measured at X.
type Point struct{ X, Y float64 }

// Line is a straight line through points, by least squares.
type Line struct {
	// Slope and Intercept have Student's intervals, which assume that points scatter
	// about the line normally and equally everywhere. They are bounded from three
	// points on.
	Slope, Intercept Estimate
	// R2 is the share of the variance of Y that the line explains. It says little with
	// few points: anything that rises gives a large one.
	R2 float64
	// LeftOut are the distances in Y of each point from the line through the others: how
	// well a line predicts. They are nil if such a line is not known for each point.
	LeftOut []float64
}

// LineOf returns the line through points.
func LineOf(points []Point) Line {
	nan := unbounded(math.NaN(), len(points))
	l := Line{Slope: nan, Intercept: nan, R2: math.NaN()}
	xs, ys := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		xs[i], ys[i] = p.X, p.Y
	}
	for _, list := range [][]float64{xs, ys} {
		if e, ok := usable(list, 2); !ok {
			l.Slope, l.Intercept = e, e
			return l
		}
	}
	n := float64(len(points))
	meanX, varX := moments(xs)
	meanY, varY := moments(ys)
	if varX == 0 {
		l.Slope.warnf("all points have the same X, so there is no slope")
		return l
	}
	covariance := 0.0
	for _, p := range points {
		covariance += (p.X - meanX) * (p.Y - meanY) / (n - 1)
	}
	l.Slope.Value = covariance / varX
	l.Intercept.Value = meanY - l.Slope.Value*meanX
	if varY > 0 {
		l.R2 = covariance * covariance / (varX * varY)
	}
	rest, alone := 0.0, false // alone: without that point all others have the same X
	for _, p := range points {
		r := p.Y - l.Intercept.Value - l.Slope.Value*p.X
		rest += r * r
		// A point draws the line to itself by this share of its distance.
		leverage := 1/n + (p.X-meanX)*(p.X-meanX)/((n-1)*varX)
		alone = alone || leverage > 1-1e-9
		l.LeftOut = append(l.LeftOut, r/(1-leverage))
	}
	if alone {
		l.LeftOut = nil
	}
	if n < 3 {
		l.Slope.warnf("need at least 3 points for an interval of the slope, have 2")
		return l
	}
	t := tQuantile(n - 2)
	margin := t * math.Sqrt(rest/(n-2)/((n-1)*varX))
	l.Slope.Lo, l.Slope.Hi = l.Slope.Value-margin, l.Slope.Value+margin
	margin = t * math.Sqrt(rest/(n-2)*(1/n+meanX*meanX/((n-1)*varX)))
	l.Intercept.Lo, l.Intercept.Hi = l.Intercept.Value-margin, l.Intercept.Value+margin
	return l
}
