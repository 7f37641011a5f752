package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"heddle/traces/printable"
)

// parent makes a command that help.txt has under its name, such as "trace", with the ones
// below it.
func parent(name string, below ...*cli.Command) *cli.Command {
	p := helpPages()[name]
	return &cli.Command{
		Name: name[strings.LastIndexByte(name, ' ')+1:], Usage: p.usage, ArgsUsage: p.args, Description: p.about, Subcommands: below,
	}
}

func hidden(c *cli.Command) *cli.Command {
	c.Hidden = true
	return c
}

// command makes a command that does something. Its flags are the options of the struct at o,
// see flagsOf. act gets the struct, set by the command line, and the arguments that are not
// flags, as many as ArgsUsage says.
func command[O any](name string, o *O, act func(c *cli.Context, o *O, args []string) error) *cli.Command {
	c := parent(name)
	c.Flags = flagsOf(o)
	if keys := keysOf(c); keys != nil {
		c.Description += keys.about()
	}
	c.Action = func(x *cli.Context) error {
		args, err := arguments(x)
		if err == nil {
			err = countArguments(x, args)
		}
		if err == nil {
			err = usage(checkValues(o))
		}
		if err == nil {
			err = act(x, o, args)
		}
		return err
	}
	return c
}

// reader is a command that reads files and prints: unless its errors say otherwise, they are
// about its input.
func reader[O any](name string, o *O, act func(c *cli.Context, o *O, args []string) error) *cli.Command {
	return command(name, o, func(x *cli.Context, o *O, args []string) error {
		if err := act(x, o, args); err != nil {
			return &inputError{err}
		}
		return nil
	})
}

// arity returns how many arguments a usage such as "TRACE [NAME]" allows; at most -1 is any
// number.
func arity(usage string) (least, most int) {
	for _, word := range strings.Fields(usage) {
		switch {
		case strings.Contains(word, "…"):
			most = -1 << 16
		case !strings.ContainsAny(word, "[]"):
			least++
		}
		most++
	}
	return least, max(most, -1)
}

// hints say where arguments come from.
var hints = map[string]string{
	"RUN":   "'heddle runs list' lists runs",
	"TRACE": "'heddle run' and 'heddle capture' make traces, and 'heddle trace import' converts other formats",
	"TASK":  "a TASK is such as 1/m7",
}

// countArguments returns an error if a command has other arguments than its usage says.
func countArguments(c *cli.Context, args []string) error {
	least, most := arity(c.Command.ArgsUsage)
	if len(args) >= least && (most < 0 || len(args) <= most) {
		return nil
	}
	if c.Command.ArgsUsage == "" {
		hint := ""
		if flagNamed(c.Command.Flags, "cluster") != nil {
			hint = "; name a cluster with --cluster"
		}
		return usagef("%s takes no arguments; found %q%s", commandName(c), args[0], hint)
	}
	text := fmt.Sprintf("%s: want %s, found %s", shortName(c), c.Command.ArgsUsage, printable.Count(len(args), "argument"))
	for _, word := range strings.FieldsFunc(c.Command.ArgsUsage, func(r rune) bool { return strings.ContainsRune(" |[]…", r) }) {
		if hint := hints[word]; hint != "" && len(args) < least && !strings.Contains(text, hint) {
			text += "; " + hint
		}
	}
	return usagef("%s", text)
}

// The function arguments returns those arguments of a command line that are not
// flags. It must be called before flags are read: flags may also stand behind
// such arguments, where Go's flag package does not see them, and this function
// sets these flags too.
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
		flag := flagNamed(c.Command.Flags, name)
		if !given && isBool(flag) {
			value, given = "true", true
		}
		switch {
		case flag == nil:
			return nil, usageError(c, fmt.Errorf("flag provided but not defined: -%s", name), false)
		case name == "help" || name == "h":
			return nil, errors.Join(errHelp, cli.ShowSubcommandHelp(c))
		case !given && len(rest) == 0:
			return nil, usageError(c, fmt.Errorf("flag needs an argument: -%s", name), false)
		case !given:
			value, rest = rest[0], rest[1:]
		}
		if err := c.Set(flag.Names()[0], value); err != nil {
			return nil, usageError(c, fmt.Errorf("%s %w", dashed(name), err), false)
		}
	}
	return found, nil
}

// errHelp means that the user asked for help. The help has been printed, so
// nothing else is to be done.
var errHelp = errors.New("help was asked for")

// flagNamed returns the flag with a name, which may be a short one, or nil. A command
// reads it by the first of its names.
func flagNamed(flags []cli.Flag, name string) cli.Flag {
	if i := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), name) }); i >= 0 {
		return flags[i]
	}
	return nil
}

// isBool reports whether a flag needs no value on the command line.
func isBool(flag cli.Flag) bool {
	_, is := flag.(*cli.BoolFlag)
	return is
}
