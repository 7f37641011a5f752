package yarntest

import (
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"heddle/yarnclient"
)

// Handlers of requests about one application: to read its state, to kill it,
// and to read or change its priority.

func (c *Fake) appState(w http.ResponseWriter, r *http.Request, a *app) {
	c.write(w, r, mapped, "appstate", func(w *writer) { w.text("state", a.state) })
}

func (c *Fake) killApp(w http.ResponseWriter, r *http.Request, a *app) {
	var body struct{ State string }
	if !c.read(w, r, &body) {
		return
	}
	if body.State != "KILLED" {
		c.refuse(w, r, http.StatusBadRequest, "BadRequestException", "Only 'KILLED' is allowed as a target state.")
		return
	}
	if !a.ended() {
		c.finish(a, "KILLED", "KILLED")
		w.Header().Set("Location", r.URL.Path)
		w.WriteHeader(http.StatusAccepted)
	}
	c.appState(w, r, a)
}

// Handlers of requests that list, add, remove or replace node labels.

var labelName = regexp.MustCompile(`^[0-9a-zA-Z][0-9a-zA-Z_-]{0,254}$`)

// known returns the node labels that the fake ResourceManager knows: none until
// it is active, as it loads them at its start.
func (c *Fake) known() []string {
	if !c.up() {
		return nil
	}
	return slices.Sorted(maps.Keys(c.labels))
}

func (c *Fake) nodeLabels(w http.ResponseWriter, r *http.Request) {
	names := c.known()
	c.write(w, r, mapped, "nodeLabelsInfo", func(w *writer) {
		w.list("nodeLabelInfo", len(names), func(i int) {
			w.text("name", names[i])
			w.flag("exclusivity", c.labels[names[i]])
			var sum yarnclient.Resource
			for _, n := range c.nodes {
				if n.Label == names[i] && n.state == "RUNNING" {
					sum.MemoryMB += n.total.MemoryMB
					sum.VCores += n.total.VCores
				}
			}
			w.object("partitionInfo", func() { w.resource("resourceAvailable", sum.MemoryMB, sum.VCores) })
		})
	})
}

func (c *Fake) writeLabel(w *writer, label string) {
	if label == "" {
		return
	}
	w.list("nodeLabelInfo", 1, func(int) {
		w.text("name", label)
		w.flag("exclusivity", c.labels[label])
	})
}

// labelled lists the nodes that have a node label, including names of nodes
// that do not exist.
func (c *Fake) labelled() (ids []string, labelOf map[string]string) {
	labelOf = maps.Clone(c.stored)
	for _, n := range c.nodes {
		if n.Label != "" {
			labelOf[n.id] = n.Label
		}
	}
	if !c.up() {
		clear(labelOf)
	}
	return slices.Sorted(maps.Keys(labelOf)), labelOf
}

func (c *Fake) nodeToLabels(w http.ResponseWriter, r *http.Request) {
	ids, labelOf := c.labelled()
	c.write(w, r, mapped, "nodeToLabelsInfo", func(w *writer) {
		w.entries("nodeToLabels", len(ids), func(i int) {
			w.text("key", ids[i])
			w.object("value", func() { c.writeLabel(w, labelOf[ids[i]]) })
		})
	})
}

func (c *Fake) badRequest(w http.ResponseWriter, r *http.Request, format string, args ...any) {
	c.refuse(w, r, http.StatusBadRequest, "BadRequestException", "java.io.IOException: "+fmt.Sprintf(format, args...))
}

func (c *Fake) addLabels(w http.ResponseWriter, r *http.Request) {
	var body struct {
		NodeLabelInfo []struct {
			Name        string
			Exclusivity bool
		}
	}
	if !c.read(w, r, &body) {
		return
	}
	for _, l := range body.NodeLabelInfo {
		if exclusive, known := c.labels[l.Name]; known && exclusive != l.Exclusivity {
			c.badRequest(w, r, "Exclusivity cannot be modified for an existing label with : <%s:exclusivity=%v>", l.Name, exclusive)
			return
		}
		if !labelName.MatchString(l.Name) {
			c.badRequest(w, r, "label name should only contain {0-9, a-z, A-Z, -, _} and should not started with {-,_}, now it is= %s", l.Name)
			return
		}
	}
	for _, l := range body.NodeLabelInfo {
		c.labels[l.Name] = l.Exclusivity
	}
}

func (c *Fake) removeLabels(w http.ResponseWriter, r *http.Request) {
	names := r.URL.Query()["labels"]
	for _, l := range names {
		if _, known := c.labels[l]; !known {
			c.badRequest(w, r, "Node label=%s to be removed doesn't existed in cluster node labels collection.", l)
			return
		}
	}
	for _, l := range names {
		delete(c.labels, l)
		for _, n := range c.nodes {
			if n.Label == l {
				c.setLabel(n, "")
			}
		}
	}
}

// replaceLabels answers a request to change the labels of nodes. It changes all
// the nodes of the request or none. Like Hadoop, it also stores labels of nodes
// that do not exist.
func (c *Fake) replaceLabels(w http.ResponseWriter, r *http.Request) {
	var body struct {
		NodeToLabels []struct {
			NodeID string
			Labels []string
		}
	}
	if !c.read(w, r, &body) {
		return
	}
	for _, move := range body.NodeToLabels {
		if len(move.Labels) > 1 {
			c.badRequest(w, r, "%d labels specified on host=%s, please note that we do not support specifying multiple labels on a single "+
				"host for now.", len(move.Labels), move.NodeID)
			return
		}
		for _, l := range move.Labels {
			if _, known := c.labels[l]; !known || !c.up() {
				c.badRequest(w, r, "Not all labels being replaced contained by known label collections, please check, new labels=[%s]", l)
				return
			}
		}
		if _, port, ok := strings.Cut(move.NodeID, ":"); ok {
			if _, err := strconv.Atoi(port); err != nil {
				c.refuse(w, r, http.StatusBadRequest, "IllegalArgumentException", "Invalid port: "+port)
				return
			}
		}
	}
	for _, move := range body.NodeToLabels {
		label := strings.Join(move.Labels, "")
		if n := c.byID[move.NodeID]; n != nil {
			if n.Label != label {
				c.setLabel(n, label)
			}
			continue
		}
		id := move.NodeID
		if !strings.Contains(id, ":") {
			id += ":0"
		}
		c.stored[id] = label
		if label == "" {
			delete(c.stored, id)
		}
	}
}

// Handlers of requests that list or change the Capacity scheduler's settings.

func (c *Fake) schedulerConf(w http.ResponseWriter, r *http.Request) {
	keys := slices.Sorted(maps.Keys(c.conf))
	c.write(w, r, mapped, "configuration", func(w *writer) {
		w.list("property", len(keys), func(i int) {
			w.text("name", keys[i])
			w.text("value", c.conf[keys[i]])
		})
	})
}

// setSchedulerConf stores the settings of a request. Only two of them change
// the fake scheduler: the maximum number of containers per heartbeat, and the
// locality delay.
func (c *Fake) setSchedulerConf(w http.ResponseWriter, r *http.Request) {
	type entry struct {
		Key   string `xml:"key"`
		Value string `xml:"value"`
	}
	type queue struct {
		Name    string  `xml:"queue-name"`
		Entries []entry `xml:"params>entry"`
	}
	var body struct {
		Update []queue `xml:"update-queue"`
		Global []entry `xml:"global-updates>entry"`
	}
	if err := xml.NewDecoder(r.Body).Decode(&body); err != nil {
		c.refuse(w, r, http.StatusBadRequest, "WebApplicationException", err.Error())
		return
	}
	const prefix = "yarn.scheduler.capacity."
	changes := body.Global
	for _, q := range body.Update {
		for _, e := range q.Entries {
			changes = append(changes, entry{prefix + q.Name + "." + e.Key, e.Value})
		}
	}
	for _, e := range changes {
		c.conf[e.Key] = e.Value
		n, err := strconv.Atoi(e.Value)
		if err != nil {
			continue
		}
		switch e.Key {
		case prefix + "per-node-heartbeat.maximum-container-assignments":
			c.cfg.MaxAssignments = max(n, 0)
		case prefix + "node-locality-delay":
			c.cfg.LocalityDelay = max(n, 0)
		}
	}
	_, _ = w.Write([]byte("Configuration change successfully applied."))
}
