package modfair

import (
	"maps"
	"slices"
	"testing"

	"heddle/harness/paper"
	"heddle/harness/paper/models"
	"heddle/harness/sched"
)

// TestMain makes the models of papers known, as the command does.
func TestMain(m *testing.M) {
	if err := sched.Register(models.List()...); err != nil {
		panic(err)
	}
	m.Run()
}

var numbers = Paper().Numbers

// schedulerOf returns the parameters of the paper's scheduler with a label.
func schedulerOf(label string) sched.Params {
	list := Paper().Schedulers
	return list[slices.IndexFunc(list, func(s paper.Scheduler) bool { return s.Label == label })].Params
}

func changed(p sched.Params, name, value string) sched.Params {
	p = maps.Clone(p)
	p[name] = value
	return p
}

// columnsOf returns the columns of a design.
func columnsOf(id string) []paper.Column {
	list := Paper().Designs
	return list[slices.IndexFunc(list, func(x paper.Design) bool { return x.ID == id })].Columns
}
