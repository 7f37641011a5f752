package paper

import "bufio"

// Live is an experiment on a cluster.
type Live struct {
	Experiment []byte // an experiment file
}

// LiveTable is what such a run came to.
type LiveTable struct {
	Run string `json:"run"`
}

func (t *LiveTable) writeText(w *bufio.Writer) {}
