package yarntest

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"heddle/yarnclient"
)

const cluster = "/ws/v1/cluster"

func (c *Fake) routes() *http.ServeMux {
	m := http.NewServeMux()
	for pattern, serve := range map[string]http.HandlerFunc{
		"GET " + cluster + "/info":    c.info,
		"GET " + cluster + "/metrics": c.metrics,
		"GET " + cluster + "/nodes":   c.listNodes,
		"GET " + cluster + "/nodes/{node}": c.withNode(func(w http.ResponseWriter, r *http.Request, n *node) {
			c.write(w, r, natural, "node", func(w *writer) { c.writeNode(w, n) })
		}),
		"POST " + cluster + "/nodes/{node}/resource": c.withNode(c.setResource),
		"GET " + cluster + "/apps":                   c.listApps,
		"POST " + cluster + "/apps":                  c.submitApp,
		"POST " + cluster + "/apps/new-application":  c.newApplication,
		"GET " + cluster + "/apps/{app}": c.withApp(func(w http.ResponseWriter, r *http.Request, a *app) {
			c.write(w, r, natural, "app", func(w *writer) { c.writeApp(w, a, asksRequests(r)) })
		}),
		"GET " + cluster + "/apps/{app}/state":                            c.withApp(c.appState),
		"PUT " + cluster + "/apps/{app}/state":                            c.withApp(c.killApp),
		"GET " + cluster + "/apps/{app}/appattempts":                      c.withApp(c.listAttempts),
		"GET " + cluster + "/apps/{app}/appattempts/{attempt}/containers": c.withApp(c.listContainers),
		"GET " + cluster + "/scheduler":                                   c.scheduler,
		"GET " + cluster + "/scheduler-conf":                              c.schedulerConf,
		"PUT " + cluster + "/scheduler-conf":                              c.setSchedulerConf,
		"GET " + cluster + "/get-node-labels":                             c.nodeLabels,
		"GET " + cluster + "/get-node-to-labels":                          c.nodeToLabels,
		"POST " + cluster + "/add-node-labels":                            c.addLabels,
		"POST " + cluster + "/remove-node-labels":                         c.removeLabels,
		"POST " + cluster + "/replace-node-to-labels":                     c.replaceLabels,
		"/proxy/{app}/ws/v1/mapreduce/":                                   c.proxy,
		"GET /conf":                                                       c.property,
		"GET /ws/v1/history/":                                             c.history,
	} {
		m.HandleFunc(pattern, serve)
	}
	m.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html;charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<!DOCTYPE html><html><title>Sorry, got error 404</title></html>")
	})
	return m
}

func (c *Fake) info(w http.ResponseWriter, r *http.Request) {
	c.write(w, r, natural, "clusterInfo", func(w *writer) {
		w.num("id", c.id)
		w.text("haState", c.haState)
		w.text("resourceManagerVersion", c.version())
		w.text("hadoopVersion", c.version())
	})
}

// property answers a request for one configuration property of a daemon.
func (c *Fake) property(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name")
	value, set := c.cfg.Conf[name]
	if !set {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/xml;charset=utf-8") // Hadoop sends this answer, which is JSON, with the content type of XML
	_ = json.NewEncoder(w).Encode(map[string]any{"property": map[string]any{
		"key":   name,
		"value": value, "isFinal": false, "resource": "x-site.xml",
	}})
}

func (c *Fake) version() string {
	if c.cfg.Typed {
		return "3.5.0"
	}
	return "3.4.2"
}

func (c *Fake) metrics(w http.ResponseWriter, r *http.Request) {
	active := 0
	for _, n := range c.nodes {
		if n.state == "RUNNING" && c.up() {
			active++
		}
	}
	c.write(w, r, natural, "clusterMetrics", func(w *writer) {
		w.num("activeNodes", int64(active))
		if !c.cfg.QueuesUnsaid {
			w.num("rmEventQueueSize", 0)
			w.num("schedulerEventQueueSize", int64(c.labelEvents))
		}
	})
}

func (c *Fake) listNodes(w http.ResponseWriter, r *http.Request) {
	var states []string
	if s := r.URL.Query().Get("states"); s != "" {
		states = strings.Split(strings.ToUpper(s), ",")
	}
	var list []*node
	for _, n := range c.nodes {
		if c.up() && (states == nil || slices.Contains(states, n.state)) {
			list = append(list, n)
		}
	}
	c.write(w, r, natural, "nodes", func(w *writer) {
		w.list("node", len(list), func(i int) { c.writeNode(w, list[i]) })
	})
}

func (c *Fake) writeNode(w *writer, n *node) {
	w.text("rack", n.Rack)
	w.text("state", n.state)
	w.text("id", n.id)
	w.text("nodeHostName", n.Host)
	w.text("nodeHTTPAddress", n.Host+":8042")
	w.num("lastHealthUpdate", ms(n.seen))
	w.text("version", c.version())
	w.text("healthReport", "")
	w.num("numContainers", int64(len(n.containers)))
	w.num("usedMemoryMB", n.used.MemoryMB)
	w.num("availMemoryMB", n.total.MemoryMB-n.used.MemoryMB)
	w.num("usedVirtualCores", int64(n.used.VCores))
	if n.Label != "" {
		w.texts("nodeLabels", []string{n.Label})
	}
	w.resource("usedResource", n.used.MemoryMB, n.used.VCores)
	w.resource("totalResource", n.total.MemoryMB, n.total.VCores)
}

func (c *Fake) withNode(serve func(http.ResponseWriter, *http.Request, *node)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		id := r.PathValue("node")
		if !strings.Contains(id, ":") {
			c.refuse(w, r, http.StatusBadRequest, "IllegalArgumentException", "Invalid NodeId ["+id+"]. Expected host:port")
			return
		}
		n := c.byID[id]
		if n == nil || !c.up() {
			c.notFound(w, r, "nodeId, "+id+", is")
			return
		}
		serve(w, r, n)
	}
}

// setResource changes the memory and cores that a node offers. Unless
// overCommitTimeout is -1, containers that exceed the new size are killed at
// once, as in Hadoop.
func (c *Fake) setResource(w http.ResponseWriter, r *http.Request, n *node) {
	var body struct {
		Resource          struct{ Memory, VCores json.Number }
		OverCommitTimeout json.Number
	}
	if !c.read(w, r, &body) {
		return
	}
	memory, _ := body.Resource.Memory.Int64() // if the request has no memory size, the node's memory becomes 0, as in Hadoop
	cores, _ := body.Resource.VCores.Int64()
	n.total = yarnclient.Resource{MemoryMB: memory, VCores: int(cores)}
	if timeout, _ := body.OverCommitTimeout.Int64(); timeout >= 0 {
		for i := len(n.containers) - 1; i >= 0 && n.used.MemoryMB > n.total.MemoryMB; i-- {
			k := n.containers[i]
			c.reap(n, func(other *container) bool { return other == k })
			k.ended = true
			c.lost(k)
		}
	}
	c.write(w, r, natural, "resourceInfo", func(w *writer) {
		w.num("memory", n.total.MemoryMB)
		w.num("vCores", int64(n.total.VCores))
	})
}

// read decodes the JSON body of a request into v. It refuses a body that is not
// JSON, and ignores unknown names in it.
func (c *Fake) read(w http.ResponseWriter, r *http.Request, v any) bool {
	if kind := r.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/json") {
		c.refuse(w, r, http.StatusServiceUnavailable, "MessageException", "A message body reader was not found for "+kind)
		return false
	}
	d := json.NewDecoder(r.Body)
	if err := d.Decode(v); err != nil {
		c.refuse(w, r, http.StatusBadRequest, "WebApplicationException", err.Error())
		return false
	}
	return true
}

func (c *Fake) withApp(serve func(http.ResponseWriter, *http.Request, *app)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a := c.appByID[r.PathValue("app")]
		if a == nil || !c.up() {
			c.notFound(w, r, "app with id: "+r.PathValue("app"))
			return
		}
		serve(w, r, a)
	}
}

func (c *Fake) listApps(w http.ResponseWriter, r *http.Request) {
	if len(r.URL.RawQuery) > 64<<10 { // as Hadoop's server does
		c.refuse(w, r, http.StatusRequestURITooLong, "BadMessageException", "URI Too Long")
		return
	}
	q := r.URL.Query()
	one := func(key, value string) bool {
		return q.Get(key) == "" || slices.Contains(strings.Split(strings.ToLower(q.Get(key)), ","), strings.ToLower(value))
	}
	from, _ := strconv.ParseInt(q.Get("startedTimeBegin"), 10, 64)
	ended, _ := strconv.ParseInt(q.Get("finishedTimeBegin"), 10, 64)
	var list []*app
	for _, a := range c.apps {
		tagged := q.Get("applicationTags") == ""
		for tag := range strings.SplitSeq(a.Tags, ",") {
			tagged = tagged || tag != "" && one("applicationTags", tag)
		}
		timely := ms(a.submitted) >= from && ms(a.finished) >= ended
		if c.up() && tagged && one("states", a.state) && one("applicationTypes", "MAPREDUCE") && timely {
			list = append(list, a)
		}
	}
	c.write(w, r, natural, "apps", func(w *writer) {
		w.list("app", len(list), func(i int) { c.writeApp(w, list[i], asksRequests(r)) })
	})
}

func asksRequests(r *http.Request) bool {
	return !strings.Contains(r.URL.Query().Get("deSelects"), "resourceRequests")
}

func (c *Fake) writeApp(w *writer, a *app, requests bool) {
	state, containers := a.state, len(a.live)
	if a.hidden {
		state, containers = "ACCEPTED", 0
	}
	w.text("id", a.id)
	w.text("user", a.User)
	w.text("name", a.Name)
	w.text("queue", a.Queue)
	w.text("state", state)
	w.text("finalStatus", a.final)
	w.text("diagnostics", a.diagnostics)
	w.text("applicationType", "MAPREDUCE")
	w.text("applicationTags", a.Tags)
	w.num("priority", int64(a.priority))
	w.num("startedTime", ms(a.submitted))
	w.num("launchTime", ms(a.launched))
	w.num("finishedTime", ms(a.finished))
	if k := a.master; k != nil {
		w.text("amHostHttpAddress", k.node.Host+":8042")
		w.text("masterNodeId", k.node.id)
	}
	w.num("runningContainers", int64(containers))
	if requests && !a.hidden {
		c.writeRequests(w, a)
	}
	w.object("resourceInfo", func() { c.writeUse(w, a) })
	w.set("amNodeLabelExpression", a.AMLabel)
}

func (c *Fake) writeUse(w *writer, a *app) {
	pending := map[string]int64{"": 0}
	for k, n := range a.asks {
		if k.name == "*" && !a.hidden {
			pending[a.label(k.priority)] += int64(n) * a.memoryMB(k.priority)
		}
	}
	labels := slices.Sorted(maps.Keys(pending))
	w.list("resourceUsagesByPartition", len(labels), func(i int) {
		w.text("partitionName", labels[i])
		w.resource("pending", pending[labels[i]], 0)
	})
}

func (c *Fake) writeRequests(w *writer, a *app) {
	rows := make([]ask, 0, len(a.asks))
	for k := range a.asks {
		rows = append(rows, k)
	}
	slices.SortFunc(rows, func(x, y ask) int {
		if x.priority != y.priority {
			return x.priority - y.priority
		}
		return strings.Compare(x.name, y.name)
	})
	w.list("resourceRequests", len(rows), func(i int) {
		k := rows[i]
		w.num("priority", int64(k.priority))
		w.text("resourceName", k.name)
		w.num("numContainers", int64(a.asks[k]))
		w.set("nodeLabelExpression", a.label(k.priority))
	})
}

func (c *Fake) listAttempts(w http.ResponseWriter, r *http.Request, a *app) {
	c.write(w, r, natural, "appAttempts", func(w *writer) {
		w.list("appAttempt", a.attemptNo, func(i int) {
			w.text("appAttemptId", a.attemptID(i+1))
			master := a.master // of the last attempt, if it has not registered yet
			if i < len(a.masters) {
				master = a.masters[i]
			} else if i < a.attemptNo-1 || master == nil {
				w.text("containerId", "")
				w.text("nodeId", "")
				return
			}
			w.text("containerId", master.id)
			w.text("nodeId", master.node.id)
		})
	})
}

func (a *app) attemptID(n int) string {
	return "appattempt_" + a.serial + "_" + strings.Repeat("0", 6-len(itoa(n))) + itoa(n)
}

func (c *Fake) listContainers(w http.ResponseWriter, r *http.Request, a *app) {
	var live []*container
	if r.PathValue("attempt") == a.attemptID(a.attemptNo) && !a.hidden {
		live = a.live
	}
	c.write(w, r, mapped, "containers", func(w *writer) {
		w.list("container", len(live), func(i int) {
			k := live[i]
			w.text("containerId", k.id)
			w.text("assignedNodeId", k.node.id)
			w.num("priority", int64(k.priority))
		})
	})
}
