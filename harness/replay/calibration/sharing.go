package calibration

import (
	"cmp"
	"fmt"
	"math"

	"heddle/harness/replay/recorded"
	"heddle/harness/stats"
	"heddle/traces"
)

// sharing says which cores task attempts share with each other.
type sharing struct {
	node       float64 // fraction of a node's cores that the attempts on the node share; 0: attempts do not slow each other down
	host       float64 // number of cores that the attempts on all nodes share; 0: attempts share cores only on their node
	contention float64 // by which part attempts take longer for each further one on a core of the host, see sim.Slowed
	mastersUp  float64 // number of ApplicationMasters that are up when the host's cores are left to attempts; 0: not known
}

// shared is the sharing that was fitted.
func (c *Calibration) shared() sharing {
	return sharing{c.Sharing, c.HostCores, c.Contention, c.MastersUp}
}

// onHost is the sharing of attempts on all nodes of a lab.
func onHost(cores float64) sharing { return sharing{host: cores, contention: labContention} }

// labContention is the contention of attempts that share the cores of a lab's machine, and
// labMasterCores how many of its cores each further ApplicationMaster takes from them while
// it is up. With one, two and three of them, the workers of a lab used 1.78, 1.71 and 1.65
// of two cores.
const labContention, labMasterCores = 0.05, 0.065

func (s sharing) String() string {
	if s.host > 0 {
		return fmt.Sprint("host ", s.host)
	}
	return fmt.Sprint(s.node)
}

// fitSharing sets which cores attempts share. This is what is known of the cluster: the
// cores of the machine that its workers were measured to use while they had work for more,
// if the nodes are on one machine; otherwise the cores of each node, if the traces have
// them. A guess takes the place of what is known only if the traces
// tell that it is nearer to the truth.
//
// The likelihood of a way of sharing cores is that of the maps' ends, if the computing
// times that follow from it are log-normal around the mean of each workload: the density
// of a map's computing time, times the fraction of a core that the map had at its end.
// Each trace has the sum of the logarithms of its maps. The traces tell a guess if the
// mean of these sums is above that of what is known by the t-test, as in Vuong (1989,
// Econometrica 57, p. 307) with traces in place of single values, since the attempts of
// one trace share what disturbed them. The p-value is adjusted for the number of guesses.
func (c *Calibration) fitSharing(list []*recorded.Trace, hostCores float64) {
	c.SharingSpread = map[string]float64{}
	known, others, machine := knownSharing(list, hostCores), 0.0, hostCores
	for _, t := range list {
		machine = cmp.Or(machine, t.Header.Cluster.HostCores)
		for _, n := range t.Nodes {
			c.NodeCores = max(c.NodeCores, n.Cores)
		}
		others += t.Header.Cluster.OthersCores / float64(len(list))
	}
	list = sharingCost.measured(list)
	likely := c.likelihoods(list, known)
	var guesses []sharing
	var differences []stats.Comparison
	for _, part := range []float64{0, 1, 0.75, 0.5, 0.25, 0.125} {
		if s := (sharing{node: part}); s != known {
			guesses = append(guesses, s)
			differences = append(differences, stats.PairedDifference(likely, c.likelihoods(list, s)))
		}
	}
	most, chosen := 0.0, known
	for i, d := range stats.Together(differences) {
		if d.P < 1-stats.Level && d.Value > most+1e-3 { // of two that are alike, such as all under which no node has a core to spare, the first
			most, chosen = d.Value, guesses[i]
		}
	}
	c.Sharing, c.HostCores, c.Contention, c.SharingGuessed = chosen.node, chosen.host, chosen.contention, chosen != known
	if c.MastersUp = chosen.mastersUp; c.MastersUp > 0 {
		c.MasterCores = labMasterCores
	}
	if c.HostCores > 0 {
		c.OthersCores = others
	}
	if c.OthersCores >= leastOthers {
		c.Warnings = append(c.Warnings, fmt.Sprintf("other programs used %.2f of the machine's %.3g cores (%.0f %%) while the traces were "+
			"recorded: if they took them from the cluster, its tasks took longer for that, and the calibration supposes the same of "+
			"all runs", others, machine, 100*others/machine))
	}
}

// leastOthers is how many cores other programs must use for it to be said.
const leastOthers = 0.05

// knownSharing returns which cores attempts share by what is known of the cluster. The
// argument hostCores, if above 0, counts more than the traces. If it is 0, the workers'
// samples tell how many of the machine's cores the masters left to the attempts.
func knownSharing(list []*recorded.Trace, hostCores float64) sharing {
	if hostCores > 0 {
		return onHost(hostCores)
	}
	cores, used, up, n := 0.0, 0.0, 0.0, 0
	for _, t := range list {
		hostCores = cmp.Or(hostCores, t.Header.Cluster.HostCores)
		for _, n := range t.Nodes {
			cores = max(cores, n.Cores)
		}
		if x, masters := t.TaskCores(); x > 0 {
			used, up, n = used+x, up+masters, n+1
		}
	}
	if hostCores > 0 {
		s := onHost(hostCores)
		if n > 0 {
			s.host, s.mastersUp = min(hostCores, used/float64(n)), up/float64(n)
		}
		return s
	}
	if cores > 0 {
		return sharing{node: 1}
	}
	return sharing{}
}

// likelihoods returns, for each trace, the logarithm of the likelihood of its maps'
// computing times if attempts share cores in this way. It keeps the coefficient of
// variation of these times in SharingSpread.
func (c *Calibration) likelihoods(list []*recorded.Trace, s sharing) []float64 {
	logs := map[string][]float64{} // by workload
	ms := map[string][]float64{}
	of := make([][]sample, len(list))
	for i, t := range list {
		for _, m := range computed(t, s, 0, nil) {
			if m.kind == traces.Map && m.ms > 0 {
				of[i] = append(of[i], m)
				logs[m.workload], ms[m.workload] = append(logs[m.workload], math.Log(m.ms)), append(ms[m.workload], m.ms)
			}
		}
	}
	type normal struct{ mean, sd float64 }
	around := map[string]normal{}
	spread, n := 0.0, 0
	for _, w := range sortedKeys(logs) {
		if len(logs[w]) > 1 {
			around[w] = normal{stats.Mean(logs[w]).Value, max(stats.Deviation(logs[w]), leastDeviation)}
			spread += stats.Spread(ms[w]) * float64(len(ms[w]))
			n += len(ms[w])
		}
	}
	if n > 0 {
		c.SharingSpread[s.String()] = spread / float64(n)
	}
	sums := make([]float64, len(list))
	for i := range of {
		for _, m := range of[i] {
			if x, ok := around[m.workload]; ok {
				z := (math.Log(m.ms) - x.mean) / x.sd
				sums[i] += -math.Log(x.sd) - z*z/2 - math.Log(m.ms) + math.Log(m.lastPart)
			}
		}
	}
	return sums
}

// leastDeviation is the least standard deviation of the logarithms of computing times:
// times that are equal to the last digit tell no more than times that are within 0.1 %.
const leastDeviation = 0.001
