package yarntest

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

func (c *Fake) scheduler(w http.ResponseWriter, r *http.Request) {
	queue := func(w *writer, path, name string) {
		w.num("capacity", 100)
		w.num("maxCapacity", 100)
		w.text("queueName", name)
		w.text("queuePath", path)
	}
	seen := map[string]bool{"root.default": true}
	queues := []string{"root.default"}
	for _, a := range c.apps {
		if !seen[a.Queue] {
			seen[a.Queue] = true
			queues = append(queues, a.Queue)
		}
	}
	c.write(w, r, natural, "scheduler", func(w *writer) {
		w.object("schedulerInfo", func() {
			w.text("type", "capacityScheduler")
			queue(w, "root", "root")
			w.object("queues", func() {
				w.list("queue", len(queues), func(i int) {
					w.text("type", "capacitySchedulerLeafQueueInfo")
					queue(w, queues[i], strings.TrimPrefix(queues[i], "root."))
					w.text("state", "RUNNING")
					w.texts("nodeLabels", []string{"*"})
					if i == 0 { // all that is used counts as used in one queue
						w.object("resources", func() { c.writeUsed(w) })
					}
				})
			})
		})
	})
}

func (c *Fake) writeUsed(w *writer) {
	used := maps.Clone(c.leaked)
	for _, n := range c.nodes {
		used[n.sched] += n.used.MemoryMB
	}
	labels := slices.Sorted(maps.Keys(used))
	w.list("resourceUsagesByPartition", len(labels), func(i int) {
		w.text("partitionName", labels[i])
		w.resource("used", used[labels[i]], 0)
	})
}
