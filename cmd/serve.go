package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"heddle/collectors/node/agent"
	"heddle/harness/serve"
)

func serveCommand() *cli.Command {
	return &cli.Command{
		Name:      "serve",
		Usage:     "show all runs in a browser",
		ArgsUsage: "[DIR]",
		Description: `Serves a list of the runs in DIR, or else in --runs, which can be searched. Each opens as
the page that heddle report makes of it. It reads the folders and changes nothing. It
works on this machine only, and the address has a token. For example:

   heddle serve
   heddle serve --listen 127.0.0.1:8080 runs

To look at it from another machine, forward the port, and open the address there:

   ssh -L 8080:127.0.0.1:8080 HOST

The token stays the same, for bookmarks and for Prometheus. It is in the file
serve.token of heddle's folder in the user's state folder. To change it, remove the file.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Value: serve.Loopback, Usage: "`ADDRESS` of loopback to serve on, host:port; port 0 is a free one"},
			runsFlag(nil),
		},
		Action: withArguments(runServe),
	}
}

func runServe(c *cli.Context, args []string) error {
	if len(args) > 1 || len(args) == 1 && c.IsSet("runs") {
		return withCode(exitUsage, errors.New("want one DIR at most, or --runs"))
	}
	dir, err := runsRoot(cmp.Or(append(args, c.String("runs"))...))
	if err != nil {
		return withCode(exitUsage, err)
	}
	if info, err := os.Stat(dir); err != nil {
		return withCode(exitUsage, fmt.Errorf("serve runs: %w", err))
	} else if !info.IsDir() {
		return withCode(exitUsage, fmt.Errorf("serve runs: %s is no folder", dir))
	}
	s, err := listen(c.String("listen"))
	if err != nil {
		return err
	}
	failed := make(chan error, 1)
	s.Start(serve.NewFolder(dir), func(err error) { failed <- err })
	fmt.Fprintln(stderr, "runs:", s.URL())
	select {
	case err = <-failed:
	case <-c.Context.Done():
	}
	s.Close(c.Context)
	return err
}

// listen opens a port of loopback for browsers.
func listen(address string) (*serve.Server, error) {
	token, err := serveToken()
	if err != nil {
		return nil, withCode(exitUsage, err)
	}
	s, err := serve.Listen(address, token)
	return s, withCode(exitUsage, err)
}

// serveToken returns the token for browsers and Prometheus. It is kept in a file, so
// that Prometheus can be told of it once.
func serveToken() (string, error) {
	path, err := ownToken("serve.token")
	if err != nil {
		return "", err
	}
	tokens, err := agent.ReadTokens(path)
	if err != nil {
		return "", err
	}
	return tokens[0], nil
}

// serveFlag is the value of heddle run's flag --serve: an address, or loopback if none is
// given, or empty without the flag.
type serveFlag string

// Set takes an address. The flag package gives true if there is none.
func (f *serveFlag) Set(text string) error {
	if text == "true" {
		text = serve.Loopback
	}
	*f = serveFlag(text)
	return nil
}

// String returns the address.
func (f *serveFlag) String() string { return string(*f) }

// IsBoolFlag tells the flag package that the address may be left out.
func (*serveFlag) IsBoolFlag() bool { return true }

func serveRunFlag() cli.Flag {
	return &cli.GenericFlag{Name: "serve", Value: new(serveFlag), Usage: "show the run in a browser while it goes on, and its metrics to Prometheus, on the `ADDRESS` of loopback given behind = (default: a free port)"}
}

// servePage serves the page of a run that is about to begin, if --serve asks for it. The
// run calls end when it has ended. If serving fails later, the run goes on without.
func servePage(c *cli.Context) (page *serve.Live, end func(), err error) {
	if !c.IsSet("serve") {
		return nil, func() {}, nil
	}
	s, err := listen(c.String("serve"))
	if err != nil {
		return nil, nil, err
	}
	page = serve.NewLive()
	s.Start(page, func(err error) { warn(err.Error() + "; the run goes on") })
	fmt.Fprintln(stderr, "page of the run:", s.URL())
	return page, func() {
		page.End(c.Context)
		s.Close(c.Context)
	}, nil
}
