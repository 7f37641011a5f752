package clqlmrs

import (
	"fmt"

	"heddle/harness/paper"
	"heddle/harness/stats"
)

// ownRules returns our own statements about CLQLMRS, which the paper does not
// make, each with the function that judges it.
func ownRules() []paper.Rule {
	return []paper.Rule{
		{
			ID: "F1", Parts: []string{"learning"}, Own: true, Unit: "times matching's", Published: "-",
			Text:  "SARSA with a reward per step reaches 0.8 of matching's cache rate and 0.9 of its local rate in all three environments; ours is the lowest cache ratio",
			Judge: withLearnt(nearlyMatches),
		},
		{
			ID: "F2", Parts: []string{"learning"}, Own: true, Unit: "times matching's", Published: "-",
			Text:  "a cumulative reward falls below half of matching's cache rate with 20 maps",
			Judge: withLearnt(cumulativeFails),
		},
		{
			ID: "F3", Parts: []string{"learning"}, Own: true, Unit: "points", Published: "-",
			Text:  "Q-learning and SARSA (reward per step) differ by less than 5 points of cache rate in all three environments; ours is the largest difference",
			Judge: withLearnt(updatesAgree),
		},
		{
			ID: "F4", Parts: []string{"learning", "acl"}, Own: true, Unit: "points", Published: "-",
			Text:  "where a job fills the cluster once (8x1, three replicas), an ACL that waits for slots to come free again has more cache hits than the learner, which never waits, and takes longer",
			Judge: withLearnt(patienceHitsMore),
		},
		{
			ID: "F5", Parts: []string{"bound"}, Own: true, Unit: "% of cached blocks", Published: "-",
			Text:  "with several waves the learner reads at least 90 % of the cached blocks from the cache (8 GB, 100 maps)",
			Judge: readsTheCached,
		},
		{
			ID: "F6", Parts: []string{"training"}, Own: true, Unit: "points", Published: "-",
			Text:  "trained until epsilon is 0.01, the learner has fewer cache hits than after 5,000 episodes",
			Judge: longTrainingHarms,
		},
		{
			ID: "F7", Parts: []string{"acl"}, Own: true, Unit: "%", Published: "8.98 over five applications",
			Text:  "learning saves time against ACL (WordCount, 100 maps)",
			Judge: savesTime,
		},
		{
			ID: "F8", Parts: []string{"actuators"}, Own: true, Unit: "%", Published: "-",
			Text:  "labels with planned splits take less than 5 % longer than decisions carried out at once",
			Judge: labelsCost,
		},
	}
}

// Indexes of schedulers in the variable learners, a list of the schedulers that
// are compared.
const (
	iFIFO, iACL, iLearner, iCumulative, iQ, iMatching, iPatient = 0, 1, 2, 3, 4, 7, 8
)

// withLearnt returns a function that simulates all schedulers of the variable
// learners on all small clusters of the variable environments, and then calls
// judge with the results.
func withLearnt(judge func(t environmentTrials) paper.Judgement) func(*paper.Bench) (paper.Judgement, error) {
	return func(b *paper.Bench) (paper.Judgement, error) {
		t, err := learnt(b)
		if err != nil {
			return paper.Judgement{}, err
		}
		return judge(t), nil
	}
}

// toMatching returns a scheduler's locality rate on a small cluster, divided by
// the rate of the scheduler "matching" there.
func (l environmentTrials) toMatching(scheduler, environment int, of paper.Rate) stats.Estimate {
	return times(l.rate(iMatching, environment, of), l.rate(scheduler, environment, of))
}

func nearlyMatches(t environmentTrials) paper.Judgement {
	j := paper.Judgement{Ours: stats.Estimate{Value: 1e9}, Verdict: paper.Holds}
	local := stats.Estimate{Value: 1e9}
	for k := range environments {
		if e := t.toMatching(iLearner, k, paper.CacheRate); e.Value < j.Ours.Value {
			j.Ours = e
		}
		if e := t.toMatching(iLearner, k, paper.LocalRate); e.Value < local.Value {
			local = e
		}
	}
	if j.Ours.Value < 0.8 || local.Value < 0.9 {
		j.Verdict = paper.Fails
	}
	j.Note = "lowest local ratio " + paper.Text(local, "")
	return j
}

func cumulativeFails(t environmentTrials) paper.Judgement {
	j := paper.Judgement{Ours: t.toMatching(iCumulative, 2, paper.CacheRate), Verdict: paper.Fails}
	lost := more(t.rate(iCumulative, 2, paper.CacheRate), t.rate(iLearner, 2, paper.CacheRate))
	switch {
	case j.Ours.Hi < 0.5:
		j.Verdict = paper.Holds
	case lost.Lo > 0:
		j.Verdict = paper.Direction
	}
	j.Note = fmt.Sprintf("the reward per step hits %s more: a cumulative one pays ever more for the most frequent class", paper.Text(lost, "points"))
	return j
}

func updatesAgree(t environmentTrials) paper.Judgement {
	j := paper.Judgement{Verdict: paper.Holds}
	for k := range environments {
		e := more(t.rate(iLearner, k, paper.CacheRate), t.rate(iQ, k, paper.CacheRate))
		if e.Value*e.Value >= j.Ours.Value*j.Ours.Value {
			j.Ours = e
		}
		if e.Lo < -5 || e.Hi > 5 {
			j.Verdict = paper.Fails
		}
	}
	j.Note = "Q-learning's rate less SARSA's"
	return j
}

func patienceHitsMore(t environmentTrials) paper.Judgement {
	e := more(t.rate(iLearner, 0, paper.CacheRate), t.rate(iPatient, 0, paper.CacheRate))
	wait := longer(t.seconds(iLearner, 0), t.seconds(iPatient, 0))
	j := paper.Judgement{Ours: e, Verdict: paper.Fails}
	if e.Lo > 0 && wait.Lo > 0 {
		j.Verdict = paper.Holds
	}
	j.Note = fmt.Sprintf("local %s more, time %s longer; ACL with C = 3: cache %s more, local %s more, time %s longer; FIFO hits %s",
		paper.Text(more(t.rate(iLearner, 0, paper.LocalRate), t.rate(iPatient, 0, paper.LocalRate)), "points"), paper.Text(wait, "%"),
		paper.Text(more(t.rate(iLearner, 0, paper.CacheRate), t.rate(iACL, 0, paper.CacheRate)), "points"),
		paper.Text(more(t.rate(iLearner, 0, paper.LocalRate), t.rate(iACL, 0, paper.LocalRate)), "points"),
		paper.Text(longer(t.seconds(iLearner, 0), t.seconds(iACL, 0)), "%"), paper.Text(stats.MeanShare(t.rate(iFIFO, 0, paper.CacheRate)), "%"))
	return j
}

func readsTheCached(b *paper.Bench) (paper.Judgement, error) {
	t, err := b.Trials(learner.in(standard), matching.in(standard), fifo.in(standard), classes.in(standard))
	if err != nil {
		return paper.Judgement{}, err
	}
	of := func(i int) stats.Estimate { return stats.MeanShare(paper.Each(t[i], paper.HitShare)) }
	j := paper.Judgement{Ours: of(0), Verdict: paper.Fails}
	if j.Ours.Lo > 90 {
		j.Verdict = paper.Holds
	}
	j.Note = fmt.Sprintf("matching %s, FIFO %s, a table of classes, which needs no training for the job, %s", paper.Text(of(1), ""), paper.Text(of(2), ""), paper.Text(of(3), ""))
	return j, nil
}

func longTrainingHarms(b *paper.Bench) (paper.Judgement, error) {
	t, err := b.Trials(learner.in(standard), trainedFor("5000").in(standard))
	if err != nil {
		return paper.Judgement{}, err
	}
	e := more(paper.Each(t[0], paper.CacheRate), paper.Each(t[1], paper.CacheRate))
	return paper.Judgement{Ours: e, Verdict: paper.Above(e, 0), Note: fmt.Sprintf("after 5,000 also local ones %s more; the values of what it no longer tries are stale when nodes come free in another order",
		paper.Text(more(paper.Each(t[0], paper.LocalRate), paper.Each(t[1], paper.LocalRate)), "points"))}, nil
}

func savesTime(b *paper.Bench) (paper.Judgement, error) {
	t, err := b.Trials(acl.in(standard), learner.in(standard), matching.in(standard))
	if err != nil {
		return paper.Judgement{}, err
	}
	seconds := func(i int) []float64 { return paper.Each(t[i], paper.Seconds) }
	e := gain(seconds(0), seconds(1))
	return paper.Judgement{Ours: e, Verdict: paper.Above(e, 0), Note: fmt.Sprintf("cache hits %s more; matching, which learns nothing, saves %s",
		paper.Text(more(paper.Each(t[0], paper.CacheRate), paper.Each(t[1], paper.CacheRate)), "points"), paper.Text(gain(seconds(0), seconds(2)), "%"))}, nil
}

func labelsCost(b *paper.Bench) (paper.Judgement, error) {
	_, cases := carried()
	t, err := b.Trials(cases[:3]...)
	if err != nil {
		return paper.Judgement{}, err
	}
	cost := func(i int) stats.Estimate {
		return longer(paper.Each(t[0], paper.Seconds), paper.Each(t[i], paper.Seconds))
	}
	j := paper.Judgement{Ours: cost(2), Verdict: paper.Fails}
	if j.Ours.Hi < 5 {
		j.Verdict = paper.Holds
	}
	j.Note = fmt.Sprintf("labels alone %s longer, with %s of maps from the cache against %s planned and %s at once; what is left is the wait for the ApplicationMaster's heartbeat, which YARN's own scheduler pays as well", paper.Text(cost(1), "%"),
		paper.Text(stats.MeanShare(paper.Each(t[1], paper.CacheRate)), "%"), paper.Text(stats.MeanShare(paper.Each(t[2], paper.CacheRate)), ""), paper.Text(stats.MeanShare(paper.Each(t[0], paper.CacheRate)), ""))
	return j, nil
}
