// Command heddle measures and decides on which nodes the tasks of Hadoop jobs
// run.
package main

import "heddle/cmd"

func main() { cmd.Main() }
