// What is drawn over time below the lanes of a trial.

const panelKinds = [
  {
    key: 'running', title: 'Running', stacked: true, height: 66, write: whole,
    parts: [
      { label: 'maps', colour: 'maps', has: () => true, mean: (t, a, b) => t.running[MAP].mean(a, b) },
      { label: 'reduces', colour: 'reduces', has: () => true, mean: (t, a, b) => t.running[REDUCE].mean(a, b) },
      { label: 'masters', colour: 'masters', has: (t) => t.masters.length > 0, mean: (t, a, b) => t.runningMasters.mean(a, b) },
      { label: 'idle', colour: 'idle', hatch: true, has: (t) => t.slots !== null && !t.kindSlots, mean: idleSlots },
      { label: 'idle map slots', colour: 'maps', hatch: true, has: (t) => t.kindSlots !== null, mean: (t, a, b) => idleKind(t, MAP, a, b) },
      { label: 'idle reduce slots', colour: 'reduces', hatch: true, has: (t) => t.kindSlots !== null, mean: (t, a, b) => idleKind(t, REDUCE, a, b) },
    ],
    most: (t) => Math.max(t.slots?.most ?? 0, t.runningAll.most + t.runningMasters.most),
    has: () => true,
  },
  {
    key: 'waiting', title: 'Waiting', stacked: true, height: 52, write: whole,
    parts: [
      { label: 'maps', colour: 'maps', has: () => true, mean: (t, a, b) => t.waiting[MAP].mean(a, b) },
      { label: 'reduces', colour: 'reduces', has: () => true, mean: (t, a, b) => t.waiting[REDUCE].mean(a, b) },
    ],
    most: (t) => t.waiting[MAP].most + t.waiting[REDUCE].most,
    has: (t) => waitsFrom(t) !== '' && t.waiting.some((w) => w.most > 0),
  },
  sampledKind('cpu', 'Busy cores', three, [{ metric: 'cpu', label: 'mean', colour: 'line1' }]),
  sampledKind('load', 'Load', three, [{ metric: 'load', label: 'mean', colour: 'line1' }]),
  sampledKind('disk', 'Disk', rate, [
    { metric: 'diskRead', label: 'read', colour: 'line1', total: true },
    { metric: 'diskWrite', label: 'write', colour: 'line2', total: true, dash: [5, 2] },
  ]),
  sampledKind('net', 'Network', rate, [
    { metric: 'netRecv', label: 'received', colour: 'line1', total: true },
    { metric: 'netSent', label: 'sent', colour: 'line2', total: true, dash: [5, 2] },
  ]),
  {
    key: 'cache', title: 'HDFS cache', height: 46, write: (n, t) => (usedCache(t) ? bytes(n) : `${whole(n)} blocks`),
    series: (t) => (usedCache(t) ? [{ metric: 'cacheUsed', label: 'used', colour: 'line1', total: true }] : [{ steps: t.cached, label: 'blocks', colour: 'line1' }]),
    most: (t) => (usedCache(t) ? t.samples.metrics.cacheUsed.total : t.cached.most),
    has: (t) => usedCache(t) || (t.cached?.most ?? 0) > 0,
  },
];

// waitsFrom says when a task's waiting begins. It is empty for traces of other tools, which do
// not tell when containers were asked for.
function waitsFrom(trial) {
  switch (trial.entry.origin) {
    case 'simulated':
      return 'from the submission of the job, with the start of its ApplicationMaster';
    case 'imported':
      return '';
  }
  return 'from when the ApplicationMaster asked for a container';
}

function idleSlots(t, a, b) {
  return t.slots.mean(a, b) - t.running[MAP].mean(a, b) - t.running[REDUCE].mean(a, b) - t.runningMasters.mean(a, b);
}

// idleKind is how many slots for maps, or for reduces, are idle. ApplicationMasters take none.
function idleKind(t, kind, a, b) {
  return Math.max(0, t.slots.mean(a, b) * t.kindSlots[kind] - t.running[kind].mean(a, b));
}

function usedCache(t) {
  return (t.samples?.metrics.cacheUsed?.most ?? 0) > 0;
}

// sampledKind is a panel of metrics that agents measured: of each node a line, or the total.
function sampledKind(key, title, write, series) {
  const known = (t) => series.filter((s) => t.samples?.metrics[s.metric]);
  return {
    key, title, write, height: series.length > 1 ? 52 : 46, series: known,
    most: (t) => Math.max(...known(t).map((s) => t.samples.metrics[s.metric][s.total ? 'total' : 'most'])),
    has: (t) => known(t).some((s) => t.samples.metrics[s.metric].most > 0),
  };
}

// unsampled says why a trial has no samples.
function unsampled(trial) {
  switch (trial.entry.origin) {
    case 'simulated':
      return 'No samples of CPU, load, disks and network: a simulation has no agents.';
    case 'imported':
    case 'recovered':
      return 'No samples of CPU, load, disks and network: the trace was made from other records.';
  }
  return 'No samples of CPU, load, disks and network: no agents, therefore none.';
}
