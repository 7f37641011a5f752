package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/harness/compare"
	"heddle/harness/config"
	"heddle/harness/doc"
	"heddle/harness/export"
	"heddle/harness/lab"
	"heddle/harness/measure"
	"heddle/harness/option"
	"heddle/traces/exchange"
	"heddle/traces/parquet"
)

// Options that many commands have. A command's struct of options embeds them.
type (
	printed struct {
		Format string `flag:"format" text:"form of the result" heading:"Output" values:"{formats}"`
		asJSON
	}
	asJSON struct {
		JSON bool `flag:"json" text:"print JSON" heading:"Output"`
	}
	inCluster struct {
		Cluster string `flag:"cluster" text:"a cluster FILE, or the name of a lab that is up" of:"FILE"`
	}
	inRuns struct {
		Runs string `flag:"runs" text:"folder of run folders, DIR" of:"DIR" without:"in the user's state folder"`
	}
	named struct {
		inRuns
		RunName string `flag:"run-name" text:"NAME of the run folder" of:"NAME" without:"time, and what it is of"`
	}
	verified struct {
		Unverified bool `flag:"unverified" text:"also read files that have changed since they were recorded, with a warning"`
	}
)

// onLab is --cluster with its usual value.
func onLab() inCluster { return inCluster{"lab"} }

// words has the texts that an option with values:"{NAME}" may have, and those that a shell
// completes where there are others too, by suggest:"NAME".
var words = map[string]func() []string{
	"classes": compare.Ways,
	"exports": func() []string { return strings.Split(exchange.Names(exchange.CanWrite), ", ") },
	"formats": func() []string { return append([]string{"json"}, doc.Formats...) },
	"hadoops": lab.Hadoops,
	"imports": func() []string { return strings.Split(exchange.Names(exchange.CanRead), ", ") },
	"metrics": measure.Names,
	"models":  config.ModelNames,
	"rows":    export.Kinds,
	"tables":  func() []string { return parquet.Format.Tables },
}

// wordsOf returns the texts that an option has, or may have.
func wordsOf(o *option.Option) []string {
	if of := words[strings.Trim(o.Tag("values")+o.Tag("suggest"), "{}")]; of != nil {
		return of()
	}
	return o.Values()
}

// flagsOf returns a flag for each option of the structs to which the arguments point, see
// package option, and the flag --set for those that are its keys. What the structs have
// already is the flags' default. A command line sets the options in the structs.
func flagsOf(structs ...any) (flags []cli.Flag) {
	var keys keyed
	for _, p := range structs {
		for _, o := range option.Of(p) {
			switch to := o.Bool(); {
			case o.Tag("key") != "":
				keys = append(keys, o)
			case to != nil:
				flags = append(flags, &cli.BoolFlag{
					Name: o.Name, Aliases: o.Aliases, Usage: usageOf(o), Category: o.Heading, Hidden: o.Tag("hidden") != "",
					DefaultText: o.Without, DisableDefaultText: o.Without == "" && !*to, Value: *to, Destination: to,
				})
			default:
				flags = append(flags, &cli.GenericFlag{
					Name: o.Name, Aliases: o.Aliases, Usage: usageOf(o), Category: o.Heading, Hidden: o.Tag("hidden") != "",
					DefaultText: o.Without, EnvVars: strings.Fields(o.Tag("env")), Value: o,
				})
			}
		}
	}
	if keys != nil {
		set := &cli.GenericFlag{Name: "set", Usage: "a `KEY=VALUE` of the keys above; may be repeated", Value: keys}
		flags = append([]cli.Flag{set}, flags...)
	}
	return flags
}

// usageOf returns the usage of an option, behind the texts that it may have.
func usageOf(o *option.Option) string {
	usage, sentence := strings.CutSuffix(o.Usage, ".") // as the schema of a file says it
	if sentence {
		usage = strings.ToLower(usage[:1]) + usage[1:]
	}
	if o.Tag("values") != "" {
		usage = strings.Join(wordsOf(o), ", ") + ": " + usage
	}
	return usage
}

// keyed is the value of --set: options that are no flags of their own.
type keyed []*option.Option

// keysOf returns the keys of a command's --set.
func keysOf(c *cli.Command) keyed {
	if set, ok := flagNamed(c.Flags, "set").(*cli.GenericFlag); ok {
		keys, _ := set.Value.(keyed)
		return keys
	}
	return nil
}

// Set sets one of them.
func (k keyed) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return errors.New("want KEY=VALUE")
	}
	return option.Set(k, name, value)
}

// String returns "": no key has a value of its own.
func (keyed) String() string { return "" }

// about explains the keys, for help.
func (k keyed) about() string {
	text := "\n\nKeys of --set:"
	for _, o := range k {
		text += fmt.Sprintf("\n   %-16s %s", o.Name, strings.ReplaceAll(usageOf(o), "`", ""))
		if without := cmp.Or(o.Without, o.String()); without != "" {
			text += " (default: " + without + ")"
		}
	}
	return text
}

// checkValues returns an error if an option has none of the texts that it may have.
func checkValues(p any) error {
	for _, o := range option.Of(p) {
		if text := o.String(); text != "" && o.Tag("values") != "" && !slices.Contains(wordsOf(o), text) {
			return fmt.Errorf("--%s %w", o.Name, option.OneOf(text, wordsOf(o)))
		}
	}
	return nil
}
