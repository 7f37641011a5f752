package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// arguments are those of a command line that are no flags. Flags may stand
// behind them, where the flag package no longer looks: they are set from here,
// so flags are only to be read afterwards.
func arguments(c *cli.Context) ([]string, error) {
	var found []string
	rest := c.Args().Slice()
	for len(rest) > 0 {
		arg := rest[0]
		rest = rest[1:]
		if arg == "--" {
			return append(found, rest...), nil
		}
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			found = append(found, arg)
			continue
		}
		name, value, given := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !given && isBool(c.Command.Flags, name) {
			value, given = "true", true
		}
		if !given && len(rest) > 0 {
			value, rest = rest[0], rest[1:]
		}
		if err := c.Set(name, value); err != nil {
			return nil, withCode(exitUsage, fmt.Errorf("%s: %w; --help says what there is", arg, err))
		}
	}
	return found, nil
}

// isBool says whether a flag needs no value.
func isBool(flags []cli.Flag, name string) bool {
	return slices.ContainsFunc(flags, func(f cli.Flag) bool {
		_, is := f.(*cli.BoolFlag)
		return is && slices.Contains(f.Names(), name)
	})
}
