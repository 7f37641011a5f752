package yarn

import (
	"strings"
	"testing"
)

func TestIsHistory(t *testing.T) {
	const job = "job_1795236380513_0001"
	for name, want := range map[string]bool{
		job + "-1795236390000-root-word+count-1795236400000-4-2-SUCCEEDED-default-1795236391000.jhist": true,
		job + "-1795236390000-a.b-%E2%82%AC%2F*-1795236400000-0-0-FAILED-root.a_b-1795236391000.jhist": true,
		job + "-x.jhist.tmp": false,
		job + "_conf.xml":    false,
		job + ".summary":     false,
		"job_1795236380513_00012-1-root-x-2-0-0-FAILED-default-1.jhist": false,
		job + "-/../../../etc/x.jhist":                                  false,
		job + "-..\x00.jhist":                                           false,
		job + "-\x1b[2J.jhist":                                          false,
		job + "-x.jhist\n":                                              false,
		job + "-" + strings.Repeat("a", 300) + ".jhist":                 false,
	} {
		if got := isHistory(name, job); got != want {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
}

func TestReadHistoryOfNoJob(t *testing.T) {
	for _, job := range []string{"", "../../x", "job_1_0001/../x", "application_1_0001", "job_1_1", "job_1_0001\n"} {
		if _, err := ReadHistory(t.Context(), nil, HistoryFolders{}, "root", job); err == nil || !strings.Contains(err.Error(), "want a job id") {
			t.Errorf("%q: %v; want an error that it is no job's id", job, err)
		}
	}
}
