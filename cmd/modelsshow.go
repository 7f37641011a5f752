package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"heddle/harness/doc"
	"heddle/harness/sched"
)

func modelsShow(c *cli.Context, _ *printed, args []string) error {
	s, err := readState(args[0])
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	tables, err := s.Show()
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return printDoc(c, shownState{s.Model, s.Params, s.For, tables}, describeState(s, tables))
}

// shownState is the JSON of the command.
type shownState struct {
	Model  string              `json:"model"`
	Params sched.Params        `json:"params"`
	For    string              `json:"for"`
	Tables []sched.LearntTable `json:"tables"`
}

func readState(name string) (*sched.State, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("want the file state.json of a trial, not a folder or device")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, sched.MaxStateBytes+2))
	if err != nil {
		return nil, err
	}
	return sched.ReadState(data)
}

func describeState(s *sched.State, tables []sched.LearntTable) doc.Doc {
	d := doc.Doc{doc.Heading("what " + s.Model + " has learnt"), doc.Text("for: " + s.For)}
	for i, t := range tables {
		table := doc.NewTable(fmt.Sprint("table ", i+1), t.Columns...)
		for _, row := range t.Rows {
			var cells []any
			for _, text := range row {
				cells = append(cells, text)
			}
			table.Add(cells...)
		}
		d = append(d, doc.Heading(t.Title), table)
	}
	if len(tables) == 0 {
		d = append(d, doc.Text("nothing yet"))
	}
	return d
}
