package measure

import (
	"heddle/harness/stats"
	"heddle/traces"
)

// Deadlines hold the ends of a class's jobs against their deadlines. Jobs
// without a deadline, and jobs that have not ended, are left out.
type Deadlines struct {
	Jobs   int `json:"jobs"`
	Missed int `json:"missed"` // those that ended after their deadline, failed or were killed
	// LatenessMs is how long after its deadline a job ended, 0 for one that ended
	// before. DistancePct is the time from a job's deadline to its end, in percent
	// of the time from its submission to its deadline. It is negative for a job
	// that ended before its deadline. Only jobs that succeeded count in both.
	LatenessMs  Distribution `json:"latenessMs"`
	DistancePct Distribution `json:"distancePct"`
}

// deadlinesOf returns nil if none of the jobs counts.
func deadlinesOf(jobs []*Job) *Deadlines {
	var d Deadlines
	var lateness, distance []float64
	for _, j := range jobs {
		if j.DeadlineMs <= 0 || j.CompletionMs < 0 {
			continue
		}
		d.Jobs++
		lateMs := j.CompletionMs - float64(j.DeadlineMs)
		if j.Outcome != traces.Succeeded || lateMs > 0 {
			d.Missed++
		}
		if j.Outcome == traces.Succeeded {
			lateness = append(lateness, max(0, lateMs))
			distance = append(distance, 100*lateMs/float64(j.DeadlineMs))
		}
	}
	if d.Jobs == 0 {
		return nil
	}
	d.LatenessMs, d.DistancePct = distributionOf(lateness), distributionOf(distance)
	return &d
}

// due returns the deadlines of the class's jobs, empty ones if it has none.
func (c *JobClass) due() *Deadlines {
	if c.Deadlines == nil {
		return &Deadlines{}
	}
	return c.Deadlines
}

// deadlineMetrics returns the metrics that hold jobs against their deadlines.
func deadlineMetrics() []Metric {
	missed := func(classes []*JobClass) (s stats.Share) {
		for _, c := range classes {
			s = s.Plus(stats.Share{Part: int64(c.due().Missed), Of: int64(c.due().Jobs)})
		}
		return s
	}
	lateness := func(c *JobClass) *Distribution { return &c.due().LatenessMs }
	distance := func(c *JobClass) *Distribution { return &c.due().DistancePct }
	list := []Metric{
		{
			Name: "missed", Unit: "%", Better: Lower, Text: "share of the jobs with a deadline that missed it, or did not succeed",
			part:   func(trials []*Figures) stats.Share { return missed(allJobs(trials)) },
			ofJobs: func(classes []*JobClass) float64 { return missed(classes).Percent() },
		},
		{
			Name: "missedJobs", Better: Lower, Text: "number of jobs that missed their deadline, or had one and did not succeed",
			ofJobs: func(classes []*JobClass) float64 {
				if s := missed(classes); s.Of > 0 {
					return float64(s.Part)
				}
				return stats.Share{}.Percent()
			},
		},
		{Name: "lateness", Unit: "s", Better: Lower, Text: "mean time from the deadline to the end of the jobs with a deadline that succeeded; 0 for one that met it", ofJobs: mean(lateness, 1000)},
	}
	list = append(list, spread("lateness", "s", "", "time from the deadline to the end, 0 if it was met", lateness, 1000)...)
	first := len(list)
	list = append(list, Metric{Name: "distance", Unit: "%", Better: Lower, Text: "mean time from a job's deadline to its end, in percent of the time that it had; negative if it met the deadline", ofJobs: mean(distance, 1)})
	list = append(list, spread("distance", "%", "", "time from the deadline to the end, in percent of the time that they had", distance, 1)...)
	for i := range list[first:] {
		list[first+i].Signed = true
	}
	return list
}

// allJobs returns the classes of all jobs of the trials.
func allJobs(trials []*Figures) []*JobClass {
	classes := make([]*JobClass, len(trials))
	for i, f := range trials {
		classes[i] = &f.AllJobs
	}
	return classes
}
