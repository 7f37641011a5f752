//go:build linux

package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// play runs tasks on this host, with these variables and no facts of its own.
func play(t *testing.T, vars, tasks string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("ansible-playbook"); err != nil {
		t.Skipf("%v: install what ansible/tests/requirements.txt lists", err)
	}
	roles, err := filepath.Abs("../roles")
	mustDo(t, err)
	book := filepath.Join(t.TempDir(), "play.yml")
	write(t, book, "- hosts: localhost\n  connection: local\n  gather_facts: false\n  vars: {ansible_python_interpreter: '{{ ansible_playbook_python }}', roles: "+roles+", "+vars+"}\n  tasks:\n"+tasks)
	cmd := exec.CommandContext(t.Context(), "ansible-playbook", "-i", "localhost,", book)
	cmd.Env = append(slices.Clone(os.Environ()), "ANSIBLE_LOCAL_TEMP="+t.TempDir(), "ANSIBLE_NOCOLOR=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestJavaPackage: the role java knows by the facts of a host which package has a Java.
func TestJavaPackage(t *testing.T) {
	var facts []string
	want := map[string]string{
		"Rocky 9.4 RedHat":    "java-17-openjdk-headless /usr/lib/jvm/jre-17",
		"RedHat 10.0 RedHat":  "java-21-openjdk-headless /usr/lib/jvm/jre-21",
		"CentOS 10 RedHat":    "java-21-openjdk-headless /usr/lib/jvm/jre-21",
		"Fedora 41 RedHat":    "java-17-openjdk-headless /usr/lib/jvm/jre-17",
		"Fedora 43 RedHat":    "java-21-openjdk-headless /usr/lib/jvm/jre-21",
		"Debian 12 Debian":    "openjdk-17-jre-headless /usr/lib/jvm/java-17-openjdk-amd64",
		"Debian 13 Debian":    "openjdk-21-jre-headless /usr/lib/jvm/java-21-openjdk-amd64",
		"Ubuntu 24.04 Debian": "openjdk-17-jre-headless /usr/lib/jvm/java-17-openjdk-amd64",
	}
	for host := range want {
		f := strings.Fields(host)
		major, _, _ := strings.Cut(f[1], ".")
		facts = append(facts, "{host: "+host+", distribution: "+f[0]+", distribution_major_version: '"+major+"', os_family: "+f[2]+
			", architecture: x86_64}")
	}
	out, err := play(t, "hosts_facts: ["+strings.Join(facts, ", ")+"]", `
    - ansible.builtin.include_vars: "{{ roles }}/java/defaults/main.yml"
    - ansible.builtin.debug: {msg: "{{ item.host }}: {{ java_package }} {{ java_home }}"}
      vars: {ansible_facts: "{{ item }}"}
      loop: "{{ hosts_facts }}"
`)
	for host, java := range want {
		if !strings.Contains(out, `"msg": "`+host+": "+java+`"`) {
			t.Errorf("%s: want %s: %v\n%s", host, java, err, out)
		}
	}
}

// TestHostNames: the roles refuse hosts whose names Hadoop does not take.
func TestHostNames(t *testing.T) {
	for name, good := range map[string]bool{"Cluster_NN_01": false, "node-.example.org": false, "n1.Example.org": true, "10.0.0.7": true} {
		for _, tasks := range []string{"hadoop/tasks/names.yml", "harness/tasks/cluster.yml"} {
			out, err := play(t, "hadoop_hosts: ["+name+", worker3], harness_cluster_file: "+t.TempDir()+"/made.yaml", `
    - ansible.builtin.add_host: {name: "`+name+`", groups: [namenode, resourcemanager, historyserver]}
    - ansible.builtin.add_host: {name: worker3, groups: [workers]}
    - ansible.builtin.include_tasks: "{{ roles }}/`+tasks+`"
`)
			if refused := strings.Contains(out, "Hadoop does not start on "+name+":"); refused == good {
				t.Errorf("%s: %s: %v\n%s", tasks, name, err, out)
			}
		}
	}
}
