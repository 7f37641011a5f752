package change

import (
	"strings"
	"testing"
	"time"

	"heddle/harness/doc"
	"heddle/harness/internal/golden"
	"heddle/harness/lease"
	"heddle/harness/require"
)

func TestText(t *testing.T) {
	at := time.Date(2026, 11, 21, 14, 0, 0, 0, time.Local)
	owner := lease.Owner{Host: "lab1", PID: 4711, User: "ada", Purpose: "heddle run first.yaml", Folder: "/runs/first"}
	report := Report{Epoch: 8, Stranded: []string{"application_1_0002 (wordcount) asks for label m00"}}
	for _, c := range everyKind[:2] {
		report.Back = append(report.Back, Item{Change: c})
	}
	report.Same = []Item{{Change: everyKind[2]}}
	report.Kept = []Item{{everyKind[3], "queue root.a uses it"}}
	report.Left = []Item{{everyKind[4], "status 400: no"}}
	for _, c := range everyKind[5:] {
		report.Back = append(report.Back, Item{Change: c})
	}
	settings := map[string]string{require.Queues + "root.accessible-node-labels.a01.capacity": "100"}
	for name, write := range map[string]func(*strings.Builder) error{
		"show": func(b *strings.Builder) error {
			return doc.WriteText(b, State{
				Cluster: "blue", Hold: "void", Noted: everyKind[:2],
				Lease: &lease.Lease{Epoch: 7, Owner: owner, Since: at, Renewed: at.Add(time.Minute)},
				Labels: []Label{
					{"gpu", true, false, []string{"r1n2:45454"}},
					{"idle", true, true, []string{"r1n1:45454"}},
					{"m00", true, true, nil},
					{"old", false, false, nil},
				},
				Nodes:    []Node{{"r1n1:45454", "/rack1", "RUNNING", "idle", 4096, 8}, {"r1n2:45454", "/rack1", "LOST", "", 0, 0}},
				Warnings: []string{"the hold was not renewed in time"},
			}.Doc(), false)
		},
		"show-fresh": func(b *strings.Builder) error {
			return doc.WriteText(b, State{Cluster: "blue", Hold: "none"}.Doc(), false)
		},
		"held": func(b *strings.Builder) error {
			_, err := b.WriteString((&lease.HeldError{Lease: lease.Lease{Owner: owner, Since: at, Until: at.Add(time.Minute)}}).Error() + "\n")
			return err
		},
		"restore":         func(b *strings.Builder) error { return doc.WriteText(b, report.Doc(), false) },
		"restore-nothing": func(b *strings.Builder) error { return doc.WriteText(b, Report{}.Doc(), false) },
		"prepare": func(b *strings.Builder) error {
			return Preparation{Queue: "root.a", Labels: []string{"a01"}, Settings: settings}.WriteText(b, true)
		},
		"prepare-by-hand": func(b *strings.Builder) error {
			return Preparation{Queue: "root.a", Settings: settings, ByHand: true}.WriteText(b, false)
		},
		"prepare-nothing": func(b *strings.Builder) error { return Preparation{Queue: "root.a"}.WriteText(b, false) },
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			mustDo(t, write(&b))
			golden.Check(t, "testdata/"+name+".golden", b.String())
		})
	}
}
