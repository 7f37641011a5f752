package tracefile

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"heddle/traces"
)

// field is the range of a field of an event: the least and greatest value of a
// number, or the least and greatest length of a text in bytes. name is the
// field's name in JSON Lines.
type field struct {
	name        string
	least, most int64
	text        bool // whether the range is that of a text's length
	elements    int  // of a list of structs: number of fields of each, which follow; the range is that of the list's length
}

// Greatest values of the fields of events. They are far above the values of real
// clusters. They are small enough that sums and differences of two values fit
// into 64 bits.
const (
	mostBytes = 1 << 60 // greatest number of bytes, of records, of milliseconds and of bytes per second
	mostTasks = 1 << 24 // greatest number of tasks of a job, greatest task index and greatest attempt number
	mostCores = 1 << 20
	mostText  = maxBlockBytes
	// Times are from 30 years before to 250 years after Time 0. They may be
	// negative, since a job may have been submitted before the trace began.
	leastTime = -1e18
	mostTime  = 8e18
)

// classes has the range for each name in the range tag of an event field. "some"
// is a text that is not empty, "id" a number from 1. "signed" allows the range
// of the field's type and the same range below 0, for differences and for free
// resources of a node on which YARN has allocated too much.
var classes = map[string]field{
	"some": {least: 1, most: mostText, text: true}, "id": {least: 1, most: math.MaxInt64}, "any": {least: math.MinInt64, most: math.MaxInt64},
	"tasks": {most: mostTasks}, "cores": {most: mostCores}, "share": {most: 1}, "percent": {most: 100}, "age": {most: mostTime},
	"ms": {most: mostTime / 1e6}, "hint": {most: traces.MaxHint}, "few": {most: 256},
}

// types has the ranges of event fields by their Go type, such as traces.Time.
// It is used if a field's range tag names no range.
var types = map[reflect.Type]field{
	reflect.TypeFor[traces.Time]():      {least: leastTime, most: mostTime},
	reflect.TypeFor[traces.TaskKind]():  {most: int64(traces.Reduce)},
	reflect.TypeFor[traces.Outcome]():   {most: int64(traces.Killed)},
	reflect.TypeFor[traces.Level]():     {most: int64(traces.LevelOff)},
	reflect.TypeFor[traces.Room]():      {most: int64(traces.RoomSlots)},
	reflect.TypeFor[traces.PassedWhy](): {most: int64(traces.PassedWaits)},
	reflect.TypeFor[traces.WaitUnit]():  {most: int64(traces.WaitOffers)},
}

// kinds has the ranges for the kinds of Go types. It is used if a field's range
// tag names no range and the field's own Go type is not listed in the map
// types.
var kinds = map[reflect.Kind]field{
	reflect.String: {most: mostText, text: true}, reflect.Slice: {most: mostTasks}, reflect.Pointer: {most: 1}, reflect.Bool: {most: 1},
	reflect.Int32: {most: math.MaxInt32}, reflect.Int64: {most: mostBytes}, reflect.Float64: {most: mostBytes}, reflect.Uint64: {},
}

// ranges has the ranges of the fields of each kind of event. The fields are in
// the order in which the file stores them.
var ranges = func() (all [traces.Kinds][]field) {
	for k := range all {
		if e := traces.New(traces.Kind(k)); e != nil {
			all[k] = fieldsOf(reflect.TypeOf(e).Elem(), "", false)
		}
	}
	return all
}()

// fieldsOf returns the ranges of a struct's fields, from their range tags.
// ",-1" in a tag also allows -1, which means "not known". The tag "maybe" is
// for an attempt that may be missing: it allows an empty job id, a task index
// of -1 and an attempt number of -1.
func fieldsOf(t reflect.Type, place string, maybe bool) (all []field) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		class, unknown, _ := strings.Cut(f.Tag.Get("range"), ",")
		if f.Type.Kind() == reflect.Struct {
			below := place
			if !f.Anonymous {
				below += name + "."
			}
			all = append(all, fieldsOf(f.Type, below, maybe || class == "maybe")...)
			continue
		}
		r, ok := classes[class]
		if !ok {
			r, ok = types[f.Type]
		}
		if !ok {
			r = kinds[f.Type.Kind()]
		}
		switch {
		case class == "signed":
			r.least = -r.most
		case maybe && class == "some":
			r.least = 0
		case maybe && class == "tasks" || unknown == "-1":
			r.least = -1
		}
		r.name = place + name
		var elements []field
		switch list := f.Type.Kind() == reflect.Slice; {
		case list && f.Type.Elem().Kind() == reflect.Struct:
			elements = fieldsOf(f.Type.Elem(), r.name+"[].", false)
		case f.Type.Kind() == reflect.Pointer: // a struct that may be missing is stored as a list of one or none
			elements = fieldsOf(f.Type.Elem(), r.name+".", false)
		}
		r.elements = len(elements)
		all = append(append(all, r), elements...)
	}
	return all
}

// rangeCheck is a traces.Visitor. It calls the function wrong for each field
// whose value is out of its range.
type rangeCheck struct {
	wrong  func(kind traces.Kind, f field, value string)
	kind   traces.Kind // kind of the event whose fields are being checked
	fields []field
	next   int
	// In a list of structs: the first field of an element, the one after its last, and how
	// many elements are left, this one included.
	first, end, left int
}

func (c *rangeCheck) event(e traces.Event) {
	c.kind = e.Kind()
	c.fields, c.next, c.left = ranges[c.kind], 0, 0
	e.Fields(c)
}

// field returns the range of the next field.
func (c *rangeCheck) field() *field {
	f := &c.fields[c.next]
	if c.next++; c.left > 0 && c.next == c.end {
		if c.left--; c.left > 0 {
			c.next = c.first
		}
	}
	return f
}

func (c *rangeCheck) Count(n, _ int) int {
	f := c.field()
	c.inRange(f, int64(n))
	if n == 0 {
		c.next += f.elements
	} else if n > 1 {
		c.first, c.end, c.left = c.next, c.next+f.elements, n
	}
	return n
}

func (c *rangeCheck) int(n int64) { c.inRange(c.field(), n) }

func (c *rangeCheck) inRange(f *field, n int64) {
	if n < f.least || n > f.most {
		c.wrong(c.kind, *f, strconv.FormatInt(n, 10))
	}
}

func (c *rangeCheck) When(t *traces.Time)           { c.int(int64(*t)) }
func (c *rangeCheck) Time(t *traces.Time)           { c.int(int64(*t)) }
func (c *rangeCheck) Int64(n *int64)                { c.int(*n) }
func (c *rangeCheck) Int32(n *int32)                { c.int(int64(*n)) }
func (c *rangeCheck) Uint8(n *uint8)                { c.int(int64(*n)) }
func (c *rangeCheck) Uint64(*uint64)                { c.field() } // a block id may be any number, so there is nothing to check
func (c *rangeCheck) Bool(*bool)                    { c.field() }
func (c *rangeCheck) Name(s *string)                { c.text(*s) }
func (c *rangeCheck) More(bool) bool                { return true }
func (c *rangeCheck) Text(s *string)                { c.text(*s) }
func (c *rangeCheck) Nodes(nodes *[]traces.Node)    { c.int(int64(len(*nodes))) }
func (c *rangeCheck) Blocks(blocks *[]traces.Block) { c.int(int64(len(*blocks))) }

func (c *rangeCheck) text(s string) {
	f := c.field()
	if n := int64(len(s)); n < f.least || n > f.most {
		c.wrong(c.kind, field{name: f.name + "'s length", least: f.least, most: f.most, text: true}, strconv.FormatInt(n, 10))
	}
}

func (c *rangeCheck) Float64(v *float64) {
	f := c.field()
	if !(*v >= float64(f.least) && *v <= float64(f.most)) { // comparisons with NaN are false, so this condition also finds NaN out of range
		c.wrong(c.kind, *f, strconv.FormatFloat(*v, 'g', -1, 64))
	}
}

func (f field) want() string {
	if f.most == math.MaxInt64 {
		return fmt.Sprintf("%d or more", f.least)
	}
	return fmt.Sprintf("%d to %d", f.least, f.most)
}

// checkHeader calls the function wrong for each number in a header that is out
// of its range, and for links and disks of nodes that the header does not have. The
// argument text is true if what is wrong is not a number.
func checkHeader(h traces.Header, wrong func(what string, text bool)) {
	number := func(v float64, name string, most int64) {
		if f := (field{name: name, most: most}); !(v >= 0 && v <= float64(most)) {
			wrong(fmt.Sprintf("%s is %v, want %s", name, v, f.want()), false)
		}
	}
	number(float64(h.StartUnixNs), "startUnixNs", mostTime)
	number(h.Cluster.HostCores, "cluster.hostCores", mostCores)
	number(h.Cluster.OthersCores, "cluster.othersCores", mostCores)
	number(float64(h.Cluster.AMMemoryBytes), "cluster.amMemoryBytes", mostBytes)
	seen := map[traces.Node]bool{}
	for i, n := range h.Cluster.Nodes {
		place := fmt.Sprintf("cluster.nodes[%d].", i)
		c := rangeCheck{wrong: func(_ traces.Kind, f field, value string) {
			wrong(fmt.Sprintf("%s%s is %s, want %s", place, f.name, value, f.want()), f.text)
		}}
		c.event(&traces.NodeUp{NodeFacts: n})
		if seen[n.Node] {
			wrong(fmt.Sprintf("%snode is %q, which an earlier node is", place, n.Node), true)
		}
		seen[n.Node] = true
	}
	for i, l := range h.Cluster.Links {
		number(float64(l.BytesPerSec), fmt.Sprintf("cluster.links[%d].bytesPerSec", i), mostBytes)
		if l.Node != "" && !seen[l.Node] {
			wrong(fmt.Sprintf("cluster.links[%d].node is %q, which is no node of the cluster", i, l.Node), true)
		}
	}
	for i, d := range h.Cluster.Disks {
		number(float64(d.BytesPerSec), fmt.Sprintf("cluster.disks[%d].bytesPerSec", i), mostBytes)
		if !seen[d.Node] {
			wrong(fmt.Sprintf("cluster.disks[%d].node is %q, which is no node of the cluster", i, d.Node), true)
		}
	}
	for i, q := range h.Cluster.Queue {
		number(q.Capacity, fmt.Sprintf("cluster.queues[%d].capacity", i), 1)
	}
	for _, kind := range slices.Sorted(maps.Keys(h.Mended)) {
		number(float64(h.Mended[kind]), fmt.Sprintf("mended[%q]", kind), mostBytes)
	}
}
