package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"heddle/harness/sched"
	"heddle/harness/sim/draw"
)

func choice(name, doc, def string, more ...string) sched.Param {
	return sched.Param{Name: name, Type: sched.Choice, Default: def, Choices: append([]string{def}, more...), Doc: doc}
}

// Info describes the model learning. Its defaults are as the paper prints them.
var Info = sched.Info{
	Name:    "learning",
	Use:     sched.ForLoad,
	Summary: "starts a task where a classifier, learning from the nodes' load, says that the node will not be overloaded",
	Source:  "Dhok, Varma, Using Pattern Classification for Task Assignment in MapReduce; code learnsched, Dec 2009",
	Params: []sched.Param{
		{Name: "target", Type: sched.Float, Default: "1", Unit: "load a CPU", Min: 0.01, Max: 100, Doc: "above which a node is overloaded"},
		choice("classifier", "bayes (the paper), or a perceptron as printed or as coded", "bayes", "perceptron", "perceptronCoded"),
		choice("trainOn", "judged decisions to learn from: those that assigned a task, or all (the code)", "assignments", "all"),
		choice("escape", "whether a task starts on an empty node although all are bad (the code)", "none", "forced"),
		{
			Name:    "gate",
			Type:    sched.Float,
			Default: "0",
			Unit:    "of the limit",
			Max:     10,
			Doc:     "at which a node gets nothing; 0: no gate; 1: the code's",
		},
		choice("label", "good if its product is the larger; or above 0.9 of the other (the code), or 1/e", "larger", "margin", "log"),
		choice("tie", "class of equal products", "good", "bad"),
		{Name: "boost", Type: sched.Int, Default: "1", Unit: "samples", Min: 1, Max: 1000, Doc: "that a good judgement counts; the code: 2"},
		choice("unseen", "likelihood of a value that was not seen: one more of each, 1/total (the code), or 0", "addOne", "one", "zero"),
		choice("score", "probability in the expected utility: the product, or divided by the sum of both", "product", "posterior"),
		choice("start", "what to do before anything is learnt", "accept", "refuse"),
		{Name: "judgeAfter", Type: sched.Int, Default: "1", Unit: "periods", Min: 1, Max: 1000, Doc: "after which a decision is judged"},
		{Name: "cap", Type: sched.Int, Default: "0", Unit: "samples", Doc: "after which nothing more is learnt; 0: none; the code: 10000"},
		{Name: "bins", Type: sched.Float, Default: "10", Unit: "a load of 1", Min: 0.1, Max: 1000, Doc: "of the load average"},
		choice("choose", "among the good candidates, or all (the code)", "good", "all"),
		choice("mapsUntil", "until when a job's maps have a utility: the last has started, or has ended (the code)", "started", "ended"),
		choice("tieKind", "of a job's map and reduce with equal utility", "reduce", "map"),
		choice("utility", "of a task", "constant", "fifo", "sjf", "fair", "priority", "deadline", "revenue", "dedicated", "budget"),
		{Name: "budgets", Type: sched.Table, Doc: "of pools, as pool=100,*=50, with utility=budget: each task costs its job's price, or 1"},
		{Name: "shares", Type: sched.Table, Doc: "of the cluster promised to pools, as pool=0.3,*=0.1, with utility=dedicated"},
		choice("deficit", "utility of a pool below its share", "inverse", "proportional"),
		choice("overload", "load average; or any or all of load, user CPU, disk, network", "load", "any", "all"),
		{Name: "userLimit", Type: sched.Float, Default: "0.95", Unit: "of the CPUs", Max: 1, Doc: "of user time, for overload any and all"},
		{Name: "diskLimit", Type: sched.Float, Default: "15", Unit: "MB/s", Max: 1e6, Doc: "read and written, for overload any and all"},
		{Name: "netLimit", Type: sched.Float, Default: "25", Unit: "MB/s", Max: 1e6, Doc: "received and sent, for overload any and all"},
		{Name: "cpus", Type: sched.Float, Default: "0", Unit: "CPUs", Max: 1e4, Doc: "of a node; 0: the cores of its containers"},
		{
			Name:    "period",
			Type:    sched.Duration,
			Default: "5s",
			Min:     float64(time.Millisecond),
			Max:     float64(time.Hour),
			Doc:     "between two decisions for a node",
		},
		{Name: "bias", Type: sched.Float, Default: "0.2", Max: 100, Doc: "of the perceptron; the paper does not give it"},
	},
	Build: build,
}

func build(a sched.Args) (sched.Model, error) {
	m := &learner{
		classifier: a.Text("classifier"),
		escape:     a.Text("escape"),
		utility:    a.Text("utility"),
		overload:   a.Text("overload"),
		choose:     a.Text("choose"),
		mapsUntil:  a.Text("mapsUntil"),
		periodMs:   a.Int("period") / 1e6,
		judgeAfter: int(a.Int("judgeAfter")),
		target:     a.Float("target"),
		cpus:       a.Float("cpus"),
		bins:       a.Float("bins"),
		gate:       a.Float("gate"),
		userLimit:  a.Float("userLimit"),
		diskLimit:  a.Float("diskLimit"),
		netLimit:   a.Float("netLimit"),
		weights: [2]int64{
			bad:  1,
			good: a.Int("boost"),
		},
		most:          a.Int("cap"),
		refuseFirst:   a.Text("start") == "refuse",
		posterior:     a.Text("score") == "posterior",
		learnRefusals: a.Text("trainOn") == "all",
		tieMap:        a.Text("tieKind") == "map",
		shares:        a.Table("shares"),
		budgets:       a.Table("budgets"),
		spent:         map[string]float64{},
		proportional:  a.Text("deficit") == "proportional",
		bayes:         newBayes(bayesRule{unseen: a.Text("unseen"), label: a.Text("label"), tieBad: a.Text("tie") == "bad"}),
	}
	if m.classifier != "bayes" {
		m.perceptron = &perceptron{coded: m.classifier == "perceptronCoded", bias: a.Float("bias")}
	}
	return sched.PerNode{NodeModel: kept{m}}, nil
}

// RuleInfo describes the model load-rule, a control of the paper: the same beats and
// the same gate, and no classifier.
var RuleInfo = sched.Info{
	Name:    "load-rule",
	Use:     sched.ForControl,
	Summary: "starts a task on a node at every beat while its load is below a limit, and learns nothing",
	Source:  "heddle: the gate in the code of the paper on pattern classification, alone",
	Params: []sched.Param{
		param("target"), param("bins"), param("cpus"), param("period"),
		{Name: "gate", Type: sched.Float, Default: "1", Unit: "of the limit", Max: 10, Doc: "at which a node gets nothing; 0: no gate"},
		{Name: "chance", Type: sched.Float, Default: "1", Max: 1, Doc: "of assigning a task at a beat"},
		{Name: "seed", Type: sched.Int, Default: "1", Doc: "of chance"},
	},
	Build: func(a sched.Args) (sched.Model, error) {
		return sched.PerNode{NodeModel: loadRule{&learner{
			classifier: "none", utility: "constant", overload: "load", choose: "good", mapsUntil: "started", judgeAfter: 1, weights: [2]int64{1, 1},
			periodMs: a.Int("period") / 1e6, target: a.Float("target"), cpus: a.Float("cpus"), bins: a.Float("bins"), gate: a.Float("gate"),
			chance: a.Float("chance"), key: draw.Key(a.Int("seed")), bayes: newBayes(bayesRule{}),
		}}}, nil
	},
}

// param returns a parameter of the model learning.
func param(name string) sched.Param {
	return Info.Params[slices.IndexFunc(Info.Params, func(p sched.Param) bool { return p.Name == name })]
}

// Explain returns the probabilities and the features of the last decision.
func (m *learner) Explain() string {
	var text strings.Builder
	switch {
	case m.perceptron != nil:
		fmt.Fprintf(&text, "margin=%.4g", m.perceptron.margin(m.last))
	case m.classifier != "none":
		fmt.Fprintf(&text, "pGood=%.4g pBad=%.4g", m.bayes.product(m.last, good), m.bayes.product(m.last, bad))
	}
	for f, value := range m.last {
		fmt.Fprintf(&text, " %s=%d", strings.ReplaceAll(featureNames[f], " ", ""), value)
	}
	return strings.TrimSpace(text.String())
}

// loadRule is a learner whose classifier says good with a fixed chance. It is no
// sched.Learner, since there is nothing to keep.
type loadRule struct{ *learner }

func (loadRule) Name() string { return "load-rule" }
