package cmd

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/explain"
	"heddle/harness/why"
	"heddle/traces/printable"
	"heddle/traces/tracefile"
)

// whyAnswer is what "heddle trace why" prints of an attempt as JSON.
type whyAnswer struct {
	ID               string   `json:"id"`
	Sentences        []string `json:"sentences"`
	*why.Explanation          // nil for a task of Spark
}

func explainTask(c *cli.Context, _ *asJSON, args []string) error {
	path, err := traceOf(c, args[0])
	if err != nil {
		return err
	}
	r, err := tracefile.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	h := r.Header()
	if h.List != nil {
		return fmt.Errorf("trace %s is a list of jobs, of which none has run; \"heddle replay --reasons --out FILE %s\" makes a "+
			"trace of a run", path, path)
	}
	var found []*why.Explanation
	var ofSpark []explain.SparkWhy
	if explain.SparkTask.MatchString(args[1]) {
		reader := explain.New(&h)
		for e := range r.All() {
			reader.Add(e)
		}
		ofSpark, err = reader.Why(args[1])
	} else {
		found, err = why.Find(&h, r.All(), args[1])
	}
	if rerr := r.Err(); errors.As(rerr, new(*tracefile.DamageError)) {
		warn(rerr.Error())
	} else if rerr != nil {
		return rerr
	}
	if err != nil {
		return fmt.Errorf("trace %s: %w", path, err)
	}
	answers := []whyAnswer{}
	var text strings.Builder
	for _, x := range ofSpark {
		answers = append(answers, whyAnswer{x.ID, x.Sentences, nil})
	}
	for _, x := range found {
		answers = append(answers, whyAnswer{x.Attempt.String(), x.Sentences(), x})
	}
	for _, a := range answers {
		printable.Fprintf(&text, "%s\n", a.ID)
		for _, s := range a.Sentences {
			printable.Fprintf(&text, "  %s\n", s)
		}
	}
	return printText(c, answers, text.String())
}
