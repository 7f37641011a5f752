package change

import (
	"net/http"
	"testing"
	"testing/synctest"

	"heddle/yarnclient"
	"heddle/yarnclient/yarntest"
)

// TestFaultyCalls makes the calls of steering, and then those of restoring, go
// wrong in ways in which they may have been carried out or not.
func TestFaultyCalls(t *testing.T) {
	faults := map[string]yarntest.Fault{
		"no answer, carried out": {Apply: true, Hang: true},
		"no answer":              {Hang: true},
		"cut off, carried out":   {Apply: true, Drop: true},
		"not available":          {Status: http.StatusServiceUnavailable},
		"refused":                {Status: http.StatusBadRequest, Body: `{"RemoteException":{"exception":"BadRequestException","message":"no"}}`},
	}
	for _, path := range []string{
		"replace-node-to-labels", "/resource", "scheduler-conf", "remove-node-labels", "get-node-to-labels",
		"/nodes",
	} {
		for name, fault := range faults {
			t.Run(path+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld()
					app := w.longJob(t)
					before := w.state(t)
					h := take(t, w)
					steer(t, h, app)
					fault.Path = path
					w.yarn.Inject(fault)
					// Steering goes on although its calls fail.
					_ = h.ReplaceLabels(t.Context(), map[string]string{"r2n1:45454": "a07"})
					_ = h.SetNodeResource(t.Context(), "r2n1:45454", yarnclient.Resource{MemoryMB: 512, VCores: 1})
					h.die()
					w.yarn.Inject(fault)
					for try := 1; ; try++ {
						r, err := Restore(t.Context(), w.cluster(), RestoreOptions{})
						if err == nil && r.Err() == nil {
							if len(r.Kept) > 0 { // as if a queue named it
								before.Labels["m01"] = true
							}
							break
						}
						if err != nil || try == 3 {
							t.Fatal("try ", try, ": ", err, r.Err())
						}
					}
					w.same(t, before)
				})
			})
		}
	}
}

// TestLabelRemovedMeanwhile: what cannot be put back any more does not stay in
// the way for ever.
func TestLabelRemovedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		mustDo(t, w.rm.ReplaceLabels(t.Context(), map[string]string{node1: "a07"}))
		h := take(t, w)
		mustDo(t, h.ReplaceLabels(t.Context(), map[string]string{node1: "idle"}))
		mustDo(t, w.rm.RemoveLabels(t.Context(), "a07"))
		r, err := h.Release(t.Context())
		if err != nil || r.Err() != nil || len(r.Kept) != 1 {
			t.Errorf("%+v, %v", r, err)
		}
		if label := w.state(t).LabelOf[node1]; label != "" {
			t.Errorf("the node has %s", label)
		}
	})
}

// TestAddedLabelInUse stays.
func TestAddedLabelInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		h := take(t, w)
		mustDo(t, h.AddLabels(t.Context(), "m01", "m02", "m03"))
		mustDo(t, w.rm.ReplaceLabels(t.Context(), map[string]string{node1: "m01"}))
		must(w.yarn.Submit(yarntest.Job{MapLabel: "m02", Maps: make([][]string, 1)}))
		pass(2 * lookEvery)
		r, err := h.Release(t.Context())
		if err != nil || len(r.Kept) != 2 || len(r.Back) != 1 || r.Back[0].Name != "m03" {
			t.Errorf("%+v, %v", r, err)
		}
	})
}
