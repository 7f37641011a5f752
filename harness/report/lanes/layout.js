// Where the rows of a trial stand: lanes of nodes with bars, or rows of a heat map.

// Above these, bars would be thinner than can be seen, and a heat map is drawn.
const mostNodes = 200;
const mostBars = 20_000;

const rackHeight = 19; // of a rack's name
const mostIdle = 40; // nodes without attempts that are still shown

// placeJobs gives each job the first row in which the job before has ended, once a trial.
function placeJobs(trial) {
  if (trial.jobRows) return trial.jobRows;
  const free = [];
  trial.jobRows = trial.jobs.map((j) => {
    if (Number.isNaN(j.submit)) return -1;
    let row = free.findIndex((t) => t <= j.submit);
    if (row < 0) row = free.length;
    free[row] = Number.isNaN(j.end) ? trial.last : Math.max(j.end, j.submit + 1);
    return row;
  });
  trial.jobRowCount = free.length;
  return trial.jobRows;
}

// layOut decides between bars and a heat map, and places rows. room is about how high, in
// pixels, the rows of the trial should be.
function layOut(trial, { rack, from, to, room, narrow }) {
  const out = { rows: [], racks: [], idle: 0 };
  placeJobs(trial);
  const jobRows = Math.min(trial.jobRowCount, 36);
  const jobHeight = jobRows ? Math.max(1.5, Math.min(narrow ? 10 : 13, 78 / jobRows)) : 0;
  out.jobs = { top: 6, height: jobHeight, rows: jobRows, hidden: trial.jobRowCount - jobRows };
  let y = out.jobs.top + jobRows * jobHeight + (jobRows ? 10 : 0);
  out.top = y;

  let nodes = trial.nodes.map((n, k) => k).filter((k) => trial.nodes[k].shown || trial.grid);
  if (rack >= 0) nodes = nodes.filter((k) => trial.nodes[k].rack === rack);
  const idle = nodes.filter((k) => trial.nodes[k].bars === 0);
  if (!trial.grid && idle.length > mostIdle && idle.length < nodes.length) {
    out.idle = idle.length;
    nodes = nodes.filter((k) => trial.nodes[k].bars > 0);
  }
  nodes.sort((a, b) => trial.nodes[a].rack - trial.nodes[b].rack || a - b);
  out.nodes = nodes;
  const bars = rack < 0 ? trial.inView(from, to) : nodes.reduce((sum, k) => sum + barsBetween(trial, k, from, to), 0);
  out.bars = bars;
  out.heat = Boolean(trial.grid) || nodes.length > mostNodes || bars > mostBars;
  const racks = new Set(nodes.map((k) => trial.nodes[k].rack)).size;
  out.named = racks > 1 || trial.racks.length > 1;

  if (out.heat) {
    heatRows(trial, nodes, room, out, y);
  } else {
    const lanes = nodes.reduce((sum, k) => sum + trial.nodes[k].lanes, 0);
    const lane = Math.max(3, Math.min(18, Math.floor(room / Math.max(lanes, 1))));
    const gap = lane >= 8 ? 5 : lane >= 5 ? 2 : 1;
    let last = -1;
    for (const k of nodes) {
      const n = trial.nodes[k];
      if (out.named && n.rack !== last) {
        out.racks.push({ rack: n.rack, name: trial.racks[n.rack], y });
        y += rackHeight;
        last = n.rack;
      }
      out.rows.push({ node: k, y, height: n.lanes * lane, lane });
      y += n.lanes * lane + gap;
    }
    out.lane = lane;
  }
  out.bottom = out.heat ? out.rowsBottom : y;
  out.height = out.bottom + 8;
  return out;
}

// barsBetween is how many bars of a node are at least partly between two times.
function barsBetween(trial, k, from, to) {
  let count = 0;
  for (const i of trial.ofNode[k]) if (trial.from[i] < to && trial.to[i] > from) count++;
  return count;
}

// heatRows puts as many nodes into a row as are needed for rows of at least 2 pixels.
function heatRows(trial, nodes, room, out, y) {
  const unit = trial.grid ? trial.grid.perRow : 1;
  const most = Math.max(40, Math.floor(room / 2));
  let per = unit;
  while (nodes.length / per > most) per += unit;
  let row = null;
  for (const k of nodes) {
    const rack = trial.nodes[k].rack;
    if (!row || row.nodes.length >= per || (row.rack !== rack && unit === 1)) {
      row = { nodes: [], rack };
      out.rows.push(row);
    }
    row.nodes.push(k);
  }
  out.perRow = per;
  out.rowHeight = Math.max(2, Math.min(14, Math.floor(room / Math.max(out.rows.length, 1))));
  let last = -1;
  out.rows.forEach((r, i) => {
    r.y = y + i * out.rowHeight;
    r.height = out.rowHeight;
    if (r.rack !== last && unit === 1) out.racks.push({ rack: r.rack, name: trial.racks[r.rack], y: r.y });
    last = r.rack;
  });
  out.rowsBottom = y + out.rows.length * out.rowHeight;
}

// heatCells returns a number of each row and column between two times: the share of slots
// that were taken, or the share of maps that ran on a node with their input. NaN is for none.
function heatCells(trial, rows, from, to, columns, measure) {
  const place = new Int32Array(trial.nodes.length).fill(-1);
  rows.forEach((r, i) => r.nodes.forEach((k) => (place[k] = i)));
  const part = new Float32Array(rows.length * columns); // what counts
  const whole = new Float32Array(rows.length * columns); // of what
  const width = (to - from) / columns;
  const put = (row, kind, a, b, weight) => {
    // kinds: levels of maps as in levelNames, and 5 for reduces
    const local = kind === 1 || kind === 2;
    if (measure === 'local' && (kind === 5 || kind === 0)) return;
    const [x, end] = [Math.max(0, (a - from) / width), Math.min(columns, (b - from) / width)];
    for (let c = Math.floor(x); c < end; c++) {
      const share = (Math.min(c + 1, end) - Math.max(c, x)) * weight;
      if (measure === 'local') {
        whole[row * columns + c] += share;
        if (local) part[row * columns + c] += share;
      } else {
        part[row * columns + c] += share;
      }
    }
  };
  const g = trial.grid;
  if (g) {
    for (let r = 0; r < g.rows; r++) {
      const row = place[r * g.perRow];
      if (row < 0) continue;
      for (let k = 0; k < g.kinds.length; k++) {
        for (let bin = Math.max(0, Math.floor((from - g.from) / g.width)); bin < g.bins; bin++) {
          const start = g.from + bin * g.width;
          if (start >= to) break;
          const ms = g.kinds[k][r * g.bins + bin];
          if (ms > 0) put(row, k, start, start + g.width, ms / g.width);
        }
      }
    }
  } else {
    const end = above(trial.from, to);
    for (let i = 0; i < end; i++) {
      const row = place[trial.node[i]];
      if (row >= 0 && trial.to[i] > from) put(row, trial.isReduce(i) ? 5 : Math.min(trial.replica(i), 4), trial.from[i], Math.max(trial.to[i], trial.from[i] + 1), 1);
    }
  }
  const cells = part;
  rows.forEach((r, row) => {
    const slots = r.nodes.reduce((sum, k) => sum + (trial.nodes[k].slots || trial.nodes[k].lanes), 0) || r.nodes.length;
    for (let c = row * columns; c < (row + 1) * columns; c++) {
      if (measure === 'local') cells[c] = whole[c] > 0 ? part[c] / whole[c] : NaN;
      else cells[c] = part[c] > 0 ? part[c] / slots : NaN;
    }
  });
  return cells;
}
