// Data of trials: blocks of base64 of gzip of a JSON head and columns of whole numbers, as
// encode.go makes them. Times are in ms; here they count from the trial's first submission.

const MAP = 0;
const REDUCE = 1;
const levelNames = ['unknown', 'cache', 'node', 'rack', 'off'];
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

// Steps is a number that changes at known times.
class Steps {
  constructor(times, values) {
    this.times = times;
    this.values = values;
    this.sums = new Float64Array(times.length + 1);
    for (let i = 1; i < times.length; i++) this.sums[i] = this.sums[i - 1] + values[i - 1] * (times[i] - times[i - 1]);
  }

  at(t) {
    const k = above(this.times, t);
    return k === 0 ? 0 : this.values[k - 1];
  }

  upTo(t) {
    const k = above(this.times, t);
    return k === 0 ? 0 : this.sums[k - 1] + this.values[k - 1] * (t - this.times[k - 1]);
  }

  mean(from, to) {
    return (this.upTo(to) - this.upTo(from)) / (to - from);
  }

  get most() {
    return this.values.reduce((a, b) => Math.max(a, b), 0);
  }
}

// Binned is a number of which sums over bins are known.
class Binned extends Steps {
  constructor(from, width, sums) {
    super(Float64Array.from({ length: sums.length + 1 }, (_, i) => from + i * width), Float64Array.from([...sums, 0], (s) => s / width));
  }
}

// hold fills gaps of up to three bins with the number before: agents report about once a bin.
function hold(line) {
  let last = NaN;
  let gap = 0;
  return line.map((x) => {
    gap = Number.isNaN(x) ? gap + 1 : 0;
    if (gap === 0 || gap > 3) last = x;
    return last;
  });
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
    const [submit, master, end] = ['jobSubmit', 'jobMaster', 'jobEnd'].map(known);
    this.jobs = head.jobIds.map((id, i) => ({
      id, name: this.strings[column('jobName')[i]], user: this.strings[column('jobUser')[i]], queue: this.strings[column('jobQueue')[i]],
      submit: submit[i], master: master[i], end: end[i], outcome: column('jobOutcome')[i],
      maps: column('jobMaps')[i], reduces: column('jobReduces')[i], deadlineMs: column('jobDeadline')[i], bars: [],
    }));
    this.jobPlace = new Map(this.jobs.map((j, i) => [j.id, i]));
    for (const name of ['length', 'waited', 'node', 'lane', 'job', 'index', 'number', 'flags', 'first', 'second', 'read', 'shuffled', 'written', 'cpu', 'error', 'container', 'hosts']) {
      this[name === 'length' ? 'lasts' : name === 'first' ? 'part1' : name === 'second' ? 'part2' : name] = column(name);
    }
    this.from = times('from');
    this.count = this.from.length;
    this.to = this.from.map((t, i) => t + this.lasts[i]);
    this.decisions = {
      id: column('decisionId'), before: column('decisionBefore'), reason: column('decisionReason'), values: column('decisionValues'),
      outcome: column('decisionOutcome'), asked: column('decisionAsked'), bind: column('decisionBind'),
    };
    let decided = 0; // decisions are in the order of their attempts
    this.decision = this.flags.map((f) => ((f >> 10) & 1 ? ++decided : 0));
    const [masterFrom, masterTo] = ['masterFrom', 'masterTo'].map(times);
    this.masters = Array.from(column('masterNode'), (node, i) => ({
      node, job: column('masterJob')[i], from: masterFrom[i], to: masterTo[i], lane: column('masterLane')[i],
    }));
    this.marks = head.marks.map((m) => ({ ...m, from: m.from - base, to: m.to < 0 ? this.last : m.to - base }));
    this.readWhy(column('whyCount'), column('whySentence'));
    this.readGrid(columns, base);
    this.arrange();
    this.readSeries(column, times);
    this.readSamples(columns.sample ?? [], base);
  }

  isReduce(i) { return (this.flags[i] & 1) === 1; }
  isSpeculative(i) { return (this.flags[i] & 2) === 2; }
  outcome(i) { return (this.flags[i] >> 2) & 3; }
  replica(i) { return (this.flags[i] >> 4) & 7; }
  split(i) { return (this.flags[i] >> 7) & 7; }
  // task is what a bar is called: m7, r0, and m7.1 for a second attempt.
  task(i) {
    return `${this.isReduce(i) ? 'r' : 'm'}${this.index[i]}${this.number[i] > 0 ? '.' + this.number[i] : ''}`;
  }
  // id is Hadoop's id of the attempt without its first word.
  id(i) {
    const task = `${this.jobs[this.job[i]].id.replace(/^job_/, '')}_${this.isReduce(i) ? 'r' : 'm'}_${String(this.index[i]).padStart(6, '0')}`;
    return `${task}_${this.number[i]}`;
  }

  // find returns the attempt of an id, or -1.
  find(id) {
    const parts = /^(.*)_([mr])_(\d+)_(\d+)$/.exec(id);
    const job = parts && (this.jobPlace.get('job_' + parts[1]) ?? this.jobPlace.get(parts[1]));
    if (job === undefined || job === null) return -1;
    return this.jobs[job].bars.find((i) => this.isReduce(i) === (parts[2] === 'r') && this.index[i] === +parts[3] && this.number[i] === +parts[4]) ?? -1;
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

  readSeries(column, times) {
    if (this.grid) {
      const { from, width, bins, rows, kinds, waits } = this.grid;
      const sum = (wanted) => {
        const sums = new Float64Array(bins);
        for (const k of wanted) for (let i = 0; i < rows * bins; i++) sums[i % bins] += kinds[k][i];
        return new Binned(from, width, sums);
      };
      this.running = [sum([0, 1, 2, 3, 4]), sum([5])];
      this.runningAll = sum([0, 1, 2, 3, 4, 5]);
      this.waiting = waits.map((w) => new Binned(from, width, w));
    } else {
      const all = Array.from({ length: this.count }, (_, i) => i);
      this.running = [false, true].map((reduce) => {
        const some = all.filter((i) => this.isReduce(i) === reduce);
        return new Counted(some.map((i) => this.from[i]), some.map((i) => this.to[i]));
      });
      this.runningAll = new Counted(this.from, this.to);
      const [kind, from, to] = [column('waitKind'), times('waitFrom'), times('waitTo')];
      this.waiting = [MAP, REDUCE].map((k) => {
        const some = all.filter((i) => this.isReduce(i) === (k === REDUCE) && this.waited[i] > 0);
        const others = Array.from(kind.keys()).filter((i) => kind[i] === k);
        return new Counted([...some.map((i) => this.from[i] - this.waited[i]), ...others.map((i) => from[i])], [...some.map((i) => this.from[i]), ...others.map((i) => to[i])]);
      });
    }
    this.runningMasters = new Counted(this.masters.map((m) => m.from), this.masters.map((m) => m.to));
    this.slots = column('slotsT').length ? new Steps(times('slotsT'), column('slotsN')) : null;
    const [maps, reduces] = this.head.kindSlots;
    this.kindSlots = this.slots && maps + reduces > 0 ? this.head.kindSlots.map((n) => n / (maps + reduces)) : null; // shares of the slots
    this.cached = column('cachedT').length ? new Steps(times('cachedT'), column('cachedN')) : null;
    this.sortedEnds = Float64Array.from(this.to).sort();
  }

  // inView is how many bars are at least partly between two times.
  inView(from, to) {
    return above(this.from, to) - above(this.sortedEnds, from);
  }

  readGrid(columns, base) {
    const g = this.head.grid;
    if (!g) return;
    this.grid = { perRow: g.perRow, width: g.widthMs, from: g.from - base, rows: g.rows, bins: g.bins, kinds: columns.grid, waits: columns.gridWait };
    for (let r = 0; r < g.rows; r++) {
      if (columns.grid.some((cells) => cells.subarray(r * g.bins, (r + 1) * g.bins).some((ms) => ms > 0))) {
        for (let n = r * g.perRow; n < Math.min((r + 1) * g.perRow, this.nodes.length); n++) this.nodes[n].worker = true;
      }
    }
  }

  // readSamples makes of each metric a list of lines: of each node, or of all nodes the mean,
  // the least and the greatest. A bin without a number is NaN.
  readSamples(lists, base) {
    const s = this.head.samples;
    this.samples = null;
    if (!s) return;
    const each = s.nodes.length || 3;
    this.samples = { from: s.from - base, width: s.widthMs, bins: s.bins, nodes: s.nodes, of: s.of, metrics: {} };
    s.metrics.forEach((name, k) => {
      const lines = lists.slice(k * each, (k + 1) * each).map((list) => list.map((x) => (x === 0 ? NaN : (x - 1) * s.units[k])));
      let mean = lines[0];
      if (s.nodes.length) {
        const held = lines.map(hold);
        mean = mean.map((_, bin) => {
          const some = held.map((l) => l[bin]).filter((x) => !Number.isNaN(x));
          return some.length ? some.reduce((a, b) => a + b) / some.length : NaN;
        });
      }
      const greatest = (line) => line.reduce((a, x) => (x > a ? x : a), 0);
      this.samples.metrics[name] = { lines, mean, most: Math.max(...lines.map(greatest)), total: greatest(mean) * s.of };
    });
  }

  sampleAt(metric, t) {
    const s = this.samples;
    const line = s?.metrics[metric]?.mean;
    return line ? line[Math.floor((t - s.from) / s.width)] ?? NaN : NaN;
  }
}
