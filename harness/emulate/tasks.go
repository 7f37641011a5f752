package emulate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"heddle/traces"
	"heddle/traces/jhist"
	"heddle/yarnclient"
)

// grant is a container that has no task yet.
type grant struct {
	id       containerID
	node     *Node
	priority int
}

// assign gives containers their tasks in the order of Hadoop's RMContainerAllocator: maps
// that were lost and reduces, then maps on their hosts, in their racks, and anywhere. The
// others are given back.
func (m *master) assign(come []*grant) {
	rules := []func(g *grant) *task{
		func(g *grant) *task {
			switch g.priority {
			case yarnclient.PriorityFailedMap:
				return waiting(&m.failed, g)
			case yarnclient.PriorityReduce:
				return waiting(&m.reduces, g)
			}
			return nil
		},
		func(g *grant) *task { return m.nearest(g, g.node.Host) },
		func(g *grant) *task { return m.nearest(g, g.node.Rack) },
		func(g *grant) *task {
			if g.priority != yarnclient.PriorityMap {
				return nil
			}
			return waiting(&m.order, g)
		},
	}
	for _, rule := range rules {
		come = slices.DeleteFunc(come, func(g *grant) bool {
			t := rule(g)
			if t != nil {
				m.bind(t, g)
			}
			return t != nil
		})
	}
	for _, g := range come {
		m.asks.release = append(m.asks.release, g.id)
	}
}

// nearest returns the first waiting map that has its input at a place.
func (m *master) nearest(g *grant, place string) *task {
	list := m.near[place]
	if g.priority != yarnclient.PriorityMap || len(list) == 0 {
		return nil
	}
	t := waiting(&list, g)
	m.near[place] = list
	return t
}

// waiting takes tasks from a list up to the first that waits for such a container, and
// returns it; nil: none does.
func waiting(list *[]*task, g *grant) *task {
	for len(*list) > 0 {
		t := (*list)[0]
		*list = (*list)[1:]
		if t.waits == g.priority {
			return t
		}
	}
	return nil
}

// bind has a task run in a container.
func (m *master) bind(t *task, g *grant) {
	near := t.near
	if g.priority != yarnclient.PriorityMap {
		near = nil
	}
	m.asks.add(g.priority, near, -1)
	t.waits = 0
	if t.kind == traces.Map {
		m.hungry = time.Now()
	}
	locality := "OFF_SWITCH"
	switch {
	case slices.Contains(t.Hosts, g.node.Host):
		locality = "NODE_LOCAL"
	case slices.Contains(t.near, g.node.Rack):
		locality = "RACK_LOCAL"
	}
	a := &attempt{task: t, node: g.node, container: g.id, h: &jhist.Attempt{
		ID:        fmt.Sprintf("attempt_%s_%d", strings.TrimPrefix(t.h.ID, "task_"), len(t.h.Attempts)),
		Container: g.id.String(), Host: g.node.Host, Rack: g.node.Rack, Counters: traces.NoCounters,
	}}
	if t.kind == traces.Map {
		a.h.Locality = locality
	}
	t.h.Attempts = append(t.h.Attempts, a.h)
	t.now, m.on[g.id] = a, a
	g.node.begin(g.id, m.asks.size[g.priority], g.priority, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		a.stop()
	})
	a.timer = time.AfterFunc(m.Steps.Launch, func() { m.start(a) })
}

// stop has an attempt never end by itself.
func (a *attempt) stop() {
	a.stopped = true
	a.timer.Stop()
}

// start begins an attempt. A reduce that starts before the last map has ended waits for it.
func (m *master) start(a *attempt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.stopped || a.over {
		return
	}
	a.started, a.h.StartMs = true, time.Now().UnixMilli()
	if a.task.kind == traces.Map || m.left[traces.Map] == 0 {
		m.endIn(a)
	}
}

func (m *master) endIn(a *attempt) {
	a.timer = time.AfterFunc(a.task.Length, func() { m.succeed(a) })
}

// succeed ends an attempt, and with it its task.
func (m *master) succeed(a *attempt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.stopped || a.over {
		return
	}
	t, now := a.task, time.Now()
	a.over, t.now = true, nil
	a.h.Status, a.h.FinishMs, a.h.Counters = "SUCCEEDED", now.UnixMilli(), t.Counters
	t.h.Status, t.h.FinishMs, t.h.Winner = a.h.Status, a.h.FinishMs, a.h.ID
	time.AfterFunc(m.Steps.Free, func() { a.node.end(a.container, 0) })
	if t.kind == traces.Map {
		a.h.MapFinishMs = a.h.FinishMs
	} else {
		a.h.ShuffleFinishMs = max(a.h.StartMs, m.lastMap.UnixMilli())
		a.h.SortFinishMs = a.h.ShuffleFinishMs
	}
	m.left[t.kind]--
	if t.kind == traces.Map && m.left[traces.Map] == 0 {
		m.lastMap = now
		for _, r := range m.tasks[traces.Reduce] {
			if r.now != nil && r.now.started {
				m.endIn(r.now)
			}
		}
	}
	if m.left == [2]int{} {
		close(m.complete)
	}
}

// ended handles the end of a container, as the ResourceManager reports it.
func (m *master) ended(id containerID, exit int64) {
	a := m.on[id]
	if a == nil {
		return
	}
	delete(m.on, id)
	if !a.over {
		const aborted, preempted = -100, -102
		why := map[int64]string{aborted: traces.KilledWithNode, preempted: traces.KilledByYARN}[exit]
		if why == "" {
			why = fmt.Sprintf("its container ended with code %d", exit)
		}
		m.lose(a, why, exit == aborted)
	}
}

// lose ends an attempt that did not succeed; its task is asked for again.
func (m *master) lose(a *attempt, why string, withNode bool) {
	a.stop()
	a.over, a.task.now = true, nil
	a.h.Status, a.h.Error, a.h.FinishMs = "KILLED", why, time.Now().UnixMilli()
	m.want(a.task, withNode)
}

// killAttempt kills an attempt that runs. It reports whether there is one.
func (m *master) killAttempt(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.on {
		if a.h.ID == id && !a.over {
			m.kill(a, "killed by a user")
			return true
		}
	}
	return false
}

func (m *master) kill(a *attempt, why string) {
	const terminated = 143
	m.lose(a, why, false)
	a.node.end(a.container, terminated)
}

// count returns the number of containers that tasks of a kind have, as far as the master
// knows, and of those that maps or reduces wait for.
func (m *master) count(k traces.TaskKind) (have, waiting int) {
	for _, a := range m.on {
		if a.task.kind == k {
			have++
		}
	}
	for key, n := range m.asks.count {
		if key.place == anywhere && isMap(key.priority) == (k == traces.Map) {
			waiting += int(n)
		}
	}
	return have, waiting
}

// rampReduces asks for reduces once enough maps have succeeded, by the rules of Hadoop's
// RMContainerAllocator: while maps wait, reduces get at most half of what the job may have,
// and if maps starve, they give it back. The simulator's masters have the same rules.
func (m *master) rampReduces() {
	const rampUp = 0.5
	all, done := len(m.Maps), len(m.Maps)-m.left[traces.Map]
	if !m.begun {
		m.begun = done >= int(math.Ceil(m.Conf.SlowStart()*float64(all)))
	}
	maps, waiting := m.count(traces.Map)
	reduces, asked := m.count(traces.Reduce)
	mapMB := max(1, m.asks.size[yarnclient.PriorityMap].Number(1))
	reduceMB := max(1, m.asks.size[yarnclient.PriorityReduce].Number(1))
	if waiting > 0 && maps == 0 && asked+reduces > 0 {
		m.withdraw(asked)
		if m.roomMB < mapMB || time.Since(m.hungry) >= hunger {
			m.preempt(m.sacrifice(int64(waiting), int64(reduces), mapMB, reduceMB))
		}
		return
	}
	if !m.begun || len(m.pending) == 0 {
		return
	}
	more := len(m.pending)
	if waiting > 0 {
		share := min(float64(done)/float64(all), rampUp)
		limit := m.roomMB + int64(maps)*mapMB + int64(reduces)*reduceMB
		forReduces, need := int64(float64(limit)*share), int64(maps+waiting)*mapMB
		if limit-forReduces >= need {
			forReduces = limit - need
		}
		more = min(more, int((forReduces-int64(reduces+asked)*reduceMB)/reduceMB))
	}
	if more < 0 {
		m.withdraw(min(-more, asked))
		return
	}
	for _, t := range m.pending[:more] {
		t.waits = yarnclient.PriorityReduce
		m.reduces = append(m.reduces, t)
	}
	m.pending = m.pending[more:]
	if more > 0 {
		m.asks.add(yarnclient.PriorityReduce, nil, int64(more))
	}
}

// hunger is how long maps wait before reduces are killed for them though there is room.
const hunger = 300 * time.Second

// sacrifice is how many reduces are killed for maps that starve: as many as have the memory
// of these maps, or of half of what the job may have if that is less, but at least of one map.
func (m *master) sacrifice(waiting, reduces, mapMB, reduceMB int64) int {
	of := func(mb int64) int64 { return (mb + reduceMB - 1) / reduceMB }
	half := (m.roomMB + reduces*reduceMB) / 2
	return int(min(max(of(mapMB), of(half)), of(mapMB*waiting), reduces))
}

// withdraw no longer asks for n of the reduces.
func (m *master) withdraw(n int) {
	n = min(n, len(m.reduces))
	if n <= 0 {
		return
	}
	back := m.reduces[len(m.reduces)-n:]
	for _, t := range back {
		t.waits = 0
	}
	m.pending = append(slices.Clone(back), m.pending...)
	m.reduces = m.reduces[:len(m.reduces)-n]
	m.asks.add(yarnclient.PriorityReduce, nil, int64(-n))
}

// preempt kills the n reduces that started last.
func (m *master) preempt(n int) {
	for _, t := range slices.Backward(m.tasks[traces.Reduce]) {
		if n > 0 && t.now != nil {
			m.kill(t.now, "maps of its job need its memory")
			n--
		}
	}
}
