package yarntest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Handlers of requests that submit applications. The fake cluster reads no
// files: an application that was submitted through REST is a MapReduce job of
// one map, which may run on any node.

func (c *Fake) newApplication(w http.ResponseWriter, r *http.Request) {
	id := c.nextID()
	c.write(w, r, naturalBare, "NewApplication", func(w *writer) {
		w.text("application-id", id)
		w.resource("maximum-resource-capability", c.cfg.MaxAllocation.MemoryMB, c.cfg.MaxAllocation.VCores)
	})
}

// submitApp refuses what Hadoop refuses in its answer. Like Hadoop's scheduler
// it refuses an unknown queue only after the answer: the application fails.
func (c *Fake) submitApp(w http.ResponseWriter, r *http.Request) {
	var body struct {
		ID       string `json:"application-id"`
		Name     string `json:"application-name"`
		Queue    string `json:"queue"`
		Priority int    `json:"priority"`
		AMLabel  string `json:"am-container-node-label-expression"`
		Label    string `json:"app-node-label-expression"`
		Resource struct {
			Memory int64
			VCores int
		} `json:"resource"`
		Tags struct{ Tag []string } `json:"application-tags"`
	}
	if !c.read(w, r, &body) {
		return
	}
	number, err := strconv.Atoi(body.ID[strings.LastIndexByte(body.ID, '_')+1:])
	if !strings.HasPrefix(body.ID, "application_") || err != nil || number > c.lastApp {
		c.refuse(w, r, http.StatusBadRequest, "BadRequestException", "Could not parse application id "+body.ID)
		return
	}
	if c.appByID[body.ID] != nil { // submitted before, by a call whose answer was lost
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if message := c.refusesSubmission(body.Resource.Memory, body.Resource.VCores, body.Tags.Tag, body.AMLabel, body.Label); message != "" {
		c.refuse(w, r, http.StatusBadRequest, "BadRequestException", message)
		return
	}
	user := r.URL.Query().Get("user.name")
	a := c.accept(body.ID, Job{
		Name: body.Name, User: user, Queue: body.Queue, Tags: strings.ToLower(strings.Join(body.Tags.Tag, ",")), Priority: body.Priority,
		AMLabel: body.AMLabel, MapLabel: body.Label, ReduceLabel: body.Label, Maps: [][]string{nil}, AMMemoryMB: body.Resource.Memory,
	})
	if c.cfg.Queues != nil && !slices.Contains(c.cfg.Queues, a.Queue) {
		c.finish(a, "FAILED", "FAILED")
		a.diagnostics = "Application " + a.id + " submitted by user " + user + " to unknown queue: " + a.Queue
	}
	w.Header().Set("Location", r.URL.Path+"/"+a.id)
	w.WriteHeader(http.StatusAccepted)
}

// refusesSubmission returns the message with which Hadoop refuses a submission
// in its answer, "" if it does not.
func (c *Fake) refusesSubmission(memoryMB int64, vcores int, tags []string, labels ...string) string {
	switch largest := c.cfg.MaxAllocation; {
	case memoryMB > largest.MemoryMB:
		return "Requested more memory than configured max"
	case vcores > largest.VCores:
		return "Requested more cores than configured max"
	case len(tags) > 50:
		return "Too many applicationTags, a maximum of only 50 are allowed!"
	}
	for _, tag := range tags {
		if len(tag) > 100 {
			return "Tag " + tag + " is too long, maximum allowed length of a tag is 100"
		}
	}
	for _, label := range labels {
		if _, known := c.labels[label]; label != "" && !known {
			return "Invalid label resource request, cluster do not contain , label= " + label
		}
	}
	return ""
}
