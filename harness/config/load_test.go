package config

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"heddle/harness/internal/golden"
	"heddle/harness/internal/units"
)

// parse reads a file as what its name says it is, as a command does that is to
// run it.
func parse(file string, data []byte) (any, error) {
	if strings.HasPrefix(filepath.Base(file), "cluster") || filepath.Base(file) == "physical.yaml" {
		c, err := ParseCluster(file, data)
		return c, err
	}
	return parseExperiment(file, data, (*Experiment).unsupported)
}

// Every file in testdata/broken is refused with the message in its .golden.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/broken/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files to test with: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = parse(filepath.Base(file), data)
			if err == nil {
				t.Fatalf("%s was accepted", file)
			}
			golden.Check(t, strings.TrimSuffix(file, ".yaml")+".golden", err.Error()+"\n")
		})
	}
}

// No message may hold what looks like a secret in a file.
func TestErrorsKeepSecrets(t *testing.T) {
	const secret = "c2VjcmV0"
	for _, content := range []string{
		"agents:\n- token: " + secret,
		"agents: [{token: " + secret + ", node: [}]",
		"token: " + secret,
		"password: \"" + secret,
		"{\"secret\": \"" + secret + "\"}",
		"resourceManagers: [\"http://u:" + secret + "@rm:8088\"]",
		"nameNodes: [\"u:" + secret + "@nn:8020\"]",
		"historyServer: ftp://u:" + secret + "@h",
		"token: " + secret + "\n  x: [",
	} {
		_, err := ParseCluster("c.yaml", []byte(content))
		if err == nil {
			t.Errorf("%q was accepted", content)
		} else if strings.Contains(err.Error(), secret) {
			t.Errorf("%q: the message tells the secret: %v", content, err)
		}
	}
}

func TestExamples(t *testing.T) {
	first, _ := must2(LoadExperiment("testdata/first.yaml"))
	want := &Experiment{
		Name: "first", Cluster: "lab",
		Workloads: []Workload{{Name: "wordcount", Label: "wordcount", Size: 64 * units.MiB, Maps: 4, Reduces: 2, Jobs: 1}},
		Models:    []Model{{Label: "yarn", Model: "yarn", Cluster: "lab"}}, Repeats: 3, Seed: 1,
		Behaviour: Behaviour{Actuator: "none", Splits: "asSubmitted"},
		Cache:     Cache{Seed: 1}, ColdReads: true, Reasons: true,
		Sampling: Sampling{
			Locations: units.Duration(time.Second), RM: units.Duration(200 * time.Millisecond), Agents: units.Duration(time.Second),
		},
		Thresholds: Thresholds{CannotTell: CannotTellFail},
		Timeout:    units.Duration(time.Hour),
	}
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("first.yaml (-want +got):\n%s", diff)
	}

	cache, _ := must2(LoadExperiment("testdata/cache.yaml"))
	if diff := cmp.Diff(Cache{Fraction: 0.5, Replicas: 1, Seed: 7}, cache.Cache); diff != "" {
		t.Errorf("cache.yaml, cache (-want +got):\n%s", diff)
	}
	// A decimal that YAML knows as a number reaches Hadoop as it was written.
	if got := cache.Workloads[0].Settings["mapreduce.job.reduce.slowstart.completedmaps"]; got != "1.0" {
		t.Errorf("cache.yaml, slowstart setting = %q, want 1.0", got)
	}
	if got := cache.Workloads[1].Jobs; got != 2 {
		t.Errorf("cache.yaml, jobs of terasort = %d, want 2", got)
	}
	fidelity, _ := must2(LoadExperiment("testdata/fidelity.yaml"))
	if got := len(fidelity.Trials()); got != 60 {
		t.Errorf("fidelity.yaml, trials = %d, want 60", got)
	}
	exact, _ := must2(LoadExperiment("testdata/exact.yaml"))
	// Only what has a plan is carried out by one.
	var splits []string
	for _, trial := range exact.Trials() {
		splits = append(splits, trial.Model.Model+" "+exact.Under(trial.Model).Splits)
	}
	slices.Sort(splits)
	if diff := cmp.Diff([]string{"planned plan", "yarn asSubmitted"}, splits); diff != "" {
		t.Errorf("exact.yaml, splits (-want +got):\n%s", diff)
	}
	cachedOnly, _ := must2(LoadExperiment("testdata/cachedonly.yaml"))
	if m := cachedOnly.Models; cachedOnly.Under(m[0]).Splits != SplitsAsSubmitted || cachedOnly.Under(m[1]).Splits != SplitsCachedOnly {
		t.Errorf("cachedonly.yaml, models %+v", m)
	}
	for _, e := range []*Experiment{first, cache, exact, cachedOnly} {
		if err := e.Supported(); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}

	blue := must(LoadCluster("testdata/physical.yaml"))
	if got, want := blue.Agents[1].TokenFile, "testdata/agent.token"; got != want {
		t.Errorf("physical.yaml, token file = %q, want %q: relative to the file", got, want)
	}
	if err := blue.Supported(); err != nil {
		t.Errorf("physical.yaml: %v", err)
	}
}

// TestWrittenClusterIsRead: the lab and run folders write cluster files.
func TestWrittenClusterIsRead(t *testing.T) {
	want := must(LoadCluster("testdata/physical.yaml"))
	want.Rates = Rates{Disk: 80e6, Uplink: 7_500_001, HostCores: 2}
	data := must(yaml.Marshal(want))
	got, err := ParseCluster("again.yaml", data)
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("error %v, as read again (-want +got):\n%s\n%s", err, diff, data)
	}
}

// TestOnePass: what is wrong with workloads, models and traces is told together,
// and what follows from a mistake that is told is not.
func TestOnePass(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	mustDo(t, os.WriteFile(file, []byte(`workloads:
  - {name: wordcuont, size: 1GiB}
  - {trace: nothere.tsv}
models: [yarn, delya, {model: delay, params: {nodeSkip: 3}}, "a b", {model: capacity, params: {queues: none.xml}}]
actuator: labels
thresholds: {makespan: [delay < delya]}
`), 0o644))
	_, _, err := LoadExperiment(file)
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		`mine.yaml:2:12: workloads[0].name: unknown workload "wordcuont"`,
		`mine.yaml:3:13: workloads[1].trace: stat ` + filepath.Join(filepath.Dir(file), "nothere.tsv") +
			`: no such file or directory; a relative path`,
		`mine.yaml:4:16: models[1]: no model "delya"; did you mean "delay"?`,
		`mine.yaml:4:57: models[2].params.nodeSkip: model delay: no parameter "nodeSkip"; did you mean "nodeSkips"?`,
		`mine.yaml:4:62: models[3]: "a b": want the name of a model`,
		`mine.yaml:4:104: models[4].params.queues: open ` + filepath.Join(filepath.Dir(file), "none.xml"),
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in one pass, have\n%v", want, err)
		}
	}
	var all *Error
	if errors.As(err, &all); len(all.Problems) != 6 {
		t.Errorf("%d problems, want 6:\n%v", len(all.Problems), err)
	}
}

func TestMissingFile(t *testing.T) {
	_, _, err := LoadExperiment("testdata/none.yaml")
	wantError(t, err, "testdata/none.yaml")
}

// TestActuatorByDefault: models of heddle's decide by labels unless the file says
// otherwise, since they would have no effect; YARN and plans of splits need none.
func TestActuatorByDefault(t *testing.T) {
	for content, want := range map[string]string{
		"":                                ActuatorNone,
		"models: [yarn]":                  ActuatorNone,
		"models: [yarn, delay]":           ActuatorLabels,
		"models: [planned]\nsplits: plan": ActuatorNone,
		"models: [yarn, {model: capacity, params: {queues: root.queues=default}}]":     ActuatorNone,
		"models: [planned, fifo]\nactuator: none":                                      ActuatorNone,
		"models: [yarn]\nactuator: labels":                                             ActuatorLabels,
		"models: [{model: planned, splits: plan}, {model: fifo, splits: asSubmitted}]": ActuatorLabels,
	} {
		e, err := ParseExperiment("e.yaml", []byte("workloads: [{name: sort, profile: tiny}]\n"+content))
		if err != nil || e.Actuator != want {
			t.Errorf("%s: %+v, %v; want actuator %s", content, e, err, want)
		}
	}
}

// TestReduces: a model for the reduces beside one for the maps is in the label and in
// the parameters, by which a trace's header knows it, and gets a seed of its own.
func TestReduces(t *testing.T) {
	e, err := ParseExperiment("e.yaml", []byte("workloads: [{name: sort, profile: tiny}]\nmodels: [{model: [delay, fifo], reduces: reduce-random}]"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"delay", "fifo"} {
		m := e.Models[i]
		if m.Label != want || m.Params["reduces"] != "reduce-random" {
			t.Errorf("label %s, parameters %v", m.Label, m.Params)
		}
		made := must(m.Scheduler(1))
		if made.Name() != want+"+reduce-random" {
			t.Errorf("model %s", made.Name())
		}
	}
	wantError(t, errOf(ParseExperiment("e.yaml", []byte("workloads: [{name: sort, profile: tiny}]\nmodels: [{model: yarn, reduces: fifo}]"))),
		"models[0].reduces: want none for yarn")
	if e, err = ParseExperiment("e.yaml", []byte("workloads: [{name: sort, profile: tiny}]\nmodels: [{model: delay, reduces: reduce-random}]")); err != nil || e.Models[0].Label != "delay-reduce-random" {
		t.Errorf("label %v, error %v", e.Models, err)
	}
	models := []Model{{Model: "delay", Params: map[string]string{}}}
	models[0].PlaceReduces("reduce-random")
	for text, want := range map[string]string{
		"reduces.seed=4":  "",
		"nodeSkips=3":     "",
		"reduces.skips=4": `has a parameter "skips"`,
	} {
		if err := SetParam(models, text); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	if want := map[string]string{"reduces": "reduce-random", "reduces.seed": "4", "nodeSkips": "3"}; !maps.Equal(models[0].Params, want) {
		t.Errorf("parameters %v, want %v", models[0].Params, want)
	}
}

func TestSupported(t *testing.T) {
	for content, want := range map[string]string{
		"models: [yarn, delay]\nactuator: none":                                                     `model "delay" has no effect with actuator none; set actuator: labels`,
		"models: [nosuch]\nactuator: labels":                                                        `nosuch`,
		"models: [delay]\nsplits: plan":                                                             `model "delay" makes no plan of splits`,
		"models: [yarn, {label: cached, model: yarn, splits: cachedOnly}]":                          "",
		"actuator: labels\nmodels: [delay, {label: patient, model: delay, params: {nodeSkips: 9}}]": "",
		"actuator: labels\nmodels: [{label: wrong, model: delay, params: {patience: \"9\"}}]":       "patience",
		"models: [yarn, delay]":                                                                     "",
		"models: [yarn, delay]\nactuator: labels":                                                   "",
		"actuator: labels": "",
		"models: [{model: delay, reduces: reduce-random, params: {nodeSkips: 9, reduces.groups: true}}]": "",
		"models: [{model: delay, reduces: reduce-rondom}]":                                               `reduces: no model "reduce-rondom"; did you mean "reduce-random"?`,
		"models: [{model: delay, reduces: reduce-random, params: {reduces.group: true}}]":                `no parameter "group"; did you mean "groups"?`,
	} {
		e, err := ParseExperiment("e.yaml", []byte("workloads: [{name: sort, profile: tiny}]\n"+content))
		if err != nil {
			t.Errorf("%s: %v; want it to be valid", content, err)
			continue
		}
		if err := e.Supported(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", content, err, want)
		}
	}
}

// TestKerberos: a secured cluster's file names where the proof lies, from the file's
// folder, or leaves it to the places that Kerberos' own programs take.
func TestKerberos(t *testing.T) {
	t.Setenv("KRB5CCNAME", "FILE:/run/tickets")
	t.Setenv("KRB5_CONFIG", "")
	const start = "resourceManagers: [https://rm:8090]\nnameNodes: [nn:8020]\nhistoryServer: https://h:19890\n"
	for text, want := range map[string]Kerberos{
		"security: kerberos\n": {TicketCache: "/run/tickets", Conf: "/etc/krb5.conf", NameNode: "nn/_HOST"},
		"security: kerberos\nkerberos: {principal: ann@A.ORG, keytab: ann.keytab, krb5Conf: krb5.conf, nameNode: hdfs/_HOST}\n": {
			Principal: "ann@A.ORG", Keytab: "/clusters/ann.keytab", Conf: "/clusters/krb5.conf", NameNode: "hdfs/_HOST",
		},
	} {
		c, err := ParseCluster("/clusters/blue.yaml", []byte(start+text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if *c.Kerberos != want || want.Principal != "" && c.User != "ann" {
			t.Errorf("%s: %+v as user %s, want %+v", text, *c.Kerberos, c.User, want)
		}
	}
	for text, want := range map[string]string{
		"kerberos: {principal: ann}\n":                                              "want security: kerberos too",
		"security: kerberos\nkerberos: {keytab: a}\n":                               "no principal",
		"security: kerberos\nkerberos: {principal: a, keytab: a, ticketCache: b}\n": "not both",
		"security: kerberos\nkerberos: {ticketCache: KEYRING:persistent:0}\n":       "kinit -c FILE",
		"security: kerberos\nkerberos: {nameNode: nn}\n":                            "such as nn/_HOST",
		"security: kerberos\nkerberos: {dataTransferProtection: much}\n":            "dataTransferProtection",
		"security: kerberos\nkerberos: {rpcProtection: some}\n":                     "rpcProtection",
		"security: kerberos\nkerberos: {principal: \"a\\nb\", keytab: a}\n":         "control characters",
		"security: kerberos\nkerberos: {password: secret}\n":                        "password",
	} {
		wantError(t, errOf(ParseCluster("/clusters/blue.yaml", []byte(start+text))), want)
	}
}
