package report

import (
	"fmt"

	"heddle/harness/doc"
	"heddle/harness/measure"
)

// words explains the words of a page that readers cannot know from elsewhere: those of
// heddle, of statistics, and the names of metrics.
func (p *page) words() doc.Doc {
	list := doc.Glossary{
		{Name: "not told", Text: "The repeats are too few, or differ too much among themselves, to say that there is a difference. It does not say that there is none."},
		{Name: "95 % interval", Text: "The two numbers in brackets. If all was done again many times, such an interval would hold the true value in 95 of 100 times. A difference whose interval holds 0 is not told."},
		{Name: "p=", Text: "How often repeats would differ as much by chance alone, if the models did not differ: p=0.02 is 2 of 100 times. A difference is told from p<0.05 on. It is corrected for the number of pairs that are compared together."},
		{Name: "n", Text: "How many trials a value is of."},
		{Name: "noise floor", Text: "How much repeats of one and the same trial differ among themselves: their standard deviation, in percent of the mean. A difference or an error below it cannot be told from chance by one trial."},
		{Name: "trial", Text: "One workload that ran once under one model. Trials of one repeat ran shortly after each other and with the same seeds, so that they make pairs."},
		{Name: "recorded", Text: "What the trace itself says, before it was replayed."},
		{Name: "untold", Text: "A threshold that is not told: neither met nor missed."},
		{Name: "honoured", Text: "A decision is honoured if a container of the decided job and kind started on the decided node, and none in its place."},
		{Name: "as predicted", Text: "ApplicationMasters choose themselves which map runs in a container. A map is as predicted if it is the one that heddle expected by their rules."},
		{Name: "splits", Text: "Which hosts of each part of their input ApplicationMasters see. asSubmitted: all that have a replica. cachedOnly: those that have it in their cache. plan: the one that the model chose."},
		{Name: "asSubmitted", Text: "ApplicationMasters see all hosts of their input, as jobs were submitted."},
		{Name: "actuator", Text: "How a model's decisions become containers. none: the cluster's own scheduler decides. labels: a decision moves a node into the job's label. ideal: at once, only in simulations."},
		{Name: "schedule digest", Text: "A short fingerprint of which attempt ran on which node from when to when. Two trials with the same one ran in the same way."},
		{Name: "trace digest", Text: "A fingerprint of all that a trace says."},
		{Name: "SHA-256", Text: "A fingerprint of a file. sha256sum FILE prints it: if it is the same, the file is."},
		{Name: "seed", Text: "Where random numbers begin. A simulation with the same seed and the same inputs gives the same result."},
		{Name: "uncalibrated", Text: "Tasks take typical times of a small cluster. With --calibration they take those that were measured on yours."},
		{Name: "of means", Text: "The error of the mean over all trials. It is smaller than that of single trials, whose errors partly cancel out."},
		{Name: "made up", Text: "The recording does not have it, so that heddle chose it by a rule. Figures that rest on it say nothing about the cluster."},
		{Name: "locality", Text: "How near a map ran to its input: in the cache or on the disk of its node, on another node of its rack, or off its rack."},
		{Name: "by replicas and caches", Text: "Locality by where the blocks of the input were when the map started."},
		{Name: "by split hosts", Text: "Locality by the hosts that the ApplicationMaster saw, as Hadoop's own counters have it."},
		{Name: "mean completion", Text: "The mean time of jobs from their submission to their end."},
	}
	known, _ := measure.Find([]string{"all"}) // the name is known
	for _, m := range known {
		list = append(list, doc.Term{Name: m.Name, Text: fmt.Sprintf("%s. %s is better.", capital(m.Text), capital(string(m.Better)))})
	}
	return doc.Doc{doc.Heading("Words"), list}
}
