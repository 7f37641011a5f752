package doctor

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// hostile are what a ResourceManager may answer, or whoever answers in its place,
// to run commands where a plan is used. %s is the command.
var hostile = map[string]string{
	"template":            `{{lookup('pipe','%s')}}`,
	"statement":           `{%% set x = lookup('pipe','%s') %%}`,
	"comment of template": `x{#%s#}`,
	"line":                "x\nsteering_conf_dir: %s",
	"quote":               `x"; %s #`,
	"shell":               `x'; $(%s) '`,
	"terminal":            "x\x1b[2J%s",
	"line of Unicode":     "x\u2028%s",
}

// lies are the places where a daemon's answers come into a plan.
var lies = map[string]func(f *fake, text string){
	"admins":         func(f *fake, text string) { f.conf["yarn.admin.acl"] = text },
	"admins' groups": func(f *fake, text string) { f.conf["yarn.admin.acl"] = " " + text },
	"masters' label": func(f *fake, text string) {
		f.conf["yarn.resourcemanager.node-labels.am.default-node-label-expression"] = text
	},
	"queue": func(f *fake, text string) {
		f.instead["rm /ws/v1/cluster/scheduler"] = queues(text, "root."+text, "gpu")
	},
	"label of a queue": func(f *fake, text string) { f.instead["rm /ws/v1/cluster/scheduler"] = queues("a", "root.a", text) },
	"labels in the settings": func(f *fake, text string) {
		withSettings("memory", map[string]string{"root.etl.night.accessible-node-labels": escaped(text)})(f)
	},
	"node": func(f *fake, text string) {
		f.instead["rm /ws/v1/cluster/nodes"] = reply{200, "application/json", fmt.Sprintf(`{"nodes":{"node":[{"id":%s,"state":"RUNNING"}]}}`, quoted(text))}
	},
	"store":   func(f *fake, text string) { f.conf["yarn.scheduler.configuration.store.class"] = text },
	"setting": func(f *fake, text string) { f.conf["yarn.cluster.max-application-priority"] = text },
}

func queues(name, path, label string) reply {
	return reply{200, "application/json", fmt.Sprintf(`{"scheduler":{"schedulerInfo":{"type":"capacityScheduler","queueName":"root","queuePath":"root","queues":{"queue":[
		{"queueName":%s,"queuePath":%s,"capacity":90,"nodeLabels":[%s]}]}}}}`, quoted(name), quoted(path), quoted(label))}
}

// TestHostileAnswers: of what a ResourceManager answers, nothing gets into the parts
// of a plan that others obey: files, Ansible's variables, commands for pasting. Where
// such an answer is no name, there is no plan, or a plan without it.
func TestHostileAnswers(t *testing.T) {
	const command = "touch$IFS/tmp/x"
	for place, lie := range lies {
		for kind, form := range hostile {
			t.Run(place+"/"+kind, func(t *testing.T) {
				text := fmt.Sprintf(form, command)
				f := newFake(t)
				handMade(f)
				lie(f, text)
				p, err := f.tryPlan(t, fixFor())
				if err != nil {
					return
				}
				var elements, vars, plain bytes.Buffer
				if err := errors.Join(p.WriteXML(&elements), p.WriteAnsible(&vars), p.WriteText(&plain)); err != nil {
					t.Fatal(err)
				}
				for name, out := range map[string]string{"XML": elements.String(), "Ansible": vars.String(), "commands": strings.Join(p.Then, "\n")} {
					if strings.Contains(out, command) {
						t.Errorf("the plan as %s has what the server said:\n%s", name, out)
					}
				}
				for line := range strings.Lines(plain.String()) {
					if rest, found := strings.CutPrefix(strings.TrimSpace(line), "now: "); strings.Contains(line, command) && !found && !strings.Contains(line, ". ") {
						t.Errorf("a line of the server's own in the plan: %q %s", line, rest)
					}
				}
				if strings.ContainsAny(plain.String(), "\x1b\u2028") {
					t.Errorf("a terminal would obey what the server said:\n%q", plain.String())
				}
			})
		}
	}
}

// TestHostileSelf: what the owner of the cluster file and the flags says is quoted,
// or refused.
func TestHostileSelf(t *testing.T) {
	f := newFake(t)
	handMade(f)
	o := fixFor()
	o.File = "my clusters/it's $(id).yaml"
	p := f.plan(t, o)
	if last, want := p.Then[len(p.Then)-1], `heddle doctor --cluster 'my clusters/it'\''s $(id).yaml'`; last != want {
		t.Errorf("the last command is %s, want %s", last, want)
	}
	o.CacheFolder = "/mnt/{{ x }}"
	f = newFake(t)
	handMade(f)
	if _, err := f.tryPlan(t, o); err == nil || !strings.Contains(err.Error(), "it has {{, with which a template of Ansible begins") {
		t.Errorf("a folder that is a template: error %v", err)
	}
}

// TestUnsafe: Ansible takes each value of the variables as text, even one that looks
// like a template, with --check too. The plan here is one that check would refuse.
func TestUnsafe(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(dir, "mark")
	value := "{{ lookup('pipe', 'touch " + mark + "') }}"
	p := &FixPlan{Cluster: "blue", Restart: []string{}, Changes: []Change{{File: "yarn-site.xml", Property: "yarn.admin.acl", Value: value}}}
	var vars bytes.Buffer
	if err := p.WriteAnsible(&vars); err != nil {
		t.Fatal(err)
	}
	var read yaml.Node
	if err := yaml.Unmarshal(vars.Bytes(), &read); err != nil || !strings.Contains(vars.String(), `"yarn.admin.acl": !unsafe "{{ lookup`) {
		t.Fatalf("error %v, want a quoted key and a value that is no template:\n%s", err, vars.String())
	}
	if p.check() == nil {
		t.Error("check takes a template")
	}
	if _, err := exec.LookPath("ansible-playbook"); err != nil {
		if os.Getenv("HEDDLE_LAB") == "require" {
			t.Fatalf("HEDDLE_LAB=require: %v", err)
		}
		t.Skip(err)
	}
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	tree, err := filepath.Abs("../../ansible")
	if err == nil {
		write("collections/ansible_collections/heddle/here", "")
		err = os.Symlink(tree, filepath.Join(dir, "collections/ansible_collections/heddle/cluster"))
	}
	if err != nil {
		t.Fatal(err)
	}
	site := write("conf/yarn-site.xml", "<configuration>\n</configuration>\n")
	inventory := write("hosts.yml", "hadoop: {hosts: {here: {ansible_connection: local, ansible_python_interpreter: '{{ ansible_playbook_python }}'}}}\n")
	for _, mode := range []string{"--check", "--diff"} {
		cmd := exec.CommandContext(t.Context(), "ansible-playbook", "-i", inventory, "heddle.cluster.steering", "-e", "@"+write("plan.yml", vars.String()),
			"-e", "steering_conf_dir="+filepath.Dir(site), mode)
		cmd.Env = append(os.Environ(), "ANSIBLE_COLLECTIONS_PATH="+filepath.Join(dir, "collections"), "ANSIBLE_LOCAL_TEMP="+filepath.Join(dir, "tmp"), "ANSIBLE_REMOTE_TEMP="+filepath.Join(dir, "remote"), "ANSIBLE_NOCOLOR=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "changed=1") {
			t.Fatalf("ansible-playbook %s: %v\n%s", mode, err, out)
		}
		if _, err := os.Stat(mark); err == nil {
			t.Fatalf("ansible-playbook %s has run a command that a value of the plan names", mode)
		}
	}
	if text, err := os.ReadFile(site); err != nil || !strings.Contains(string(text), "{{ lookup('pipe'") {
		t.Errorf("error %v, want the value as it is in the file:\n%s", err, text)
	}
}

func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // ignore the error: writing to a strings.Builder cannot fail
	return b.String()
}
