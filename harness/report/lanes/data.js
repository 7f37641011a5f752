// Data of trials: blocks of base64 of gzip of a JSON head and columns of whole numbers, as
// encode.go makes them. Times are in ms; here they count from the trial's first submission.

const levelNames = ['unknown', 'cache', 'node', 'rack', 'off'];
const sparkNames = ['no preference', 'process', 'node', 'rack', 'any'];
const outcomeNames = ['unfinished', 'succeeded', 'failed', 'killed'];

async function unpack(text) {
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// readBlock returns the head of a block and its columns. Several columns may have one name.
async function readBlock(text) {
  const bytes = await unpack(text);
  const length = new DataView(bytes.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const columns = {};
  let at = 4 + length;
  for (const { name, n } of head.columns) {
    const list = new Float64Array(n);
    let last = 0;
    for (let i = 0; i < n; i++) {
      let byte = bytes[at++];
      let x = byte & 127;
      for (let scale = 128; byte > 127; scale *= 128) {
        byte = bytes[at++];
        x += (byte & 127) * scale;
      }
      last += x % 2 ? -(x + 1) / 2 : x / 2; // the sign is the lowest bit
      list[i] = last;
    }
    (columns[name] ??= []).push(list);
  }
  return { head, columns };
}

// above returns how many numbers of a sorted list are at most x.
function above(list, x) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Counted is how many intervals hold at each time, from their starts and their ends.
class Counted {
  constructor(starts, ends) {
    this.sides = [starts, ends].map((list) => {
      const times = Float64Array.from(list).sort();
      const sums = new Float64Array(times.length + 1);
      for (let i = 0; i < times.length; i++) sums[i + 1] = sums[i] + times[i];
      return { times, sums };
    });
  }

  at(t) {
    const [starts, ends] = this.sides;
    return above(starts.times, t) - above(ends.times, t);
  }

  // upTo is the sum of the count over all time up to t.
  upTo(t) {
    const [a, b] = this.sides.map(({ times, sums }) => {
      const k = above(times, t);
      return k * t - sums[k];
    });
    return a - b;
  }

  mean(from, to) {
    return (this.upTo(to) - this.upTo(from)) / (to - from);
  }

  get most() {
    const [{ times }] = this.sides;
    this.greatest ??= times.reduce((most, t) => Math.max(most, this.at(t)), 0);
    return this.greatest;
  }
}

// Binned is how many intervals hold at each time, from sums over bins.
class Binned {
  constructor(from, width, sums) {
    Object.assign(this, { from, width, sums });
    this.most = sums.reduce((a, b) => Math.max(a, b), 0) / width;
  }

  mean(from, to) {
    let sum = 0;
    for (let bin = Math.max(0, Math.floor((from - this.from) / this.width)); bin < this.sums.length; bin++) {
      const start = this.from + bin * this.width;
      if (start >= to) break;
      sum += this.sums[bin] * (Math.min(to, start + this.width) - Math.max(from, start)) / this.width;
    }
    return sum / (to - from);
  }
}

// Trial is one trial: its facts, and columns of its attempts by name.
class Trial {
  constructor(place, entry, head, columns) {
    Object.assign(this, { place, entry, head });
    const base = head.begin;
    const column = (name) => columns[name]?.[0] ?? new Float64Array(0);
    const times = (name) => column(name).map((t) => t - base);
    const known = (name) => column(name).map((t) => (t < 0 ? NaN : t - base)); // -1 is not known
    this.base = base;
    this.end = head.end < 0 ? NaN : head.end - base;
    this.first = head.from - base;
    this.last = head.to - base;
    this.strings = head.strings;
    this.nodes = head.nodes.map((name, i) => ({
      name, rack: column('nodeRack')[i], worker: column('nodeWorker')[i] === 1, slots: column('nodeSlots')[i], lanes: 0, bars: 0,
    }));
    this.racks = head.racks.map((name) => name || 'no rack');
    const [submit, end] = ['jobSubmit', 'jobEnd'].map(known);
    this.jobs = head.jobIds.map((id, i) => ({
      id, name: this.strings[column('jobName')[i]], submit: submit[i], end: end[i], outcome: column('jobOutcome')[i],
      maps: column('jobMaps')[i], reduces: column('jobReduces')[i], bars: [],
    }));
    this.jobPlace = new Map(this.jobs.map((j, i) => [j.id, i]));
    for (const name of ['length', 'waited', 'node', 'lane', 'job', 'index', 'number', 'flags', 'first', 'second', 'read', 'shuffled', 'written', 'busy', 'error']) {
      this[name === 'length' ? 'lasts' : name === 'first' ? 'part1' : name === 'second' ? 'part2' : name] = column(name);
    }
    this.from = times('from');
    this.count = this.from.length;
    this.to = this.from.map((t, i) => t + this.lasts[i]);
    this.decisions = {
      id: column('decisionID'), before: column('decisionBefore'), reason: column('decisionReason'), outcome: column('decisionOutcome'), asked: column('decisionAsked'), bind: column('decisionBind'),
    };
    this.spark = this.flags.some((f, i) => this.isSpark(i));
    this.sparkAlone = this.count > 0 && this.flags.every((f, i) => this.isSpark(i));
    let decided = 0; // decisions are in the order of their attempts
    this.decision = this.flags.map((f) => ((f >> 10) & 1 ? ++decided : 0));
    const [masterFrom, masterTo] = ['masterFrom', 'masterTo'].map(times);
    this.masters = Array.from(column('masterNode'), (node, i) => ({
      node, job: column('masterJob')[i], from: masterFrom[i], to: masterTo[i], lane: column('masterLane')[i],
    }));
    this.marks = head.marks.map((m) => ({ ...m, from: m.from - base, to: m.to < 0 ? this.last : m.to - base }));
    this.readWhy(column('whyCount'), column('whySentence'));
    this.readGrid(column('grid'), base);
    this.arrange();
    this.sortedEnds = Float64Array.from(this.to).sort();
  }

  isReduce(i) { return (this.flags[i] & 1) === 1; }
  isSpark(i) { return ((this.flags[i] >> 11) & 1) === 1; }
  // level is how near to its input a map ran, or a task of Spark.
  level(i) { return (this.isSpark(i) ? sparkNames : levelNames)[Math.min(this.replica(i), 4)]; }
  isSpeculative(i) { return (this.flags[i] & 2) === 2; }
  outcome(i) { return (this.flags[i] >> 2) & 3; }
  replica(i) { return (this.flags[i] >> 4) & 7; }
  split(i) { return (this.flags[i] >> 7) & 7; }
  // task is what a bar is called: m7, r0, t3 of Spark, and m7.1 for a second attempt.
  task(i) {
    return `${this.isSpark(i) ? 't' : this.isReduce(i) ? 'r' : 'm'}${this.index[i]}${this.number[i] > 0 ? '.' + this.number[i] : ''}`;
  }
  // id is Hadoop's id of the attempt without its first word.
  id(i) {
    if (this.isSpark(i)) return `${this.jobs[this.job[i]].id}, task ${this.index[i]}.${this.number[i]}`;
    const task = `${this.jobs[this.job[i]].id.replace(/^job_/, '')}_${this.isReduce(i) ? 'r' : 'm'}_${String(this.index[i]).padStart(6, '0')}`;
    return `${task}_${this.number[i]}`;
  }

  // attemptsOf returns all attempts of a task.
  attemptsOf(job, reduce, index) {
    return this.jobs[job].bars.filter((i) => this.isReduce(i) === reduce && this.index[i] === index);
  }

  // twin returns the job of another trial that is this trial's job: of the same id, or else of
  // the same place and name. It is -1 if there is none.
  twin(job, other) {
    const { id, name } = this.jobs[job];
    return other.jobPlace.get(id) ?? (other.jobs[job]?.name === name ? job : -1);
  }

  // arrange lists the bars of each lane, node and job, in the order of their starts.
  arrange() {
    this.lanes = this.nodes.map(() => []);
    this.ofNode = this.nodes.map(() => []);
    for (let i = 0; i < this.count; i++) {
      const lanes = this.lanes[this.node[i]];
      while (lanes.length <= this.lane[i]) lanes.push([]);
      lanes[this.lane[i]].push(i);
      this.ofNode[this.node[i]].push(i);
      this.jobs[this.job[i]].bars.push(i);
    }
    for (const m of this.masters) {
      const lanes = this.lanes[m.node];
      while (lanes.length <= m.lane) lanes.push([]);
    }
    this.nodes.forEach((n, k) => {
      n.lanes = Math.max(this.lanes[k].length, n.slots, 1);
      n.bars = this.ofNode[k].length;
      n.shown = n.bars > 0 || n.worker;
    });
  }

  readWhy(counts, sentences) {
    let next = 0;
    this.whyStart = counts.map((n) => (next += n) - n);
    this.whyCount = counts;
    this.whySentence = sentences;
  }

  // why returns the sentences that say why an attempt is where it is.
  why(i) {
    if (i >= this.whyCount.length) return [];
    const start = this.whyStart[i];
    return Array.from(this.whySentence.subarray(start, start + this.whyCount[i]), (k) => this.head.why[k]);
  }

  // inView is how many bars are at least partly between two times.
  inView(from, to) {
    return above(this.from, to) - above(this.sortedEnds, from);
  }

  readGrid(cells, base) {
    const g = this.head.grid;
    if (!g) {
      this.running = new Counted(this.from, this.to);
      return;
    }
    this.grid = { perRow: g.perRow, width: g.widthMs, from: g.from - base, rows: g.rows, bins: g.bins, cells };
    const sums = new Float64Array(g.bins);
    cells.forEach((ms, i) => {
      sums[i % g.bins] += ms;
      const first = Math.floor(i / g.bins) * g.perRow;
      if (ms > 0) for (let n = first; n < Math.min(first + g.perRow, this.nodes.length); n++) this.nodes[n].worker = true;
    });
    this.running = new Binned(this.grid.from, g.widthMs, sums);
  }
}
