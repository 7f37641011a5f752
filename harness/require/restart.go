package require

import (
	"slices"
	"strings"
)

// Daemons are the daemons to restart after a change of the setting in its file,
// by the names that Hadoop's own commands have for them, in the order in which
// to restart them. The list is empty, not nil, if the next job sees the change.
func (s Setting) Daemons() []string {
	switch s.Restart {
	case "":
		return []string{}
	case allDaemons:
		return slices.Clone(RestartOrder)
	case nameAndData:
		return []string{"namenode", "datanode"}
	case history:
		return []string{"historyserver"}
	}
	return []string{strings.ToLower(s.Restart)}
}

// RestartOrder are Hadoop's daemons in the order in which to restart them:
// HDFS, which the others use, then YARN, then the history server.
var RestartOrder = []string{"namenode", "datanode", "resourcemanager", "nodemanager", "historyserver"}
