package exchange

import (
	"bytes"

	"heddle/traces/internal/jsonscan"
	"heddle/traces/swim"
)

// detect tells a file's form by its first bytes, "" where it cannot.
func detect(head []byte) Form {
	text := bytes.TrimLeft(head, " \t\r\n")
	switch {
	case bytes.HasPrefix(text, []byte("Avro-Json")) || bytes.HasPrefix(text, []byte("Avro-Binary")):
		return JobHistory
	case len(text) > 0 && (text[0] == '{' || text[0] == '['):
		return detectJSON(text)
	}
	for _, err := range swim.Read(bytes.NewReader(head)) {
		if err == nil {
			return SWIM
		}
		break
	}
	return ""
}

// telling are the keys that only one form has at an object's top.
var telling = map[string]Form{
	"mapTasks": Rumen, "jobID": Rumen, "reduceTasks": Rumen, "jobtype": Rumen,
	"job.tasks": SLS, "job.start.ms": SLS, "job.queue.name": SLS, "job.id": SLS, "am.type": SLS, "yarn.sls.am.type": SLS, "num.nodes": SLS,
	"children": rumenTopology,
	"rack":     slsTopology, "nodes": slsTopology,
}

func detectJSON(head []byte) Form {
	s := jsonscan.NewScanner(bytes.NewReader(head))
	for s.Value() {
		s.Object()
		for first := true; s.More(&first, '}'); {
			if form, ok := telling[string(s.Key())]; ok {
				return form
			}
			s.Skip()
		}
	}
	return ""
}
