package config

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"heddle/harness/internal/units"
	"heddle/hibench"
)

// ExperimentSchema returns the JSON Schema of experiment files, with which
// editors check and complete them. It is made from the structs into which such
// files are read. It does not contain rules about two values, such as a label
// that occurs twice. Only ParseExperiment checks these.
func ExperimentSchema() []byte {
	return schema("heddle experiment", *defaultExperiment(), experimentKeys(), nil)
}

// ClusterSchema returns the JSON Schema of cluster files, with which editors
// check and complete them.
func ClusterSchema() []byte {
	return schema("heddle cluster", Cluster{}, clusterKeys(), object{"anyOf": []object{
		{"required": []string{"resourceManagers", "nameNodes", "historyServer"}},
		{"required": []string{"machines"}},
	}})
}

// keyDoc describes one key of an experiment or cluster file in a JSON Schema.
// The key's place is a path without indexes, such as "workloads.name".
type keyDoc struct {
	text     string
	required bool
	values   []string   // the texts that the key's value may have; nil if any text is allowed
	bounds   [2]float64 // smallest and largest number allowed; both 0 if any is
	one      []string   // lists of keys, separated by blanks, of which a file must have exactly one
}

func experimentKeys() map[string]keyDoc {
	splits := []string{SplitsAsSubmitted, SplitsCachedOnly, SplitsPlan}
	models := ModelNames()
	return map[string]keyDoc{
		"name":                 {text: "Part of the run folder's name; by default the file's name without its ending."},
		"cluster":              {text: "The name of a lab, or the path of a cluster file, which starts from this file's folder."},
		"workloads":            {text: "What runs: each workload, under each model, in each repeat.", required: true, one: []string{"name profile", "name size", "trace"}},
		"workloads.name":       {text: "One of HiBench's workloads, grep, streaming for synthetic tasks, or trace, which is the default if trace is given.", values: slices.Sorted(maps.Keys(workloadKinds))},
		"workloads.label":      {text: "The workload's name in trials and reports; by default its name."},
		"workloads.visits":     {text: "Rows of the table uservisits, for join, aggregation and scan. Give either this or profile."},
		"workloads.pages":      {text: "Rows of the table rankings, for join, aggregation and scan; 12 for 100 visits if missing."},
		"workloads.profile":    {text: "One of HiBench's sizes. Give either this or size.", values: hibench.Profiles()},
		"workloads.size":       {text: "The bytes of the input, such as 512MiB. Give either this or profile."},
		"workloads.maps":       {text: "How many maps write the input; 8 by default."},
		"workloads.reduces":    {text: "How many reduces write the output; 8 by default, none for streaming."},
		"workloads.regex":      {text: "The regular expression that grep looks for."},
		"workloads.settings":   {text: "Hadoop properties of the jobs. No secrets: they are written to files."},
		"workloads.jobs":       {text: "How many equal jobs run at once on the same input; 1 by default.", bounds: [2]float64{0, 100}},
		"workloads.pools":      {text: "Groups of jobs among which a model such as fair1 shares slots; the workload's jobs are in them in turn. By default each queue is one."},
		"workloads.cpu":        {text: "The CPU time of synthetic tasks for each MiB that they take in; 0 by default for streaming, and 20ms for traces without CPU times."},
		"workloads.mapOutput":  {text: "streaming: bytes that maps put out for each byte read; 1 by default.", bounds: [2]float64{0, 1000}},
		"workloads.output":     {text: "streaming: bytes that reduces write for each byte taken in; 1 by default.", bounds: [2]float64{0, 1000}},
		"workloads.taskMemory": {text: "streaming: memory that each task holds, besides its JVM's."},
		"workloads.trace":      {text: "The path of a trace whose jobs run, of any format that 'heddle trace import' knows. It starts from this file's folder."},
		"workloads.first":      {text: "How many of the trace's jobs run, the earliest ones; all by default.", bounds: [2]float64{0, maxTraceJobs}},
		"workloads.from":       {text: "A time of the trace; jobs submitted before it are left out."},
		"workloads.until":      {text: "A time of the trace; jobs submitted from then on are left out."},
		"workloads.speed":      {text: "Divides the times between submissions; 1 by default.", bounds: [2]float64{0, maxTraceSpeed}},
		"workloads.scale":      {text: "Multiplies bytes and recorded CPU times; 1 by default.", bounds: [2]float64{0, maxTraceScale}},
		"workloads.maxTasks":   {text: "The most maps, and the most reduces, of a job; fewer tasks carry the same bytes.", bounds: [2]float64{0, maxTraceTasks}},
		"workloads.queues":     {text: "The cluster's queue for each queue of the trace; * for all others. The cluster's own default queue by default."},
		"workloads.users":      {text: "The cluster's user for each user of the trace; * for all others. The cluster's own user by default."},
		"workloads.priorities": {text: "The priority on the cluster for each one of the trace; * for all others. None by default."},
		"models":               {text: "Scheduler models. yarn is the cluster's own scheduler, and all there is by default."},
		"models.label":         {text: "The model's name in trials and reports; by default its name."},
		"models.model":         {text: "The name of a model; 'heddle models' describes each.", required: true, values: models},
		"models.params":        {text: "Parameters that differ from the model's defaults."},
		"models.splits":        {text: "Replaces the experiment's splits for this model.", values: splits},
		"models.cluster":       {text: "Replaces the experiment's cluster for this model."},
		"repeats":              {text: "How often each workload runs under each model.", bounds: [2]float64{1, 10000}},
		"warmups":              {text: "Trials before the first measured one, which no figure counts.", bounds: [2]float64{0, maxWarmups}},
		"order":                {text: "The order of the models within a repeat; random by default.", values: []string{OrderRandom, OrderAsListed}},
		"seed":                 {text: "Decides the order of models and all other random choices.", bounds: [2]float64{0, 1<<64 - 1}},
		"actuator":             {text: "How decisions take effect: none leaves them to the cluster's scheduler, labels moves nodes into a job's label. Default: labels if a model other than yarn decides, else none.", values: []string{ActuatorNone, ActuatorLabels}},
		"splits":               {text: "Which hosts an ApplicationMaster sees for each split.", values: splits},
		"mapSlots":             {text: "Maps that a scheduler model runs on a worker at the same time, at most.", bounds: [2]float64{0, 1000}},
		"reduceSlots":          {text: "Reduces that a scheduler model runs on a worker at the same time, at most.", bounds: [2]float64{0, 1000}},
		"keepNodes":            {text: "Workers that steering leaves alone."},
		"cache":                {text: "Which part of the inputs is in the HDFS cache."},
		"cache.fraction":       {text: "The part of the input's bytes to cache, 0 to 1.", bounds: [2]float64{0, 1}},
		"cache.replicas":       {text: "How many replicas of each block are cached; 1 by default."},
		"cache.seed":           {text: "Chooses the files to cache; by default the experiment's seed.", bounds: [2]float64{0, 1<<64 - 1}},
		"cachePolicy":          {text: "Which blocks stay in memory; lru only with --simulate.", values: []string{CacheStatic, CacheLRU}},
		"speculation":          {text: "The rule that starts speculative attempts; late only with --simulate.", values: []string{SpeculationNone, SpeculationHadoop, SpeculationLATE}},
		"faults":               {text: "What goes wrong in each trial."},
		"faults.at":            {text: "When, after the trial's first submission."},
		"faults.node":          {text: "The worker that the fault is for."},
		"faults.rack":          {text: "The rack instead: all its workers."},
		"faults.what":          {text: "The kind of fault; failAttempts only with --simulate.", required: true, values: []string{FaultDown, FaultUp, FaultSlow, FaultFailAttempts}},
		"faults.speed":         {text: "A slow node's speed; 1 is its normal one.", bounds: [2]float64{0, 1000}},
		"faults.share":         {text: "The part of attempts that fail, 0 to 1.", bounds: [2]float64{0, 1}},
		"coldReads":            {text: "Drop the nodes' page caches before each trial."},
		"sampling":             {text: "How often the cluster is asked, each 10ms to 1h."},
		"sampling.locations":   {text: "For the locations of blocks and cached blocks."},
		"sampling.rm":          {text: "For ResourceManager and ApplicationMasters."},
		"sampling.agents":      {text: "For node metrics."},
		"thresholds":           {text: "What the trials must show, by metric: such as fifo < yarn * 1.1."},
		"thresholds.untold":    {text: "Whether a check fails if the trials are too few to tell: fail, or pass.", values: []string{UntoldFail, UntoldPass}},
		"sizeClasses":          {text: "Classes of jobs by their number of maps, for figures by size: the largest number of each class, and nothing for the class of all larger jobs."},
		"timeout":              {text: "Limit of one trial; 0 for none."}, "workloads.jobFailures": {text: "What happens when a job fails: count counts the job and goes on with the trial; end ends the trial. A trace counts by default, other workloads end.", values: []string{JobFailuresCount, JobFailuresEnd}},
	}
}

func clusterKeys() map[string]keyDoc {
	return map[string]keyDoc{
		"name":                 {text: "The cluster's name in run folders and messages; by default the file's name without its ending."},
		"resourceManagers":     {text: "Web addresses, such as http://rm:8088."},
		"nameNodes":            {text: "RPC addresses, such as namenode:8020."},
		"historyServer":        {text: "The job history server's web address, such as http://history:19888."},
		"user":                 {text: "The Hadoop user that runs jobs; by default the user of this process."},
		"security":             {text: "How users prove who they are; kerberos is not supported yet.", values: []string{SecuritySimple, SecurityKerberos}},
		"hosts":                {text: "Addresses of nodes whose names this machine cannot resolve."},
		"hadoop":               {text: "The Hadoop client on this machine."},
		"hadoop.home":          {text: "HADOOP_HOME, with bin/hadoop."},
		"hadoop.conf":          {text: "HADOOP_CONF_DIR, the configuration folder."},
		"agents":               {text: "The heddle agents, one on each node."},
		"agents.node":          {text: "The node's name, as Hadoop prints it.", required: true},
		"agents.url":           {text: "The agent's address, such as http://node:9177.", required: true},
		"agents.tokenFile":     {text: "The path of a file with the agent's token.", required: true},
		"agents.caFile":        {text: "The path of the certificate that verifies the agent."},
		"hive":                 {text: "The folder of a Hive 4.0 installation, for join, aggregation and scan; without one, heddle fetches Hive from Maven Central."},
		"hibench":              {text: "The folder of a HiBench checkout; without one, the same jobs run from Hadoop's examples."},
		"rates":                {text: "Speeds of disks and links, where they are known."},
		"rates.disk":           {text: "Of each node's disk, such as 180MB/s."},
		"rates.link":           {text: "Of each node's link, such as 10Gbit."},
		"rates.uplink":         {text: "Of each rack's uplink."},
		"rates.hostCores":      {text: "The cores that all nodes share, if they run on one machine."},
		"machines":             {text: "The nodes, for simulations."},
		"machines.nodes":       {text: "Workers in all.", required: true, bounds: [2]float64{1, 100_000}},
		"machines.racks":       {text: "Racks that the workers are spread over.", required: true, bounds: [2]float64{1, 100_000}},
		"machines.slots":       {text: "Containers that a worker runs at once.", required: true, bounds: [2]float64{1, 1000}},
		"machines.container":   {text: "The memory of a container.", required: true},
		"machines.cpus":        {text: "Cores of the workers, in the order of their names; a short list starts again. 0 is no limit.", bounds: [2]float64{0, 4096}},
		"machines.cache":       {text: "The size of each DataNode's HDFS cache."},
		"machines.blockSize":   {text: "Of new files.", required: true},
		"machines.replication": {text: "Of new files.", required: true, bounds: [2]float64{1, 100_000}},
		"machines.nmHeartbeat": {text: "The heartbeat interval of NodeManagers.", required: true},
		"machines.amHeartbeat": {text: "The heartbeat interval of ApplicationMasters.", required: true},
		"machines.nodeExpiry":  {text: "How long a node may be silent before it counts as lost; 10m by default."},
		"machines.scheduler":   {text: "YARN's scheduler.", values: []string{"capacity", "fair"}},
		"machines.async":       {text: "The capacity scheduler allocates without waiting for heartbeats."},
		"cgroup":               {text: "The control group of this machine that all processes of the cluster are in, such as heddle/lab, if it runs here."},
		"faults":               {text: "The commands that carry out faults, run without a shell: {node} is the node's name."},
		"faults.nodeDown":      {text: "Takes a node down."},
		"faults.nodeUp":        {text: "Brings a node back; must do no harm to one that runs."},
		"faults.nodeSlow":      {text: "Changes a node's speed, {speed}."},
	}
}

// object is a JSON object: a part of a JSON Schema.
type object map[string]any

// schema returns the JSON Schema of files that are read into a struct like
// defaults. The argument more contains further rules for the whole file.
func schema(title string, defaults any, docs map[string]keyDoc, more object) []byte {
	s := schemaOf(reflect.ValueOf(defaults), "", docs)
	s["$schema"], s["title"] = "https://json-schema.org/draft/2020-12/schema", title
	maps.Copy(s, more)
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("config: schema: " + err.Error()) // this cannot happen: a schema has only values that JSON can express
	}
	return append(data, '\n')
}

// schemaOf returns the JSON Schema of the values that decode reads into the
// variable v. The present value of v becomes the default.
func schemaOf(v reflect.Value, path string, docs map[string]keyDoc) object {
	doc := docs[path]
	s := typeOf(v, path, docs)
	if doc.text != "" {
		s["description"] = doc.text
	}
	if doc.values != nil {
		delete(s, "type")
		s["enum"] = doc.values
	}
	if doc.bounds != [2]float64{} {
		limited := s
		if items, ok := s["items"].(object); ok {
			limited = items
		}
		limited["minimum"], limited["maximum"] = doc.bounds[0], doc.bounds[1]
	}
	if !v.IsZero() && v.Kind() != reflect.Slice && v.Kind() != reflect.Struct {
		s["default"] = v.Interface()
	}
	return s
}

// typeOf returns the part of a JSON Schema that follows from the Go type of a
// value.
func typeOf(v reflect.Value, path string, docs map[string]keyDoc) object {
	t := v.Type()
	zero := func() reflect.Value { return reflect.Zero(t.Elem()) }
	pointer := reflect.New(t).Interface()
	switch pointer.(type) {
	case *units.Size:
		return object{"type": []string{"string", "integer"}, "pattern": `^ *[0-9]+(\.[0-9]+)? *(([kKmMgGtT][iI]?)?B|([kmgt]i?)?b)? *$`, "minimum": 0}
	case *units.Rate:
		return object{"type": []string{"string", "integer"}, "pattern": `^ *(0|[0-9]+(\.[0-9]+)? *[a-zA-Z]+(/s)?) *$`, "minimum": 0, "maximum": 0}
	case *units.Duration:
		return object{"type": []string{"string", "integer"}, "pattern": `^ *(0|([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|ms|s|m|h))+ *$`, "minimum": 0, "maximum": 0}
	case *SizeClasses:
		return object{"type": "object", "additionalProperties": object{"type": []string{"integer", "null"}, "minimum": 0}, "minProperties": 2, "maxProperties": maxSizeClasses}
	case *Threshold:
		return object{"type": "string", "pattern": `^ *\S+ +[<>] +\S+( +[*+-] +\S+)? *$`}
	}
	if _, ok := pointer.(encoding.TextUnmarshaler); ok {
		panic("config: schema of " + t.String() + " is not known")
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeOf(zero(), path, docs)
	case reflect.Struct:
		s := structureOf(v, path, docs)
		if _, ok := pointer.(interface{ shorten(string) }); ok { // a model may be given by its name alone, or by a mapping
			return object{"anyOf": []object{{"enum": docs[path+".model"].values}, s}}
		}
		return s
	case reflect.Map:
		return object{"type": "object", "additionalProperties": schemaOf(zero(), join(path, "*"), docs)}
	case reflect.Slice:
		element := typeOf(zero(), path, docs)
		s := object{"type": "array", "items": element}
		if docs[path].required {
			s["minItems"] = 1
		}
		return s
	case reflect.String: // texts such as 1.0 need no quotes in YAML and then are numbers, so allow these types too
		return object{"type": []string{"string", "number", "boolean"}}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Float64:
		return object{"type": "number"}
	}
	panic(fmt.Sprintf("config: schema of %v is not known", t))
}

func structureOf(v reflect.Value, path string, docs map[string]keyDoc) object {
	properties, required := object{}, []string{}
	_, grids := reflect.New(v.Type()).Interface().(gridded)
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
		if list, ok := v.Field(i).Interface().(listed); ok {
			for key, text := range list.keys() {
				element := typeOf(reflect.Zero(v.Field(i).Type().Elem()), join(path, key), docs)
				element["description"] = text
				properties[key] = element
			}
			continue
		}
		properties[name] = schemaOf(v.Field(i), join(path, name), docs)
		if grids && name != "label" {
			properties[name] = orList(properties[name].(object), v.Field(i).Type())
		}
		if docs[join(path, name)].required {
			required = append(required, name)
		}
	}
	s := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	for _, keys := range docs[path].one {
		either, _ := s["oneOf"].([]object)
		s["oneOf"] = append(either, object{"required": strings.Fields(keys)})
	}
	return s
}

// orList returns the JSON Schema of a key of a grid. Where the type t has a
// single value, it allows a list of values too.
func orList(s object, t reflect.Type) object {
	switch {
	case t.Kind() == reflect.Map && single(t.Elem()):
		s["additionalProperties"] = orList(s["additionalProperties"].(object), t.Elem())
	case single(t):
		text := s["description"]
		delete(s, "description")
		s = object{"anyOf": []object{s, {"type": "array", "items": s, "minItems": 1}}}
		if text != nil {
			s["description"] = text
		}
	}
	return s
}
