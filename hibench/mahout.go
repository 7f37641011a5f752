package hibench

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Names of the workloads whose programs are in Mahout's jars, of release 0.11 as
// HiBench's. heddle runs them over random words, without a checkout: kmeans looks for
// five clusters among vectors of words, and bayes learns which words are typical of each
// of its input files. What they compute is not checked. HiBench's own, with HiBench's
// data, are the scripts ml/kmeans and ml/bayes.
const (
	Kmeans = "kmeans"
	Bayes  = "bayes"
)

// recipe says how a workload of Mahout's runs. In its commands, {input} stands for the
// folder of the input, whose folder text has random words, {output} for that of the
// output, and {reduces} for the number of reduces.
type recipe struct {
	lines   bool     // the words are lines of text files, and not records of SequenceFiles
	prepare string   // makes from the words what the workload reads
	reads   string   // the folder that it reads, below {input}
	run     []string // one after the other
}

var recipes = map[string]recipe{
	Kmeans: {
		prepare: "seq2sparse -i {input}/text -o {input}/vectors -wt tf -x 100 --numReducers {reduces}",
		reads:   "vectors/tf-vectors",
		run: []string{"kmeans -i {input}/vectors/tf-vectors -c {output}/first -k 5 -o {output}/clusters -x 5 -cd 0.5 -ow -cl " +
			"-dm org.apache.mahout.common.distance.EuclideanDistanceMeasure -xm mapreduce"},
	},
	Bayes: {
		lines:   true,
		prepare: "seqdirectory -i {input}/text -o {input}/pages -xm mapreduce",
		reads:   "pages",
		run: []string{
			"seq2sparse -i {input}/pages -o {output}/vectors -lnorm -nv -wt tfidf -x 100 --numReducers {reduces}",
			"trainnb -i {output}/vectors/tfidf-vectors -o {output}/model -li {output}/labelindex -ow --tempDir {output}/temp",
		},
	},
}

// mahoutScript starts a program of Mahout's by its short name, as the script of Mahout's
// that HiBench's scripts call. Its tasks find Mahout's jars too.
const mahoutScript = `#!/bin/sh
case $1 in
kmeans) class=clustering.kmeans.KMeansDriver ;;
seq2sparse) class=vectorizer.SparseVectorsFromSequenceFiles ;;
seqdirectory) class=text.SequenceFilesFromDirectory ;;
trainnb) class=classifier.naivebayes.training.TrainNaiveBayesJob ;;
*) echo "mahout: heddle starts no program $1" >&2; exit 2 ;;
esac
shift
HADOOP_CLASSPATH=%s${HADOOP_CLASSPATH:+:$HADOOP_CLASSPATH} exec %s --config %s org.apache.mahout.$class -libjars %s "$@"
`

// mahoutJars returns the jars in the folder with Mahout's.
func (env *Env) mahoutJars() ([]string, error) {
	jars, err := filepath.Glob(filepath.Join(env.Mahout, "*.jar"))
	if err != nil {
		return nil, fmt.Errorf("hibench: Mahout's jars: %w", err)
	}
	if env.Mahout == "" || !slices.ContainsFunc(jars, func(j string) bool { return strings.HasPrefix(filepath.Base(j), "mahout-mr-") }) {
		return nil, fmt.Errorf("hibench: Mahout's jars: no mahout-mr-*.jar in %q", env.Mahout)
	}
	return jars, nil
}

// writeMahout writes into the folder of a client the script that starts Mahout's programs.
func (r *Runner) writeMahout(c *client) error {
	jars, err := r.env.mahoutJars()
	if err != nil {
		return err
	}
	hadoop := r.env.hadoopCommand(c.tag)
	script := fmt.Sprintf(mahoutScript, quote(strings.Join(jars, ":")), quote(hadoop[0]), quote(hadoop[2]), quote(strings.Join(jars, ",")))
	if err = c.folder.MkdirAll("mahout/bin", 0o700); err == nil {
		err = c.folder.WriteFile("mahout/bin/mahout", []byte(script), 0o700)
	}
	if err != nil {
		return fmt.Errorf("folder for Mahout: %w", err)
	}
	return nil
}

// mahoutCommand sets up a process that runs the commands of a step, until one fails.
func (r *Runner) mahoutCommand(c *client, s step, output string) {
	recipe, commands := recipes[r.spec.Workload], [][]string{}
	programs := recipe.run
	if s == stepPrepare {
		programs = []string{recipe.prepare}
		words, text := r.spec.randomTextArgs, path.Join(r.inputPath(), "text")
		if recipe.lines {
			words = r.spec.grepPrepareArgs
		}
		commands = append(commands, slices.Concat(r.env.hadoopCommand(c.tag), []string{"jar", r.jar}, words(text)))
	}
	places := strings.NewReplacer("{input}", r.inputPath(), "{output}", output, "{reduces}", strconv.Itoa(r.spec.Reduces))
	for _, p := range programs {
		argv := []string{filepath.Join(c.dir, "mahout", "bin", "mahout")}
		for word := range strings.FieldsSeq(p) {
			argv = append(argv, places.Replace(word))
		}
		commands = append(commands, argv)
	}
	var lines []string
	for _, argv := range commands {
		for i, word := range argv {
			argv[i] = quote(word)
		}
		lines = append(lines, strings.Join(argv, " "))
	}
	c.argv = []string{"sh", "-c", strings.Join(lines, " && ")}
}
