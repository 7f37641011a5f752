package yarntest

import (
	"net/http"
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
				})
			})
		})
	})
}
