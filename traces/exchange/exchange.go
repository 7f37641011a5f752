// Package exchange turns other tools' traces into heddle's and back: it opens
// files, tells their form by their content, gathers the cluster from topologies
// and hosts, and makes one trace of any number of files. What the forms are is
// in the packages rumen, sls, swim, jhist, perfetto and parquet.
package exchange

import "slices"

// Form is a form of trace.
type Form string

// Forms.
const (
	Rumen      Form = "rumen"
	SLS        Form = "sls"
	SWIM       Form = "swim"
	JobHistory Form = "jhist"
	Lines      Form = "jsonl"
	Parquet    Form = "parquet"
	Perfetto   Form = "perfetto"

	rumenTopology Form = "rumen topology"
	slsTopology   Form = "sls topology"
)

// Imports and Exports are the forms that can be read and written.
var (
	Imports = []Form{JobHistory, Rumen, SLS, SWIM}
	Exports = []Form{Lines, Parquet, Perfetto, Rumen, SLS, SWIM}
)

// Known is true for one of forms.
func (f Form) Known(forms []Form) bool { return slices.Contains(forms, f) }
