package inventory

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// MaxBytes is the most JSON that is read: an inventory of 3,000 hosts with a page
// of variables each is 30 MB.
const MaxBytes = 64 << 20

// listLimit is how long ansible-inventory may take: a dynamic inventory may ask a
// slow service.
const listLimit = 5 * time.Minute

// ErrNoAnsible means that ansible-inventory is not installed on this machine.
var ErrNoAnsible = errors.New("ansible-inventory is not installed here")

// List has ansible-inventory read an inventory, and returns the JSON that it
// prints.
func List(ctx context.Context, source string) ([]byte, error) {
	program, err := exec.LookPath("ansible-inventory")
	if err != nil {
		return nil, fmt.Errorf("read inventory %s: %w: install ansible-core, or run it where it is and pipe what it prints: ansible-inventory -i %[1]s --list | heddle cluster from-inventory -", source, ErrNoAnsible)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, listLimit, fmt.Errorf("no answer within %v", listLimit))
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-i", source, "--list")
	var out, said limited
	cmd.Stdout, cmd.Stderr = &out, &said
	// An inventory that cannot be read is otherwise a warning, and the result is empty.
	cmd.Env = append(os.Environ(), "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED=true", "ANSIBLE_NOCOLOR=1", "ANSIBLE_DEPRECATION_WARNINGS=0")
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("read inventory %s: ansible-inventory: %w", source, context.Cause(ctx))
	case err != nil && strings.Contains(strings.ToLower(said.String()), "vault"):
		return nil, fmt.Errorf("read inventory %s: it has encrypted files, and ansible-inventory has no password that fits: set ANSIBLE_VAULT_PASSWORD_FILE to the path of a file with the password", source)
	case err != nil:
		return nil, fmt.Errorf("read inventory %s: ansible-inventory: %w: %.2000s", source, err, strings.TrimSpace(said.String()))
	}
	return out.Bytes(), nil
}

// limited keeps the first MaxBytes of what is written to it.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > MaxBytes {
		return 0, fmt.Errorf("longer than %d bytes", MaxBytes)
	}
	return l.Buffer.Write(p)
}

// inventory is what 'ansible-inventory --list' says of groups and hosts.
type inventory struct {
	groups map[string]group
	vars   map[string]map[string]any // by host and name
}

type group struct {
	Hosts    []string `json:"hosts"`
	Children []string `json:"children"`
}

func readList(data []byte) (*inventory, error) {
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("read inventory: %d bytes of JSON; want at most %d", len(data), MaxBytes)
	}
	const want = "want what 'ansible-inventory -i INVENTORY --list' prints"
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(data, &parts); err != nil {
		return nil, fmt.Errorf("read inventory: not a JSON object: %w; %s", err, want)
	}
	if parts["_meta"] == nil {
		return nil, errors.New("read inventory: no key _meta; " + want)
	}
	var meta struct {
		HostVars map[string]map[string]any `json:"hostvars"`
	}
	decoder := json.NewDecoder(bytes.NewReader(parts["_meta"]))
	decoder.UseNumber() // a block size in bytes must not become 1.34217728e+08
	if err := decoder.Decode(&meta); err != nil {
		return nil, fmt.Errorf("read inventory: _meta: %w; %s", err, want)
	}
	inv := &inventory{map[string]group{}, meta.HostVars}
	for name, part := range parts {
		if name == "_meta" {
			continue
		}
		var g group
		if err := json.Unmarshal(part, &g); err != nil {
			return nil, fmt.Errorf("read inventory: group %.80q: %w; %s", name, err, want)
		}
		inv.groups[name] = g
	}
	return inv, nil
}

// members returns the hosts of a group and of the groups in it, in their order,
// each once, and whether there is such a group.
func (inv *inventory) members(name string) ([]string, bool) {
	_, found := inv.groups[name]
	var hosts []string
	listed, visited := map[string]bool{}, map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		if visited[name] {
			return
		}
		visited[name] = true
		for _, host := range inv.groups[name].Hosts {
			if !listed[host] {
				listed[host] = true
				hosts = append(hosts, host)
			}
		}
		for _, child := range inv.groups[name].Children {
			visit(child)
		}
	}
	visit(name)
	return hosts, found
}

// text returns a variable of a host as text, or otherwise if the host does not
// have it. It refuses what only a play can fill in.
func (b *builder) text(host, name, otherwise string) string {
	value, there := b.vars[host][name]
	if !there || value == nil {
		return otherwise
	}
	text := plain(value)
	switch {
	case encrypted(value):
		b.wrong("host %s: %s is encrypted; want it in plain text, as it goes into the cluster file", host, name)
	case text == "":
		b.wrong("host %s: %s: want one value that is not empty", host, name)
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		b.wrong("host %s: %s is %.80q; want no control characters, such as a line's end", host, name, text)
	case isTemplate(text):
		b.wrong("host %s: %s is the template %.80q, which ansible-inventory does not fill in; want its value", host, name, text)
	}
	return text
}

// plain returns a single value as text, and "" for others.
func plain(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// encrypted reports whether a value is of Ansible's vault, in the form in which
// ansible-inventory prints such values.
func encrypted(value any) bool {
	m, _ := value.(map[string]any)
	return m["__ansible_vault"] != nil
}

func isTemplate(text string) bool {
	return strings.Contains(text, "{{") || strings.Contains(text, "{%")
}

func (b *builder) number(host, name string, otherwise int) int {
	text := b.text(host, name, "")
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if (err != nil || n < 1) && !isTemplate(text) {
		b.wrong("host %s: %s is %.80q; want a whole number above 0", host, name, text)
	}
	return n
}

// port reads a variable that is a TCP port.
func (b *builder) port(host, name string, otherwise int) int {
	n := b.number(host, name, otherwise)
	if n > 65535 {
		b.wrong("host %s: %s is %d; want a port from 1 to 65535", host, name, n)
	}
	return n
}

// address returns where a host is in the cluster's network.
func (b *builder) address(host string) string {
	before := len(b.errs)
	name := "hadoop_address"
	address := b.text(host, name, "")
	if address == "" {
		name = "ansible_host"
		address = b.text(host, name, host)
	}
	if len(b.errs) == before && !hostName.MatchString(address) {
		b.wrong("host %s: %s is %.80q; want an IP address, or a host's name", host, name, address)
	}
	return address
}

// yes reads a variable as Ansible reads truth.
func (b *builder) yes(host, name string, otherwise bool) bool {
	text := strings.ToLower(b.text(host, name, strconv.FormatBool(otherwise)))
	switch {
	case slices.Contains([]string{"true", "yes", "on", "1"}, text):
		return true
	case text != "" && !isTemplate(text) && !slices.Contains([]string{"false", "no", "off", "0"}, text):
		b.wrong("host %s: %s is %.80q; want true or false", host, name, text)
	}
	return false
}

// mapping returns a variable that has keys and values.
func (b *builder) mapping(host, name string) map[string]any {
	value := b.vars[host][name]
	m, ok := value.(map[string]any)
	if value != nil && !ok || encrypted(value) {
		b.wrong("host %s: %s: want keys and values in plain text", host, name)
		return nil
	}
	return m
}

// property returns one of a host's hadoop_properties, or "".
func (b *builder) property(host, file, name string) string {
	properties, _ := b.mapping(host, "hadoop_properties")[file].(map[string]any)
	return plain(properties[name])
}
