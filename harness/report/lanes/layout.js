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

// heatCells returns of each row and column between two times the share of slots that were taken.
// NaN is for none.
function heatCells(trial, rows, from, to, columns) {
  const place = new Int32Array(trial.nodes.length).fill(-1);
  rows.forEach((r, i) => r.nodes.forEach((k) => (place[k] = i)));
  const cells = new Float32Array(rows.length * columns);
  const width = (to - from) / columns;
  const put = (row, a, b, weight) => {
    const [x, end] = [Math.max(0, (a - from) / width), Math.min(columns, (b - from) / width)];
    for (let c = Math.floor(x); c < end; c++) cells[row * columns + c] += (Math.min(c + 1, end) - Math.max(c, x)) * weight;
  };
  const g = trial.grid;
  if (g) {
    g.cells.forEach((ms, i) => {
      const row = place[Math.floor(i / g.bins) * g.perRow];
      const start = g.from + (i % g.bins) * g.width;
      if (ms > 0 && row >= 0 && start < to) put(row, start, start + g.width, ms / g.width);
    });
  } else {
    const end = above(trial.from, to);
    for (let i = 0; i < end; i++) {
      const row = place[trial.node[i]];
      if (row >= 0 && trial.to[i] > from) put(row, trial.from[i], Math.max(trial.to[i], trial.from[i] + 1), 1);
    }
  }
  rows.forEach((r, row) => {
    const slots = r.nodes.reduce((sum, k) => sum + (trial.nodes[k].slots || trial.nodes[k].lanes), 0) || r.nodes.length;
    for (let c = row * columns; c < (row + 1) * columns; c++) cells[c] = cells[c] > 0 ? cells[c] / slots : NaN;
  });
  return cells;
}
