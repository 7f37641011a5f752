package model

import "math"

// class is what a decision turned out to be.
type class uint8

const (
	bad  class = iota // the node was overloaded when the decision was judged
	good              // it was not
)

func classOf(isBad bool) class {
	if isBad {
		return bad
	}
	return good
}

// bayes is a naive Bayes classifier with a histogram for each feature and class.
type bayes struct {
	rule  bayesRule
	n     [2]int64                     // samples by class
	count [2][features]map[int32]int64 // samples by class, feature and value
	kinds [features]int64              // different values of a feature in both classes
}

// bayesRule has what the paper does not print of the classifier.
type bayesRule struct {
	Label  string `values:"larger,margin,log" text:"good if its product is the larger; or above 0.9 of the other (the code), or 1/e"`
	Tie    string `values:"good,bad" text:"class of equal products"`
	Unseen string `values:"addOne,one,zero" text:"likelihood of a value that was not seen: one more of each, 1/total (the code), or 0"`
}

func newBayes(rule bayesRule) *bayes {
	b := &bayes{rule: rule}
	for c := range b.count {
		for f := range b.count[c] {
			b.count[c][f] = map[int32]int64{}
		}
	}
	return b
}

func (b *bayes) train(x vector, c class, times int64) {
	b.n[c] += times
	for f, value := range x {
		b.add(c, f, value, times)
	}
}

func (b *bayes) add(c class, f int, value int32, times int64) {
	if b.count[bad][f][value]+b.count[good][f][value] == 0 {
		b.kinds[f]++
	}
	b.count[c][f][value] += times
}

// product returns P(class) times the product of P(feature | class).
func (b *bayes) product(x vector, c class) float64 {
	if b.n[c] == 0 {
		return 0
	}
	p := float64(b.n[c]) / float64(b.n[bad]+b.n[good])
	for f, value := range x {
		p *= b.likelihood(b.count[c][f][value], b.n[c], b.kinds[f])
	}
	return p
}

// likelihood is that of a value that a class has n times in its samples, if either class
// has so many kinds of values.
func (b *bayes) likelihood(n, total, kinds int64) float64 {
	switch {
	case b.rule.Unseen == "addOne":
		return float64(n+1) / float64(total+kinds)
	case n == 0 && b.rule.Unseen == "one":
		return 1 / float64(total)
	}
	return float64(n) / float64(total)
}

// classify returns both products and the class that the rule says.
func (b *bayes) classify(x vector) (pGood, pBad float64, c class) {
	pGood, pBad = b.product(x, good), b.product(x, bad)
	return pGood, pBad, b.rule.of(pGood, pBad)
}

func (r *bayesRule) of(pGood, pBad float64) class {
	isBad := pGood < pBad || r.Tie == "bad" && pGood == pBad
	switch r.Label {
	case "margin":
		isBad = pBad > 0 && pGood/pBad < 0.9
	case "log":
		isBad = pBad > 0 && pGood*math.E < pBad
	}
	return classOf(isBad)
}

// perceptron is a linear classifier. As printed it takes whole numbers, learns by
// steps of 1 and has the bias b both in training and in use. As coded its inputs are
// scaled and one of them is 1, its step is 0.5, and 0.2 counts in use only.
type perceptron struct {
	coded bool
	bias  float64
	w     [features + 1]float64
}

// inputs returns the features as the perceptron sees them; the last is the constant.
func (p *perceptron) inputs(x vector) (in [features + 1]float64) {
	for f, value := range x {
		in[f] = float64(value)
	}
	if p.coded {
		for f := jobCPU; f <= jobMemory; f++ {
			in[f] /= 10
		}
		in[load] = math.Ceil(in[load] / 10)
		in[features] = 1
		for f := range in { // 0 becomes 0.01
			in[f] = math.Max(in[f], 0.01)
		}
	}
	return in
}

func (p *perceptron) sum(x vector) (s float64) {
	for f, in := range p.inputs(x) {
		s += float64(p.w[f] * in) // the conversion keeps a compiler from fusing, which would make machines differ
	}
	return s
}

// margin is above 0 if an assignment is good.
func (p *perceptron) margin(x vector) float64 { return p.sum(x) + p.bias }

func (p *perceptron) train(x vector, c class) {
	step, said := 1.0, p.margin(x) > 0
	if p.coded {
		step, said = 0.5, p.sum(x) > 0
	}
	if said == (c == good) {
		return
	}
	if c == bad {
		step = -step
	}
	for f, in := range p.inputs(x) {
		p.w[f] += float64(step * in)
	}
}
