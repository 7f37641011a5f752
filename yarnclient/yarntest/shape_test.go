package yarntest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/yarnclient/yarntest"
)

// TestShapesAreHadoops compares the fake's JSON with recorded answers of a real
// cluster: every name it writes must be there, with a value of the same kind
// (text, number, object, list), so that quoting and collapsed lists are right.
func TestShapesAreHadoops(t *testing.T) {
	f := newFixture(t, nil)
	id := f.submit(yarntest.Job{Maps: fourMaps, Reduces: 2, Slowstart: 1, MapLabel: "s00", Tags: "a", Run: minute})
	const rm = "/ws/v1/cluster"
	app, attempt := rm+"/apps/"+id, "/appattempts/"+strings.Replace(id, "application", "appattempt", 1)+"_000001/containers"
	job := "/ws/v1/mapreduce/jobs/" + strings.Replace(id, "application", "job", 1)
	task := job + "/tasks/" + strings.Replace(id, "application", "task", 1) + "_m_000000"
	same := func(path, recorded string) {
		t.Helper()
		resp, err := f.Transport().RoundTrip(must(http.NewRequest(http.MethodGet, "http://master:8042"+path, nil)))
		f.must(err)
		var got, want any
		f.must(json.NewDecoder(resp.Body).Decode(&got))
		text, err := os.ReadFile(filepath.Join("..", "testdata", "3.4.2", recorded))
		f.must(err)
		f.must(json.Unmarshal(text, &want))
		for _, problem := range differences("", got, want) {
			t.Errorf("%s against %s: %s", path, recorded, problem)
		}
	}
	same(rm+"/info", "info.json")
	same(rm+"/nodes", "nodes.json")
	same(rm+"/nodes?states=LOST", "nodes-none.json")
	same(rm+"/nodes/master:45454", "node-labelled.json")
	same(rm+"/get-node-labels", "node-labels.json")
	same(rm+"/get-node-to-labels", "node-to-labels-one.json")
	same(rm+"/apps?applicationTypes=none", "apps-none.json")
	same(rm+"/apps?applicationTags=a", "apps-one.json")
	same(app, "app-pending.json")
	same(app+"/state", "app-state.json")
	same(app+"/appattempts", "attempts-one.json")
	same(app+attempt, "containers-one.json")
	same("/proxy/"+id+job, "am-job.json")
	same("/proxy/"+id+job+"/tasks", "am-tasks-reduce.json")
	same("/proxy/"+id+task+"/attempts", "am-attempts-pending.json")

	f.label(map[string]string{"r1n1:45454": "s00"})
	f.clock.Advance(time.Second)
	same(rm+"/get-node-to-labels", "node-to-labels-many.json")
	same(app+attempt, "containers-many.json")
	same("/proxy/"+id+task+"/attempts", "am-attempts-running.json")
	f.must(f.rm.KillApp(f.ctx, id))
	same(app, "app-finished.json")
	job = strings.Replace(job, "/ws/v1/", "/ws/v1/history/", 1)
	same("/ws/v1/history/info", "hist-info.json")
	same(job, "hist-job.json")
	same(job+"/tasks", "hist-tasks.json")
	f.clock.Advance(time.Second)
	same(app+attempt, "containers-none.json")
}

func must(r *http.Request, err error) *http.Request {
	if err != nil {
		panic(err)
	}
	return r
}

// differences lists where got has what want has not.
func differences(path string, got, want any) []string {
	switch g := got.(type) {
	case map[string]any:
		w, ok := want.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is an object, not %T", path, want)}
		}
		var out []string
		for name, v := range g {
			if other, ok := w[name]; !ok {
				out = append(out, path+"."+name+" is not in the recording")
			} else {
				out = append(out, differences(path+"."+name, v, other)...)
			}
		}
		if len(g) == 0 && len(w) > 0 {
			out = append(out, path+" is empty")
		}
		return out
	case []any:
		w, ok := want.([]any)
		if !ok || len(w) == 0 {
			return []string{fmt.Sprintf("%s is a list, not %T", path, want)}
		}
		union := w[0]
		if _, ok := union.(map[string]any); ok { // elements differ in optional names
			all := map[string]any{}
			for _, element := range w {
				maps.Copy(all, element.(map[string]any))
			}
			union = all
		}
		var out []string
		for _, element := range g {
			out = append(out, differences(path+"[]", element, union)...)
		}
		return out
	}
	if fmt.Sprintf("%T", got) != fmt.Sprintf("%T", want) {
		return []string{fmt.Sprintf("%s is %v (%T), not %v (%T)", path, got, got, want, want)}
	}
	return nil
}
