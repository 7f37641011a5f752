//go:build linux

// Command cmd makes hosts on this machine, for trying the ansible collection
// by hand. See package hosts.
//
//	cmd up [NAME...]          make hosts and print the path of their ansible inventory
//	cmd inventory             print the path of the inventory of hosts that are up
//	cmd ssh NAME [COMMAND]    log in to a host, or run a command on it
//	cmd reboot NAME           end a host as a power failure would, and boot it again
//	cmd down                  end the hosts and remove all that they left
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"golang.org/x/sys/unix"

	"heddle/ansible/tests/hosts"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "hosts:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("hosts", flag.ContinueOnError)
	dir := flags.String("dir", defaultDir(), "folder of the hosts; each folder has hosts of its own")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	var command string
	if args = flags.Args(); len(args) > 0 {
		command, args = args[0], args[1:]
	}
	switch command {
	case "up":
		if len(args) == 0 {
			args = hosts.Default()
		}
		h, err := hosts.Up(ctx, *dir, args)
		if err != nil {
			return err
		}
		fmt.Println(h.Inventory())
		return nil
	case "down":
		return hosts.Down(ctx, *dir)
	case "inventory", "ssh", "reboot":
		h, err := hosts.Open(*dir)
		if err != nil {
			return err
		}
		return use(ctx, h, command, args)
	}
	return errors.New("usage: hosts [-dir FOLDER] up [NAME...] | inventory | ssh NAME [COMMAND] | reboot NAME | down")
}

// use runs those commands that need hosts that are up.
func use(ctx context.Context, h *hosts.Hosts, command string, args []string) error {
	if command == "inventory" {
		fmt.Println(h.Inventory())
		return nil
	}
	if len(args) == 0 {
		return fmt.Errorf("%s which host? there are %v", command, h.Names)
	}
	if command == "reboot" {
		return h.Reboot(ctx, args[0])
	}
	ssh := h.Command(ctx, args[0], args[1:]...)
	ssh.Stdin, ssh.Stdout, ssh.Stderr = os.Stdin, os.Stdout, os.Stderr
	return ssh.Run()
}

// defaultDir returns a folder beside those of labs.
func defaultDir() string {
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		state = filepath.Join(os.Getenv("HOME"), ".local", "state")
	}
	return filepath.Join(state, "heddle", "hosts")
}
