package steer

import (
	"container/heap"
	"time"
)

// alarm calls a function once, at a set time. The time can be changed until the
// function is called.
type alarm struct {
	core   *Core
	do     func()
	at     time.Time
	number int64
	place  int // index of this alarm in Core.alarms; -1: the alarm is not set
}

func (c *Core) newAlarm(do func()) *alarm { return &alarm{core: c, do: do, place: -1} }

// after calls a function after the duration wait.
func (c *Core) after(wait time.Duration, do func()) { c.newAlarm(do).in(wait) }

// The method in sets the alarm to go off after the duration wait. If the alarm is set
// already, it goes off at the earlier of the two times.
func (a *alarm) in(wait time.Duration) {
	at := a.core.now.Add(wait)
	switch {
	case a.place < 0:
		a.core.number++
		a.at, a.number = at, a.core.number
		heap.Push(&a.core.alarms, a)
	case at.Before(a.at):
		a.at = at
		heap.Fix(&a.core.alarms, a.place)
	}
}

func (a *alarm) off() {
	if a.place >= 0 {
		heap.Remove(&a.core.alarms, a.place)
	}
}

// ring calls the functions of all alarms that are due at time t.
func (c *Core) ring(t time.Time) {
	for !c.ended && len(c.alarms) > 0 && !c.alarms[0].at.After(t) {
		heap.Pop(&c.alarms).(*alarm).do()
	}
}

// alarms are the alarms that will go off: a heap ordered by time, then by the order
// in which they were set.
type alarms []*alarm

func (a alarms) Len() int { return len(a) }

func (a alarms) Less(i, j int) bool {
	if a[i].at.Equal(a[j].at) {
		return a[i].number < a[j].number
	}
	return a[i].at.Before(a[j].at)
}

func (a alarms) Swap(i, j int) {
	a[i], a[j] = a[j], a[i]
	a[i].place, a[j].place = i, j
}

// Push and Pop implement heap.Interface of package container/heap.
func (a *alarms) Push(x any) {
	x.(*alarm).place = len(*a)
	*a = append(*a, x.(*alarm))
}

func (a *alarms) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	last.place = -1
	return last
}
