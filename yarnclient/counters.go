package yarnclient

import (
	"context"
	"strings"
)

// Counter is one MapReduce counter. A counter of a job has three sums: of its
// maps, of its reduces and of all tasks. A counter of a task has only
// Total.
type Counter struct {
	Group  string // full name of the counter's group, such as "org.apache.hadoop.mapreduce.TaskCounter"
	Name   string
	Total  int64
	Map    int64
	Reduce int64
}

// Counters are a list of MapReduce counters in Hadoop's order.
type Counters []Counter

// Get returns the counter with the given name, such as "HDFS_BYTES_READ", in a
// group of counters. The group is given by its full or simple name, such as
// "FileSystemCounter". Get returns false if Hadoop has left the counter out
// because it was never increased.
func (cs Counters) Get(group, name string) (Counter, bool) {
	for _, c := range cs {
		if c.Name == name && (c.Group == group || strings.HasSuffix(c.Group, "."+group) || strings.HasSuffix(c.Group, "$"+group)) {
			return c, true
		}
	}
	return Counter{}, false
}

// Counters returns the MapReduce counters of the job.
func (j *JobReader) Counters(ctx context.Context) (Counters, error) {
	return j.counters(ctx, "/counters", "jobCounters", "counterGroup")
}

// TaskCounters returns the MapReduce counters of a task.
func (j *JobReader) TaskCounters(ctx context.Context, taskID string) (Counters, error) {
	return j.counters(ctx, taskPath(taskID)+"/counters", "jobTaskCounters", "taskCounterGroup")
}

func (j *JobReader) counters(ctx context.Context, path string, in ...string) (Counters, error) {
	groups, err := ofJob[[]struct {
		Name     string `wire:"counterGroupName"`
		Counters []struct {
			Name   string `wire:"name"`
			Value  int64  `wire:"value"` // value of a counter of a task
			Total  int64  `wire:"totalCounterValue"`
			Map    int64  `wire:"mapCounterValue"`
			Reduce int64  `wire:"reduceCounterValue"`
		} `wire:"counter"`
	}](ctx, j, path, in...)
	if err != nil {
		return nil, err
	}
	var out Counters
	for _, g := range groups {
		for _, c := range g.Counters {
			out = append(out, Counter{Group: g.Name, Name: c.Name, Total: c.Total + c.Value, Map: c.Map, Reduce: c.Reduce})
		}
	}
	return out, nil
}
