package sched_test

import (
	"fmt"

	"heddle/harness/sched"
)

// Models are made by name. What is wrong with a parameter is said.
func ExampleNew() {
	m, err := sched.New("delay", sched.Params{"nodeSkips": "3"})
	fmt.Println(m.Name(), err)
	_, err = sched.New("delay", sched.Params{"nodeSkips": "three"})
	fmt.Println(err)
	// Output:
	// delay <nil>
	// model delay: nodeSkips: "three" is not a whole number
}

// List says what parameters models have.
func ExampleList() {
	for _, m := range sched.List() {
		if m.Name != "acl" {
			continue
		}
		for _, p := range m.Params {
			fmt.Printf("%s %s=%s (%s)\n", m.Name, p.Name, p.Default, p.Unit)
		}
	}
	// Output:
	// acl c=3 (skips)
	// acl d=-1 (skips)
}
