package cmd

import (
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/option"
)

// flagsOf returns a flag for each option of the structs to which the arguments point, see
// package option. What the structs have already is the flags' default. A command line sets
// the options in the structs.
func flagsOf(structs ...any) (flags []cli.Flag) {
	for _, p := range structs {
		for _, o := range option.Of(p) {
			if to := o.Bool(); to != nil {
				flags = append(flags, &cli.BoolFlag{Name: o.Name, Aliases: o.Aliases, Usage: usageOf(o), Category: o.Heading, Value: *to, Destination: to})
			} else {
				flags = append(flags, &cli.GenericFlag{Name: o.Name, Aliases: o.Aliases, Usage: usageOf(o), Category: o.Heading, DefaultText: o.Without, Value: o})
			}
		}
	}
	return flags
}

// usageOf returns the usage of an option, behind the texts that it may have.
func usageOf(o *option.Option) string {
	usage := strings.TrimSuffix(o.Usage, ".")
	if values := o.Values(); values != nil {
		usage = strings.Join(values, ", ") + ": " + usage
	}
	return usage
}

// valuesOf returns the texts that a flag may have, nil if its option does not say.
func valuesOf(f cli.Flag) []string {
	if generic, ok := f.(*cli.GenericFlag); ok {
		if o, ok := generic.Value.(*option.Option); ok {
			return o.Values()
		}
	}
	return nil
}
