package cmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"heddle/harness/config"
)

// elsewhere are the commands of the pages that TestPages only parses, each with
// the reason; without one it runs them. A command belongs to the first row that it
// begins with.
//
// heddle run on a cluster is in none: TestPages runs it with --simulate, so that the
// commands behind it find a run folder of the name.
var elsewhere = []struct{ command, why string }{
	{"run --simulate", ""},
	{"lab", "needs root and Hadoop; .ci/run runs the README's and those of harness/lab's page"},
	{"demo --hadoop", "needs root and Hadoop; .ci/run runs it"},
	{"doctor --requirements", ""},
	{"doctor", "needs a cluster; .ci/run runs the README's"},
	{"capture", "needs a cluster; .ci/run runs the README's"},
	{"labels", "needs a cluster; labels.txtar has what it says without one"},
	{"restore", "needs a cluster; labels.txtar has what it says without one"},
	{"agent", "serves until it is ended; the tests of collectors/node/agent"},
	{"bench", "takes both cores for minutes; the tests of harness/bench"},
	{"run --resume", "needs a run that was interrupted; the tests of harness/experiment"},
	{"run --record-observations", "needs a cluster; a simulation steers none"},
	{"run --cluster", "needs that cluster"},
	{"paper clqlmrs --quick -o", "is long for a page of examples; the tests of harness/paper write such pages"},
	{"paper clqlmrs --matrix", "takes both cores for minutes; the tests of harness/paper have matrices"},
	{"paper rhc --matrix", "takes both cores for a minute; the tests of harness/paper have matrices"},
}

// TestPages reads all pages of the tree. Each heddle command in a code block is
// run in the order of the page, in a folder like the top of the tree, or is parsed
// where elsewhere says so. In a block of the kind console, lines behind "$ " are
// commands, and what follows one is what it prints: … stands for any text, and on a
// line of its own for any lines. A block with a file's name behind its kind is
// written to that file first. Blocks of Python and R are run where these are installed. Experiments and clusters in YAML are read, commands
// and flags in the text looked up, links followed.
func TestPages(t *testing.T) {
	bash, bin := bashWithHeddle(t)
	for _, page := range pages(t) {
		t.Run(strings.TrimPrefix(page.path, top+"/"), func(t *testing.T) {
			dir := likeTop(t)
			shell := func(line string) (string, error) {
				cmd := exec.CommandContext(t.Context(), bash, "-eo", "pipefail", "-c", line)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), asMain+"=1", "PATH="+bin+":"+os.Getenv("PATH"), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
				code, out, said := ended(t, cmd)
				if code != 0 {
					return out, fmt.Errorf("exit code %d: %s", code, said)
				}
				return out, nil
			}
			for _, b := range page.blocks {
				if b.file != "" {
					mustDo(t, os.WriteFile(filepath.Join(dir, b.file), []byte(strings.Join(b.lines, "\n")+"\n"), 0o644))
				}
				if b.kind == "yaml" {
					if err := readYAML(dir, b); err != nil {
						t.Errorf("line %d: %v", b.line, err)
					}
				}
				if name, ok := interpreters[b.kind]; ok && b.file == "" {
					t.Run(fmt.Sprintf("%s in line %d", b.kind, b.line), func(t *testing.T) { b.interpret(t, dir, name) })
				}
				for _, c := range b.commands() {
					row, err := checkCommand(c.line)
					if err != nil {
						t.Errorf("line %d: %v", b.line, err)
						continue
					}
					if row != "" || testing.Short() && strings.Contains(c.line, simulates) {
						continue
					}
					line := c.line
					if !strings.Contains(line, "--dry-run") { // which runs nothing on a cluster
						line = simulated.ReplaceAllString(line, "heddle run --simulate ")
					}
					out, err := shell(line)
					if err != nil {
						t.Errorf("line %d: %s: %v", b.line, line, err)
					}
					if line == c.line && b.kind == "console" && !prints(c.output).MatchString(out) {
						t.Errorf("line %d: %s prints\n%s\nthe page says\n%s", b.line, line, out, strings.Join(c.output, "\n"))
					}
				}
			}
			for _, span := range commandSpan.FindAllStringSubmatch(page.text, -1) {
				if err := checkMention(strings.Fields(span[1])); err != nil {
					t.Errorf("`%s`: %v", span[1], err)
				}
			}
			for _, link := range links.FindAllStringSubmatch(page.text, -1) {
				if err := page.follow(link[1]); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// interpreters run blocks of a kind, where they are installed: the notebook's Python, which
// .ci/run installs, and R. A block with the name of a file is for the commands after it.
var interpreters = map[string]string{"python": "heddle/notebook/bin/python", "r": "Rscript"}

// interpret runs the block in a folder, where the commands before it have left their files.
func (b block) interpret(t *testing.T, dir, name string) {
	if strings.Contains(name, "/") {
		cache := must(os.UserCacheDir())
		name = filepath.Join(cache, name)
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed, so that nothing has checked this block", name)
	}
	cmd := exec.CommandContext(t.Context(), path, "-")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(strings.Join(b.lines, "\n")+"\n")
	if code, out, said := ended(t, cmd); code != 0 || out == "" {
		t.Errorf("exit code %d: %s%s; want 0, and something printed", code, out, said)
	}
}

// TestElsewhere: no row of elsewhere is left of a command that no page has.
func TestElsewhere(t *testing.T) {
	met := map[string]bool{}
	for _, page := range pages(t) {
		for _, b := range page.blocks {
			for _, c := range b.commands() {
				row, _ := checkCommand(c.line)
				met[row] = true
			}
		}
	}
	for _, row := range elsewhere {
		if row.why != "" && !met[row.command] {
			t.Errorf("elsewhere has heddle %s, and no page does", row.command)
		}
	}
}

// TestReadme: the first page is short, and .ci/run runs what it tells a newcomer to.
func TestReadme(t *testing.T) {
	page := must(os.ReadFile(top + "/README.md"))
	ci := must(os.ReadFile(top + "/.ci/run"))
	const most = 150
	if n := strings.Count(string(page), "\n"); n > most {
		t.Errorf("README.md has %d lines, want at most %d: details stand beside their part", n, most)
	}
	for _, b := range parsePage("README.md", string(page)).blocks {
		for _, line := range b.lines {
			if b.kind != "" && strings.HasPrefix(line, "    ") {
				t.Errorf("README.md: %q: .ci/run takes lines with four spaces in front for commands, in fences too", line)
			}
		}
	}
	for _, line := range []string{
		"go run ./cmd/heddle demo --hadoop --install", "go run ./cmd/heddle demo", "go test -p 1 -timeout 40m ",
		"## A first experiment",
	} {
		if !strings.Contains(string(page), line) || !strings.Contains(string(ci), line) {
			t.Errorf("README.md and .ci/run do not both have %q", line)
		}
	}
}

const (
	top       = ".."                   // of the tree
	simulates = "heddle paper clqlmrs" // for many seconds, so not with -short
)

var (
	// simulated matches heddle run on a cluster.
	simulated   = regexp.MustCompile(`heddle run (?:--(?:simulate|emulate) )?`)
	commandSpan = regexp.MustCompile("`(heddle [^`]+)`")
	links       = regexp.MustCompile(`(?:\]\(|src=")([^)"\s]+)`)
)

// page is one Markdown file.
type page struct {
	path   string
	blocks []block
	text   string // what is in no block
}

// block is one block of code.
type block struct {
	kind, file string // of its fence
	line       int    // in the page, from 1
	lines      []string
}

type commandLine struct {
	line   string
	output []string // in a console
}

func pages(t *testing.T) (found []page) {
	t.Helper()
	mustDo(t, filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || path == top+"/runs"):
			return filepath.SkipDir
		case filepath.Ext(path) != ".md" || strings.HasSuffix(path, "testdata/sample.md"):
			return nil
		}
		data, err := os.ReadFile(path)
		found = append(found, parsePage(path, string(data)))
		return err
	}))
	return found
}

func parsePage(path, content string) page {
	p := page{path: path}
	var text []string
	var open *block // fenced
	indented := false
	for i, line := range strings.Split(content, "\n") {
		kind, fence := strings.CutPrefix(line, "```")
		code, deep := strings.CutPrefix(line, "    ")
		switch {
		case fence && open == nil:
			words := append(strings.Fields(kind), "", "")
			open = &block{kind: words[0], file: words[1], line: i + 1}
		case fence:
			p.blocks = append(p.blocks, *open)
			open = nil
		case open != nil:
			open.lines = append(open.lines, line)
		case deep && !indented:
			p.blocks = append(p.blocks, block{line: i + 1, lines: []string{code}})
		case deep:
			last := &p.blocks[len(p.blocks)-1]
			last.lines = append(last.lines, code)
		default:
			text = append(text, line)
		}
		indented = deep && open == nil && !fence
	}
	p.text = strings.Join(text, "\n")
	return p
}

// commands are the block's lines that have a heddle command.
func (b block) commands() (found []commandLine) {
	if b.kind != "" && b.kind != "sh" && b.kind != "console" {
		return nil
	}
	var line string
	for _, l := range b.lines {
		prompted, isPrompt := strings.CutPrefix(l, "$ ")
		if b.kind == "console" && !isPrompt && line == "" {
			if n := len(found); n > 0 {
				found[n-1].output = append(found[n-1].output, l)
			}
			continue
		}
		line += prompted
		if rest, more := strings.CutSuffix(line, `\`); more {
			line = rest
			continue
		}
		if len(heddles(line)) > 0 || b.kind == "console" {
			found = append(found, commandLine{line: line})
		}
		line = ""
	}
	return found
}

// heddles are the arguments of each heddle command in a line of shell.
func heddles(line string) (found [][]string) {
	line, _, _ = strings.Cut(line, " #")
	line = strings.NewReplacer(`"$(`, " ; ", `)"`, " ; ", "go run ./cmd/heddle", "heddle").Replace(line)
	within := false
	for word := range strings.FieldsSeq(line) {
		switch {
		case strings.ContainsAny(word, "|&;<>"):
			within = false
		case within:
			last := &found[len(found)-1]
			*last = append(*last, strings.Trim(word, `"'`))
		case word == "heddle":
			within = true
			found = append(found, nil)
		}
	}
	return found
}

// checkCommand parses the heddle commands of a line, and says which row of elsewhere
// it belongs to, if any.
func checkCommand(line string) (row string, err error) {
	for _, args := range heddles(line) {
		if err := parse(args, true); err != nil {
			return "", fmt.Errorf("%s: %w", line, err)
		}
		for _, r := range elsewhere {
			words := strings.Fields(r.command)
			if len(args) >= len(words) && slices.Equal(args[:len(words)], words) {
				if r.why != "" {
					row = r.command
				}
				break
			}
		}
	}
	return row, nil
}

// checkMention looks a command of the text up, which may lack arguments or the value
// of its last flag.
func checkMention(words []string) error {
	if last := words[len(words)-1]; strings.HasPrefix(last, "--") {
		if err := parse(words[1:], false); err == nil {
			return nil
		}
		words = append(slices.Clone(words), "1")
	}
	return parse(words[1:], false)
}

// parse has the commands' own parser read args, and runs nothing; arguments are
// missed only where all have to be there.
func parse(args []string, whole bool) error {
	app := newApp()
	app.Writer = io.Discard
	var disarm func(list []*cli.Command)
	disarm = func(list []*cli.Command) {
		for _, command := range list {
			disarm(command.Subcommands)
			command.Before = nil
			if len(command.Subcommands) > 0 && command.ArgsUsage == "" {
				act := command.Action
				command.Action = func(c *cli.Context) error {
					if c.NArg() == 0 && !whole {
						return nil
					}
					return act(c)
				}
				continue
			}
			command.Action = func(c *cli.Context) error {
				words, err := c.Args().Slice(), error(nil)
				least, most := arity(command.ArgsUsage)
				if command.Name != "exec" {
					words, err = arguments(c)
				}
				if c.IsSet("resume") {
					least, most = 0, 0 // the experiment is that of the run
				}
				switch {
				case err != nil:
					return err
				case whole && len(words) < least || most >= 0 && len(words) > most:
					return fmt.Errorf("arguments %q, want %q", words, command.ArgsUsage)
				}
				return nil
			}
		}
	}
	disarm(app.Commands)
	err := app.Run(append([]string{"heddle"}, args...))
	if errors.Is(err, errHelp) {
		return nil
	}
	return err
}

// prints matches an output that a page shows: … is any text, and any lines where it
// stands alone. Spaces at ends of lines do not count.
func prints(lines []string) *regexp.Regexp {
	var pattern strings.Builder
	pattern.WriteString(`^`)
	for _, line := range lines {
		if strings.TrimSpace(line) == "…" {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		text := regexp.QuoteMeta(strings.TrimRight(line, " "))
		pattern.WriteString(strings.ReplaceAll(text, "…", ".*?") + ` *\n`)
	}
	return regexp.MustCompile(pattern.String() + `$`)
}

// readYAML reads an experiment, a sweep or a cluster, or a part of an experiment.
func readYAML(dir string, b block) error {
	text := strings.Join(b.lines, "\n") + "\n"
	has := func(key string) bool { return strings.HasPrefix(text, key) || strings.Contains(text, "\n"+key) }
	if has("resourceManagers:") || has("machines:") {
		_, err := config.ParseCluster("page.yaml", []byte(text))
		return err
	}
	if has("traces:") {
		_, err := config.ParseSweep(filepath.Join(dir, "page.yaml"), []byte(text))
		return err
	}
	if !has("workloads:") {
		text += "workloads: [{name: wordcount, profile: tiny}]\n"
	}
	_, err := config.ParseExperiment("page.yaml", []byte(text))
	return err
}

// follow goes where a link of the page leads.
func (p *page) follow(link string) error {
	if strings.Contains(link, "://") {
		return nil
	}
	file, anchor, _ := strings.Cut(link, "#")
	to := filepath.Join(filepath.Dir(p.path), file)
	if file == "" {
		to = p.path
	}
	if _, err := os.Stat(to); err != nil {
		return fmt.Errorf("link %s: %w", link, err)
	}
	if anchor == "" {
		return nil
	}
	data, err := os.ReadFile(to)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		if heading, is := strings.CutPrefix(line, "#"); is && slug(heading) == anchor {
			return nil
		}
	}
	return fmt.Errorf("link %s: %s has no such heading", link, to)
}

var noSlug = regexp.MustCompile(`[^a-z0-9 _-]`)

// slug is a heading's anchor on a forge.
func slug(heading string) string {
	text := strings.TrimSpace(strings.TrimLeft(heading, "#"))
	return strings.ReplaceAll(noSlug.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
}

// likeTop is a new folder in which the tree's folders are found by their names, but
// for runs and for other modules that somebody has begun there.
func likeTop(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	entries := must(os.ReadDir(top))
	for _, e := range entries {
		path, err := filepath.Abs(filepath.Join(top, e.Name()))
		if _, statErr := os.Stat(filepath.Join(path, "go.mod")); statErr == nil {
			continue
		}
		if err == nil && e.Name() != "runs" {
			err = os.Symlink(path, filepath.Join(dir, e.Name()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
