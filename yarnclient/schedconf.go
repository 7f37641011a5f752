package yarnclient

import (
	"bytes"
	"context"
	"encoding/xml"
	"maps"
	"net/http"
	"slices"
)

// SchedulerConf returns the Capacity scheduler's current settings; the key is
// the full property name. The cluster must set
// yarn.scheduler.configuration.store.class to another value than "file".
func (rm *RM) SchedulerConf(ctx context.Context) (map[string]string, error) {
	r := request{path: "/ws/v1/cluster/scheduler-conf", accept: asXML}
	list, err := get[[]property](ctx, rm.c, r, "configuration", "property")
	if err != nil {
		return nil, err
	}
	return propertyMap(list), nil
}

// SchedulerChange is a change of the Capacity scheduler's settings. Hadoop
// carries out all parts of the change or none, in the order of the struct's
// fields.
type SchedulerChange struct {
	Update []QueueSettings
	// Global has settings of the whole scheduler, by full property name.
	// They cannot be unset: Hadoop 3.4 stores an empty value as a value.
	Global map[string]string
}

// QueueSettings are settings of one queue of the Capacity scheduler.
type QueueSettings struct {
	Queue string // path of the queue, such as root.a
	// Settings are the queue's settings. The key is the part of the property
	// name after yarn.scheduler.capacity.<queue>. An empty value removes a
	// setting.
	Settings map[string]string
}

// Set adds a setting to the change: one of a queue or, if queue is empty, of the whole scheduler.
func (c *SchedulerChange) Set(queue, name, value string) {
	settings := &c.Global
	if queue != "" {
		i := slices.IndexFunc(c.Update, func(q QueueSettings) bool { return q.Queue == queue })
		if i < 0 {
			i = len(c.Update)
			c.Update = append(c.Update, QueueSettings{Queue: queue})
		}
		settings = &c.Update[i].Settings
	}
	if *settings == nil {
		*settings = map[string]string{}
	}
	(*settings)[name] = value
}

// SetSchedulerConf changes settings of the running Capacity scheduler. If the
// cluster keeps them in memory (store class "memory"), a restart of the
// ResourceManager undoes the change.
func (rm *RM) SetSchedulerConf(ctx context.Context, change SchedulerChange) error {
	_, err := rm.c.do(ctx, request{
		method: http.MethodPut, path: "/ws/v1/cluster/scheduler-conf",
		bodyType: asXML, body: change.xml(),
	})
	return err
}

func (c *SchedulerChange) xml() string {
	var b bytes.Buffer
	b.WriteString("<sched-conf>")
	for _, q := range c.Update {
		b.WriteString("<update-queue>")
		element(&b, "queue-name", q.Queue)
		b.WriteString("<params>")
		entries(&b, q.Settings)
		b.WriteString("</params></update-queue>")
	}
	if len(c.Global) > 0 {
		b.WriteString("<global-updates>")
		entries(&b, c.Global)
		b.WriteString("</global-updates>")
	}
	b.WriteString("</sched-conf>")
	return b.String()
}

func entries(b *bytes.Buffer, m map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		b.WriteString("<entry>")
		element(b, "key", key)
		element(b, "value", m[key])
		b.WriteString("</entry>")
	}
}

func element(b *bytes.Buffer, name, text string) {
	b.WriteString("<" + name + ">")
	_ = xml.EscapeText(b, []byte(text)) // the error is ignored, since writing to a bytes.Buffer cannot fail
	b.WriteString("</" + name + ">")
}
