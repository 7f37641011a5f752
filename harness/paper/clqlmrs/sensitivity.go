package clqlmrs

import (
	"heddle/harness/paper"
	"heddle/harness/sched"
	"heddle/harness/sim"
)

// variant is the simulated set-up with one choice changed. Each changed choice
// is one that the paper does not specify.
type variant struct {
	name  string
	x     testbed
	delay scheduler
	learn scheduler
}

func variants() []variant {
	var list []variant
	add := func(name string, change func(*variant)) {
		v := variant{name, standard, delay, learner}
		change(&v)
		list = append(list, v)
	}
	add("as taken", func(*variant) {})
	add("60 GB of input, 480 maps", func(v *variant) { v.x.maps = 480; v.learn = trainedFor("1000") })
	add("five applications at once", func(v *variant) { v.x.app = ""; v.learn = trainedFor("5000") })
	add("cache 4 GB", func(v *variant) { v.x.cacheGiB = 4 })
	add("heartbeat 0.3 s", func(v *variant) { v.x.beatMs = 300 })
	add("heartbeat 3 s", func(v *variant) { v.x.beatMs = 3000 })
	add("a container for 1 GB", func(v *variant) { v.x.containerGB = 1 })
	add("5,000 episodes", func(v *variant) { v.learn = trainedFor("5000") })
	add("Delay 1.5 s and 1.5 s", func(v *variant) { v.delay = delayed("1500ms") })
	add("Delay 5 s and 5 s", func(v *variant) { v.delay = delayed("5s") })
	add("disks of 60 MB/s", func(v *variant) { v.x.diskMBs = 60 })
	add("disks of 240 MB/s", func(v *variant) { v.x.diskMBs = 240 })
	add("compute times halved", func(v *variant) { v.x.computePct = 50 })
	add("compute times doubled", func(v *variant) { v.x.computePct = 200 })
	add("reduces from 5 % of the maps on", func(v *variant) { v.x.slowStart = 0.05 })
	add("links of 1 Gb/s", func(v *variant) { v.x.linkMbit = 1000 })
	add("through labels", func(v *variant) { v.x.actuator = sim.Labels })
	return list
}

func trainedFor(episodes string) scheduler {
	return scheduler{learner.label, learner.model, sched.Params{"episodes": episodes}}
}

func delayed(wait string) scheduler {
	return scheduler{delay.label, delay.model, sched.Params{"form": "time", "nodeWait": wait, "rackWait": wait}}
}

func sensitivity(b *paper.Bench) (*paper.Figure, error) {
	f := &paper.Figure{X: "taken otherwise", Columns: []string{
		"cached %", "FIFO cache %", "ACL cache %", "CLQLMRS cache %", "CLQLMRS saves against FIFO %", "… Delay %", "… ACL %",
	}}
	var cases []paper.Case
	for _, v := range variants() {
		cases = append(cases, fifo.in(v.x), v.delay.in(v.x), acl.in(v.x), v.learn.in(v.x))
	}
	trials, err := b.Trials(cases...)
	if err != nil {
		return nil, err
	}
	for i, v := range variants() {
		t := trials[4*i:]
		cache := func(k int) paper.Value { return rateOf(t[k], paper.CacheRate) }
		saves := func(k int) paper.Value {
			return paper.ValueOf(gain(paper.Each(t[k], paper.Seconds), paper.Each(t[3], paper.Seconds)))
		}
		f.Rows = append(f.Rows, paper.Row{Name: v.name, Cells: []paper.Value{given(paper.Each(t[0], paper.CachedShare)), cache(0), cache(2), cache(3), saves(0), saves(1), saves(2)}})
	}
	f.Notes = []string{"The time of five applications at once is the mean of the five jobs. For these the learner is trained for 5,000 episodes, for 480 maps for 1,000: of more see training."}
	return f, nil
}
