package sparktest

import "io"

// Join writes the log of a join of two tables, as adaptive execution runs it: stage 4 reads stages 0
// and 1, which its job lists again as 2 and 3. One of its four tasks reads ten times as much as the others.
func Join(out io.Writer, id, name string) {
	l := New(out, "3.5.8", id, name, 2000, "spark.executor.instances", "2", "spark.locality.wait", "3s")
	l.Master(8000)
	l.Executor(1, "r1n1", 2, 12000)
	l.Executor(2, "r2n1", 2, 14000)
	l.Query(7, "select * from a join b", 15000, 60000, func() {
		a := Stage{ID: 0, Tasks: 2, RDD: 3, Name: "scan a", From: 16000, To: 24000}
		b := Stage{ID: 1, Tasks: 2, RDD: 8, Name: "scan b", From: 16000, To: 26000}
		l.Job(7, true, []Stage{a}, func() {
			l.Run(a, Task{Index: 0, Executor: 1, Host: "r1n1", Locality: "NODE_LOCAL", From: 16000, To: 24000, Deserialize: 1000, Input: 1000},
				Task{Index: 1, Executor: 2, Host: "r2n1", Locality: "NODE_LOCAL", From: 16000, To: 23000, Input: 1000})
		})
		l.Job(7, true, []Stage{b}, func() {
			l.Run(b, Task{Index: 0, Executor: 1, Host: "r1n1", Locality: "NODE_LOCAL", From: 16000, To: 23000, Input: 1000},
				Task{Index: 1, Executor: 2, Host: "r2n1", Locality: "RACK_LOCAL", From: 19000, To: 26000, GC: 2000, Input: 1000})
		})
		again := []Stage{{ID: 2, RDD: 3, Tasks: 2, Name: "scan a"}, {ID: 3, RDD: 8, Tasks: 2, Name: "scan b"}}
		join := Stage{ID: 4, Tasks: 4, RDD: 12, Parents: []int{2, 3}, Name: "join", From: 27000, To: 58000}
		l.Job(7, true, append(again, join), func() {
			l.Run(
				join,
				Task{
					Index:     0,
					Executor:  1,
					Host:      "r1n1",
					Locality:  "PROCESS_LOCAL",
					From:      27000,
					To:        58000,
					Remote:    6000,
					Local:     4000,
					FetchWait: 500,
					Spilt:     300,
					Result:    true,
				},
				Task{Index: 1, Executor: 1, Host: "r1n1", Locality: "NODE_LOCAL", From: 27000, To: 30000, Remote: 600, Local: 400, Result: true},
				Task{Index: 2, Executor: 2, Host: "r2n1", Locality: "NODE_LOCAL", From: 27000, To: 30000, Remote: 600, Local: 400, Result: true},
				Task{Index: 3, Executor: 2, Host: "r2n1", Locality: "ANY", From: 27000, To: 31000, Remote: 600, Local: 400, Result: true},
			)
		})
	})
	l.End(61000)
}

// Lost writes the log of an application that lost an executor, with the output of a map on it, so
// that a stage failed and the stage before it ran again, and whose driver gave another one back.
func Lost(out io.Writer, id, name string) {
	l := New(out, "2.4.8", id, name, 1000, "spark.dynamicAllocation.enabled", "true")
	l.Executor(1, "r1n1", 1, 5000)
	first := Stage{ID: 0, Tasks: 2, RDD: 1, Name: "map", From: 6000, To: 16000}
	second := Stage{
		ID:      1,
		Tasks:   1,
		RDD:     2,
		Parents: []int{0},
		Name:    "reduce",
		From:    16000,
		To:      20000,
		Failure: "org.apache.spark.shuffle.FetchFailedException",
	}
	l.Job(-1, true, []Stage{first, second}, func() {
		l.Executor(2, "r1n2", 1, 11000)
		l.Run(first, Task{Index: 0, Executor: 1, Host: "r1n1", Locality: "NODE_LOCAL", From: 6000, To: 16000, Input: 5000},
			Task{Index: 1, Executor: 2, Host: "r1n2", Locality: "ANY", From: 11000, To: 16000, Input: 5000})
		l.Removed(2, 17000, "Container marked as failed: container_1_0001_01_000003 on host: r1n2. Exit status: -100.")
		l.Run(second, Task{Index: 0, Executor: 1, Host: "r1n1", Locality: "NODE_LOCAL", From: 16000, To: 20000, Reason: "FetchFailed"})
		first.Attempt, first.From, first.To, first.Tasks = 1, 20000, 26000, 1
		l.Executor(3, "r1n3", 1, 19000)
		l.Run(first, Task{Index: 0, Executor: 3, Host: "r1n3", Locality: "ANY", From: 20000, To: 26000, Input: 5000})
		l.Removed(3, 29000, "Executor killed by driver.")
		second.Attempt, second.From, second.To, second.Failure = 1, 26000, 30000, ""
		l.Run(second, Task{Index: 0, Executor: 1, Host: "r1n1", Locality: "NODE_LOCAL", From: 26000, To: 30000, Local: 5000, Result: true})
	})
	l.End(31000)
}
