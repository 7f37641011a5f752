package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// withArguments makes an action of a function that gets the arguments that are not
// flags.
func withArguments(action func(c *cli.Context, args []string) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		args, err := arguments(c)
		if err != nil {
			return err
		}
		return action(c, args)
	}
}

// withArgument does so for a command that takes one argument, called what in its help.
func withArgument(what string, action func(c *cli.Context, arg string) error) cli.ActionFunc {
	return withArguments(func(c *cli.Context, args []string) error {
		if len(args) != 1 {
			name := strings.TrimPrefix(commandName(c), c.App.Name+" ")
			return withCode(exitUsage, fmt.Errorf("%s takes one %s, found %d", name, what, len(args)))
		}
		return action(c, args[0])
	})
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
			return nil, usageError(c, fmt.Errorf("%s: %w", arg, err), false)
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

// several returns the names that a flag was given, once or more often, each time one or
// several with commas between them.
func several(c *cli.Context, flag string) (names []string) {
	for _, text := range c.StringSlice(flag) {
		names = append(names, strings.Split(text, ",")...)
	}
	return names
}

// withoutArguments makes an action refuse arguments.
func withoutArguments(action cli.ActionFunc) cli.ActionFunc {
	return withArguments(func(c *cli.Context, rest []string) error {
		if len(rest) == 0 {
			return action(c)
		}
		hint := ""
		if flagNamed(c.Command.Flags, "cluster") != nil {
			hint = "; name a cluster with --cluster"
		}
		return withCode(exitUsage, fmt.Errorf("%s takes no arguments; found %q%s", commandName(c), rest[0], hint))
	})
}

// jsonFlag returns the flag --json, for all commands that print a result.
func jsonFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "print JSON"} }
