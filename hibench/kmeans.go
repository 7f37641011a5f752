package hibench

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
)

// Kmeans is the name of HiBench's workload that looks for clusters among points. Each
// iteration is a job that moves the center of each cluster to the mean of the points
// that it is nearest to. A last job without reduces says of each point which center is
// the nearest.
//
// Its program is Mahout's, even with a checkout: HiBench's scripts unpack an archive
// of all of Mahout, which is not in Maven Central. heddle draws the points itself,
// from the same distributions as HiBench's generator, which takes another seed each
// time. HiBench also counts each first center as a point of its cluster, once for each
// map, so its result depends on the number of maps; heddle does not.
const Kmeans = "kmeans"

// KmeansJobs is the least number of YARN applications of a run of kmeans.
const KmeansJobs = 2

const (
	kmeansClass   = "org.apache.mahout.clustering.kmeans.KMeansDriver"
	klusterClass  = "org.apache.mahout.clustering.kmeans.Kluster"
	distanceClass = "org.apache.mahout.common.distance.EuclideanDistanceMeasure"

	kmeansClusters = 5
	kmeansMoved    = 0.5    // no iteration follows one in which no center moves farther
	kmeansRange    = 1000.0 // coordinates of centers are below it
	kmeansSpread   = 100.0  // deviations of clusters are below it
)

// points are the points of kmeans and its first centers. Each is drawn from the seed
// and its number alone, so that files can be written in any order.
type points struct {
	seed    uint64
	samples int64
	size    int // coordinates of each
}

func (s Spec) points() points {
	p := points{s.Seed, s.dataSize(), 20}
	if s.Profile == Profiles()[0] {
		p.size = 3
	}
	return p
}

// draw returns what gives random numbers for one thing: a cluster, a first center, or
// with the number of clusters added twice, a point.
func (p points) draw(thing int64) *rand.Rand { return rand.New(rand.NewPCG(p.seed, uint64(thing))) }

// start returns the first center of cluster k.
func (p points) start(k int) []float64 {
	r, v := p.draw(int64(k)), make([]float64, p.size)
	for d := range v {
		v[d] = kmeansRange * r.Float64()
	}
	return v
}

// clusters returns the mean and the deviation of each coordinate of each cluster.
func (p points) clusters() (means, deviations [kmeansClusters][]float64) {
	for k := range kmeansClusters {
		r := p.draw(kmeansClusters + int64(k))
		for range p.size {
			means[k] = append(means[k], kmeansRange*r.Float64())
			deviations[k] = append(deviations[k], 0.01+(kmeansSpread-0.01)*r.Float64())
		}
	}
	return means, deviations
}

// writePoints writes the points and the first centers to HDFS. Points of one cluster are
// side by side, as in HiBench's files.
func (r *Runner) writePoints(ctx context.Context) error {
	p := r.spec.points()
	means, deviations := p.clusters()
	sample := func(key, value []byte, i int64) ([]byte, []byte) {
		k, random, v := i*kmeansClusters/p.samples, p.draw(2*kmeansClusters+i), make([]float64, p.size)
		for d := range v {
			v[d] = means[k][d] + deviations[k][d]*random.NormFloat64()
		}
		return binary.BigEndian.AppendUint64(key, uint64(i)), appendVector(value, v)
	}
	if err := r.writeRecords(ctx, r.mapInputPath(), "org.apache.hadoop.io.LongWritable", vectorClass, r.spec.Maps, p.samples, sample); err != nil {
		return fmt.Errorf("write points: %w", err)
	}
	center := func(key, value []byte, i int64) ([]byte, []byte) {
		return asText(append(key, "CL-"+decimal(i)...)), appendKluster(value, int32(i), p.start(int(i)))
	}
	if err := r.writeRecords(ctx, r.centersPath(), textClass, klusterClass, 1, kmeansClusters, center); err != nil {
		return fmt.Errorf("write first centers: %w", err)
	}
	return nil
}

func (r *Runner) centersPath() string { return path.Join(r.inputPath(), "cluster") }

// appendKluster appends a serialized cluster of Mahout's with a center and without points.
func appendKluster(b []byte, id int32, center []float64) []byte {
	none := make([]float64, len(center))
	b = appendUTF(b, distanceClass)
	b = binary.BigEndian.AppendUint32(b, uint32(id))
	b = append(b, make([]byte, 8+8)...) // points of this iteration, and of all
	b = appendVector(b, center)
	b = appendVector(b, none)         // deviations
	b = append(b, make([]byte, 8)...) // number of points that are added up
	b = appendVector(b, none)         // their sum
	b = appendVector(b, none)         // the sum of their squares
	return append(b, 0)               // not converged
}

// kmeansArgs returns the arguments of the program, as in HiBench's run.sh.
func (s Spec) kmeansArgs(input, output string) []string {
	return []string{
		"-i", path.Join(input, "samples"), "-c", path.Join(input, "cluster"), "-o", output, "-x", strconv.Itoa(s.Iterations()),
		"-ow", "-cl", "-cd", fmt.Sprint(kmeansMoved), "-dm", distanceClass, "-xm", "mapreduce",
	}
}

// clustering is the result of some iterations of kmeans.
type clustering struct {
	centers  [kmeansClusters][]float64
	counted  [kmeansClusters]int64 // points of each center in the last iteration
	assigned [kmeansClusters]int64 // points that are nearest to each center in the end
	moved    float64               // how far a center moved at most in the last iteration
}

// eachPoint calls the function do with each point of the input. Its argument is valid
// until do is called again.
func (r *Runner) eachPoint(ctx context.Context, dir string, do func(x []float64)) error {
	x := make([]float64, r.spec.points().size)
	return r.eachFile(ctx, dir, func(f io.Reader) error {
		return eachRecord(f, "", vectorClass, func(_, value []byte) error {
			if err := readVector(bytes.NewReader(value), x); err != nil {
				return err
			}
			do(x)
			return nil
		})
	})
}

// cluster computes from the points in a folder what some iterations must give. It reads
// the points once for each iteration, and once more.
func (r *Runner) cluster(ctx context.Context, dir string, iterations int) (clustering, error) {
	var c clustering
	p := r.spec.points()
	for k := range c.centers {
		c.centers[k] = p.start(k)
	}
	for range iterations {
		var sums [kmeansClusters][]float64
		c.counted = [kmeansClusters]int64{}
		for k := range sums {
			sums[k] = make([]float64, p.size)
		}
		err := r.eachPoint(ctx, dir, func(x []float64) {
			k := c.nearest(x)
			c.counted[k]++
			for d := range x {
				sums[k][d] += x[d]
			}
		})
		if err != nil {
			return c, err
		}
		c.moved = 0
		for k, n := range c.counted {
			if n == 0 {
				continue // it stays where it is
			}
			for d := range sums[k] {
				sums[k][d] /= float64(n)
			}
			c.moved = max(c.moved, math.Sqrt(squaredDistance(sums[k], c.centers[k])))
			c.centers[k] = sums[k]
		}
	}
	err := r.eachPoint(ctx, dir, func(x []float64) { c.assigned[c.nearest(x)]++ })
	return c, err
}

// nearest returns the number of the center that is nearest to a point.
func (c *clustering) nearest(x []float64) int {
	best, least := 0, math.Inf(1)
	for k := range c.centers {
		if d := squaredDistance(x, c.centers[k]); d < least {
			best, least = k, d
		}
	}
	return best
}

func squaredDistance(a, b []float64) float64 {
	sum := 0.0
	for d := range a {
		sum += (a[d] - b[d]) * (a[d] - b[d])
	}
	return sum
}

// checkKmeans compares the centers, and how many points each has, with what this package
// computes from the points.
func (r *Runner) checkKmeans(ctx context.Context, k *Check, tag string) error {
	inputBytes, _, err := folderSize(r.env.FS, r.mapInputPath())
	if err != nil {
		return err
	}
	output := r.outputPath(tag)
	name, number, err := r.finalFolder(output, "clusters-", "-final")
	if err != nil {
		return err
	}
	iterations, err := strconv.Atoi(number)
	if err != nil || iterations < 1 || iterations > r.spec.Iterations() {
		return fmt.Errorf("%w: folder %.80q: want one of iteration 1 to %d", ErrInvalidOutput, name, r.spec.Iterations())
	}
	for _, folder := range []string{name, "clusteredPoints"} {
		n, _, err := folderSize(r.env.FS, path.Join(output, folder))
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInvalidOutput, err)
		}
		k.Bytes += n
	}
	if inputBytes > readLimitBytes {
		k.Compared = []string{fmt.Sprintf("nothing (the input is larger than %d bytes)", readLimitBytes)}
		return nil
	}
	want, err := ofInput(r, number, func(dir string) (clustering, error) { return r.cluster(ctx, dir, iterations) })
	if err != nil {
		return err
	}
	// It may go on for longer than it must: if a center does not move at all, Mahout may
	// take the root of a number a little below 0 for its way, which is not below anything.
	if iterations < r.spec.Iterations() && want.moved > kmeansMoved+1e-9*kmeansRange {
		return fmt.Errorf("%w: it ended after iteration %d, in which a center moved by %v; want %d, or at most %v", ErrInvalidOutput, iterations, want.moved, r.spec.Iterations(), kmeansMoved)
	}
	k.Compared = append(k.Compared, fmt.Sprintf("end after iteration %d", iterations))
	got, err := r.centers(ctx, path.Join(output, name))
	if err != nil {
		return err
	}
	if err := k.compare("points of each center in the last iteration", got.counted, want.counted); err != nil {
		return err
	}
	for i := range got.centers {
		for d, x := range got.centers[i] {
			if !(math.Abs(x-want.centers[i][d]) <= 1e-9*kmeansRange) { // sums are in another order
				return fmt.Errorf("%w: center %d has %v as its coordinate %d, want %v", ErrInvalidOutput, i, x, d, want.centers[i][d])
			}
		}
	}
	k.Compared = append(k.Compared, "all centers")
	err = r.eachFile(ctx, path.Join(output, "clusteredPoints"), func(f io.Reader) error {
		return eachRecord(f, "IntWritable", "org.apache.mahout.clustering.classify.WeightedPropertyVectorWritable", func(id, _ []byte) error {
			if len(id) != 4 || binary.BigEndian.Uint32(id) >= kmeansClusters {
				return fmt.Errorf("%w: a point of center %x; there are %d", ErrInvalidOutput, id, kmeansClusters)
			}
			got.assigned[binary.BigEndian.Uint32(id)]++
			k.Records++
			return nil
		})
	})
	if err != nil {
		return err
	}
	return k.compare("points that are nearest to each center", got.assigned, want.assigned)
}

// centers reads the centers that the last iteration wrote.
func (r *Runner) centers(ctx context.Context, dir string) (clustering, error) {
	var c clustering
	err := r.eachFile(ctx, dir, func(f io.Reader) error {
		return eachRecord(f, "IntWritable", "org.apache.mahout.clustering.iterator.ClusterWritable", func(_, value []byte) error {
			id, points, center, err := readKluster(value, r.spec.points().size)
			if err != nil {
				return fmt.Errorf("%w: %w", ErrInvalidOutput, err)
			}
			if c.centers[id] != nil {
				return fmt.Errorf("%w: center %d occurs twice", ErrInvalidOutput, id)
			}
			c.centers[id], c.counted[id] = center, points
			return nil
		})
	})
	if err == nil && slices.ContainsFunc(c.centers[:], func(x []float64) bool { return x == nil }) {
		err = fmt.Errorf("%w: fewer than %d centers", ErrInvalidOutput, kmeansClusters)
	}
	return c, err
}

// readKluster reads number, points and center of a serialized cluster of Mahout's, which
// follows the names of its class and of the class that measures distances.
func readKluster(b []byte, size int) (id int32, points int64, center []float64, err error) {
	r := bytes.NewReader(b)
	for _, want := range []string{klusterClass, distanceClass} {
		if name, err := readUTF(r); err != nil || name != want {
			return 0, 0, nil, fmt.Errorf("cluster: class %.80q, want %s", name, want)
		}
	}
	var head struct {
		ID          int32
		Points, All int64
	}
	if err := binary.Read(r, binary.BigEndian, &head); err != nil {
		return 0, 0, nil, fmt.Errorf("cluster: %w", whole(err))
	}
	if head.ID < 0 || head.ID >= kmeansClusters {
		return 0, 0, nil, fmt.Errorf("cluster: number %d, want one below %d", head.ID, kmeansClusters)
	}
	center = make([]float64, size)
	return head.ID, head.Points, center, readVector(r, center)
}
