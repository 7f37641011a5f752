// Command site writes heddle's pages as a site that is read without a network, from files
// or from any server:
//
//	go run ./cmd/site FOLDER
//
// It runs at the top of heddle's source. Its pages are the tree's Markdown files, and a
// reference that is made from the code. pages/contents.md is the list that readers choose
// from. A link to something that is not there is an error, and the same source gives the
// same bytes. It knows nothing of versions: a site is that of one commit.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"heddle/harness/paper/models"
	"heddle/harness/sched"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func write(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: go run ./cmd/site FOLDER, at the top of heddle's source")
	}
	if err := sched.Register(models.List()...); err != nil {
		return err
	}
	made, err := reference(".")
	if err != nil {
		return err
	}
	files, err := build(os.DirFS("."), made)
	if err != nil {
		return err
	}
	if err := os.Mkdir(args[0], 0o755); err != nil {
		return err
	}
	for name, data := range files {
		path := filepath.Join(args[0], filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	fmt.Println(filepath.Join(args[0], "index.html"))
	return nil
}
