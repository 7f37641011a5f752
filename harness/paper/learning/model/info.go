package model

import (
	"fmt"
	"strings"
	"time"

	"heddle/harness/sched"
	"heddle/harness/sim/draw"
)

// Info describes the model learning. Its defaults are as the paper prints them.
var Info = sched.Info{
	Name:    "learning",
	Use:     sched.ForLoad,
	Summary: "starts a task where a classifier, learning from the nodes' load, says that the node will not be overloaded",
	Source:  "Dhok, Varma, Using Pattern Classification for Task Assignment in MapReduce; code learnsched, Dec 2009",
	Params:  sched.ParamsOf[settings](),
	Build:   build,
}

// scale says when a node is overloaded, and how often it is decided for.
type scale struct {
	Target float64       `default:"1" unit:"load a CPU" min:"0.01" max:"100" text:"above which a node is overloaded"`
	Bins   float64       `default:"10" unit:"a load of 1" min:"0.1" max:"1000" text:"of the load average"`
	Cpus   float64       `unit:"CPUs" max:"1e4" text:"of a node; 0: the cores of its containers"`
	Period time.Duration `default:"5s" min:"1e6" max:"3.6e12" text:"between two decisions for a node"`
}

// settings are the parameters of the model learning.
type settings struct {
	scale
	Classifier string  `values:"bayes,perceptron,perceptronCoded" text:"bayes (the paper), or a perceptron as printed or as coded"`
	TrainOn    string  `values:"assignments,all" text:"judged decisions to learn from: those that assigned a task, or all (the code)"`
	Escape     string  `values:"none,forced" text:"whether a task starts on an empty node although all are bad (the code)"`
	Gate       float64 `unit:"of the limit" max:"10" text:"at which a node gets nothing; 0: no gate; 1: the code's"`
	bayesRule
	Boost      int64              `default:"1" unit:"samples" min:"1" max:"1000" text:"that a good judgement counts; the code: 2"`
	Score      string             `values:"product,posterior" text:"probability in the expected utility: the product, or divided by the sum of both"`
	Start      string             `values:"accept,refuse" text:"what to do before anything is learnt"`
	JudgeAfter int64              `default:"1" unit:"periods" min:"1" max:"1000" text:"after which a decision is judged"`
	Cap        int64              `unit:"samples" text:"after which nothing more is learnt; 0: none; the code: 10000"`
	Choose     string             `values:"good,all" text:"among the good candidates, or all (the code)"`
	MapsUntil  string             `values:"started,ended" text:"until when a job's maps have a utility: the last has started, or has ended (the code)"`
	TieKind    string             `values:"reduce,map" text:"of a job's map and reduce with equal utility"`
	Utility    string             `values:"constant,fifo,sjf,fair,priority,deadline,revenue,dedicated,budget" text:"of a task"`
	Budgets    map[string]float64 `text:"of pools, as pool=100,*=50, with utility=budget: each task costs its job's price, or 1"`
	Shares     map[string]float64 `text:"of the cluster promised to pools, as pool=0.3,*=0.1, with utility=dedicated"`
	Deficit    string             `values:"inverse,proportional" text:"utility of a pool below its share"`
	Overload   string             `values:"load,any,all" text:"load average; or any or all of load, user CPU, disk, network"`
	UserLimit  float64            `default:"0.95" unit:"of the CPUs" max:"1" text:"of user time, for overload any and all"`
	DiskLimit  float64            `default:"15" unit:"MB/s" max:"1e6" text:"read and written, for overload any and all"`
	NetLimit   float64            `default:"25" unit:"MB/s" max:"1e6" text:"received and sent, for overload any and all"`
	Bias       float64            `default:"0.2" max:"100" text:"of the perceptron; the paper does not give it"`
}

func build(a sched.Args) (sched.Model, error) {
	m := &learner{settings: sched.ValuesOf[settings](a), spent: map[string]float64{}}
	m.bayes = newBayes(m.bayesRule)
	if m.Classifier != "bayes" {
		m.perceptron = &perceptron{coded: m.Classifier == "perceptronCoded", bias: m.Bias}
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
	Params:  sched.ParamsOf[chances](),
	Build: func(a sched.Args) (sched.Model, error) {
		c := sched.ValuesOf[chances](a)
		return sched.PerNode{NodeModel: loadRule{&learner{settings: settings{
			scale: c.scale, Gate: c.Gate, Classifier: "none", Utility: "constant", Overload: "load", Choose: "good", MapsUntil: "started",
			JudgeAfter: 1, Boost: 1,
		}, chance: c.Chance, key: draw.Key(c.Seed), bayes: newBayes(bayesRule{})}}}, nil
	},
}

// chances are the parameters of load-rule.
type chances struct {
	scale
	Gate   float64 `default:"1" unit:"of the limit" max:"10" text:"at which a node gets nothing; 0: no gate"`
	Chance float64 `default:"1" max:"1" text:"of assigning a task at a beat"`
	Seed   int64   `default:"1" text:"of chance"`
}

// Explain returns the probabilities and the features of the last decision.
func (m *learner) Explain() string {
	var text strings.Builder
	switch {
	case m.perceptron != nil:
		fmt.Fprintf(&text, "margin=%.4g", m.perceptron.margin(m.last))
	case m.Classifier != "none":
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
