//go:build linux

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/ansible/tests/hosts"
)

func TestWithoutHosts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "hosts")
	for _, test := range []struct{ args, want string }{
		{"", "usage: hosts"},
		{"dwon", "usage: hosts"},
		{"up A", `host name "A": want lower-case`},
		{"inventory", "bring them up first"},
		{"ssh a true", "bring them up first"},
		{"reboot a", "bring them up first"},
	} {
		err := run(t.Context(), append([]string{"-dir", dir}, strings.Fields(test.args)...))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("hosts %s: %v, want an error with %q", test.args, err, test.want)
		}
	}
	if err := run(t.Context(), []string{"-dir", dir, "down"}); err != nil {
		t.Errorf("down without hosts: %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("there is a folder %s, and there were no hosts", dir)
	}
}

func TestCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a host, which takes longer than -short allows")
	}
	if err := hosts.Preflight(); err != nil {
		if os.Getenv("HEDDLE_LAB") == "require" {
			t.Fatalf("HEDDLE_LAB=require: %v", err)
		}
		t.Skip(err)
	}
	dir := filepath.Join(t.TempDir(), "hosts")
	defer func() {
		if err := run(t.Context(), []string{"-dir", dir, "down"}); err != nil {
			t.Error(err)
		}
	}()
	for _, test := range []struct{ args, want string }{
		{"up only", ""},
		{"inventory", ""},
		{"ssh only touch /var/there", ""},
		{"ssh", "which host? there are [only]"},
		{"reboot other", "no such host; there are only"},
		{"reboot only", ""},
		{"ssh only test -e /var/there", ""},
		{"ssh only exit 7", "exit status 7"},
		{"up only", "take hosts down that are there already"},
	} {
		err := run(t.Context(), append([]string{"-dir", dir}, strings.Fields(test.args)...))
		switch {
		case test.want == "" && err != nil:
			t.Fatalf("hosts %s: %v", test.args, err)
		case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
			t.Errorf("hosts %s: %v, want an error with %q", test.args, err, test.want)
		}
	}
}
