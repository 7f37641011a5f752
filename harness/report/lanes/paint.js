// Drawing. Each function draws one canvas, in pixels of the page.

const right = 14; // room at the right of the plots

// fit gives a canvas so many pixels of the page and returns its context, emptied.
function fit(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * scale), Math.round(height * scale)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  canvas.style.height = height + 'px';
  const c = canvas.getContext('2d');
  c.setTransform(scale, 0, 0, scale, 0, 0);
  c.clearRect(0, 0, width, height);
  return c;
}

function rounded(c, x, y, w, h, r) {
  if (r < 0.5 || w < 2 * r) c.rect(x, y, w, h);
  else c.roundRect(x, y, w, h, r);
}

function paintAxis(app) {
  const height = 22;
  const c = fit(app.axis, app.width, height);
  const { list, step } = app.ticks;
  c.font = `11px ${app.theme.font}`;
  c.textBaseline = 'middle';
  c.fillStyle = app.theme.soft;
  c.strokeStyle = app.theme.axis;
  c.beginPath();
  for (const t of list) {
    const x = Math.round(app.x(t)) + 0.5;
    c.moveTo(x, height - 5);
    c.lineTo(x, height);
  }
  c.moveTo(app.gutter, height - 0.5);
  c.lineTo(app.gutter + app.plot, height - 0.5);
  c.stroke();
  let free = -Infinity;
  for (const t of list) {
    const text = moment(t, step);
    const half = c.measureText(text).width / 2;
    const x = Math.min(Math.max(app.x(t), app.gutter + half - 2), app.width - half - 1);
    if (x - half < free) continue;
    c.textAlign = 'center';
    c.fillText(text, x, height / 2 - 3);
    free = x + half + 8;
  }
  c.textAlign = 'left';
  if (app.gutter > 80) c.fillText('since submission', 10, height / 2 - 3);
}

// overviewHeight is that of a strip for each trial, with its name as long as that is possible.
function overviewHeight(trials) {
  return Math.min(Math.max(46, 6 + 13 * trials), 162);
}

// paintOverview draws how much runs over the whole time, a strip for each trial.
function paintOverview(app) {
  const height = overviewHeight(app.shown.length);
  app.root.style.setProperty('--lanes-overview-height', height + 'px');
  const c = fit(app.overview, app.width, height);
  const theme = app.theme;
  const [from, to] = app.whole;
  const trials = app.shown.map((v) => v.trial);
  const each = (height - 6) / Math.max(trials.length, 1);
  const most = Math.max(1, ...trials.map((t) => t.running.most));
  c.fillStyle = theme.raised;
  c.fillRect(app.gutter, 0, app.plot, height);
  c.font = `11px ${theme.font}`;
  c.textBaseline = 'middle';
  trials.forEach((trial, k) => {
    const bottom = 3 + (k + 1) * each - 1;
    c.fillStyle = theme.overview;
    c.beginPath();
    c.moveTo(app.gutter, bottom);
    for (let x = 0; x < app.plot; x++) {
      const [a, b] = [from + (x * (to - from)) / app.plot, from + ((x + 1) * (to - from)) / app.plot];
      const n = trial.running.mean(a, b);
      const y = bottom - Math.min(1, n / most) * (each - 3);
      c.lineTo(app.gutter + x, y);
      c.lineTo(app.gutter + x + 1, y);
    }
    c.lineTo(app.gutter + app.plot, bottom);
    c.fill();
    if (!Number.isNaN(trial.end)) {
      c.strokeStyle = theme.ink;
      c.setLineDash([3, 2]);
      c.beginPath();
      const x = app.gutter + ((trial.end - from) / (to - from)) * app.plot;
      c.moveTo(x, bottom - each + 2);
      c.lineTo(x, bottom);
      c.stroke();
      c.setLineDash([]);
    }
    if (each >= 12) { // names would overlap
      c.fillStyle = theme.soft;
      c.textAlign = 'right';
      c.fillText(clipped(c, trial.title, app.gutter - 18), app.gutter - 8, bottom - each / 2 + 1);
    }
  });
  // What is not in view is covered.
  const edge = (t) => app.gutter + ((t - from) / (to - from)) * app.plot;
  const [a, b] = [edge(app.from), edge(app.to)];
  c.fillStyle = theme.paper;
  c.globalAlpha = 0.7;
  c.fillRect(app.gutter, 0, a - app.gutter, height);
  c.fillRect(b, 0, app.gutter + app.plot - b, height);
  c.globalAlpha = 1;
  if (b < app.gutter + app.plot - 60) {
    c.fillStyle = theme.soft;
    c.textAlign = 'right';
    c.fillText(time(to), app.gutter + app.plot - 6, 9);
  }
  c.strokeStyle = theme.link;
  c.lineWidth = 1.5;
  c.strokeRect(a + 0.75, 0.75, Math.max(b - a - 1.5, 1), height - 1.5);
  c.lineWidth = 1;
  c.fillStyle = theme.link;
  for (const x of [a, b]) {
    c.beginPath();
    c.roundRect(x - 3, height / 2 - 9, 6, 18, 3);
    c.fill();
  }
}

function gridLines(app, c, top, bottom) {
  c.strokeStyle = app.theme.line;
  c.beginPath();
  for (const t of app.ticks.list) {
    const x = Math.round(app.x(t)) + 0.5;
    c.moveTo(x, top);
    c.lineTo(x, bottom);
  }
  c.stroke();
}

// clipped cuts a text to so many pixels.
function clipped(c, text, width) {
  text = text.slice(0, 200);
  if (c.measureText(text).width <= width) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const k = (low + high + 1) >> 1;
    if (c.measureText(text.slice(0, k) + '…').width <= width) low = k;
    else high = k - 1;
  }
  return low ? text.slice(0, low) + '…' : '';
}

// paintLanes draws the jobs and nodes of a trial.
function paintLanes(app, view) {
  const { trial, layout } = view;
  const theme = app.theme;
  const c = fit(view.canvas, app.width, layout.height);
  c.textBaseline = 'middle';
  gutter(app, view, c);
  c.save();
  c.beginPath();
  c.rect(app.gutter, 0, app.plot + right, layout.height);
  c.clip();
  if (!layout.heat) {
    c.fillStyle = theme.raised;
    for (const r of layout.rows) c.fillRect(app.gutter, r.y, app.plot, r.height);
    if (layout.lane >= 8) { // slots are told apart
      c.strokeStyle = theme.paper;
      c.beginPath();
      for (const r of layout.rows) {
        for (let k = 1; k < r.height / r.lane; k++) {
          c.moveTo(app.gutter, r.y + k * r.lane);
          c.lineTo(app.gutter + app.plot, r.y + k * r.lane);
        }
      }
      c.stroke();
    }
  }
  gridLines(app, c, 0, layout.bottom);
  c.save();
  c.beginPath();
  c.rect(app.gutter, 0, app.plot, layout.height);
  c.clip();
  paintJobs(app, view, c);
  if (layout.heat) paintHeat(app, view, c);
  paintMarks(app, view, c);
  if (!layout.heat) paintBars(app, view, c);
  c.restore();
  paintEnd(app, view, c);
  c.restore();
}

// gutter writes the names of racks and nodes.
function gutter(app, view, c) {
  const { trial, layout } = view;
  const theme = app.theme;
  c.textAlign = 'left';
  for (const r of layout.racks) {
    if (layout.heat) continue;
    c.font = `600 11px ${theme.font}`;
    c.fillStyle = theme.ink;
    c.fillText(clipped(c, r.name, app.gutter - 20), 10, r.y + rackHeight / 2 + 1);
    c.strokeStyle = theme.line;
    c.beginPath();
    c.moveTo(app.gutter, r.y + rackHeight / 2 + 1.5);
    c.lineTo(app.gutter + app.plot, r.y + rackHeight / 2 + 1.5);
    c.stroke();
  }
  if (layout.jobs.rows) {
    c.font = `600 11px ${theme.font}`;
    c.fillStyle = theme.ink;
    c.fillText('Jobs', 10, layout.jobs.top + Math.max(6, Math.min(layout.jobs.rows * layout.jobs.height, 14) / 2));
  }
  c.font = `11px ${theme.font}`;
  let free = -Infinity; // names that would overlap are left out
  if (layout.heat) {
    const named = layout.racks.length > 1 ? layout.racks : layout.rows.map((r) => ({ y: r.y, name: trial.nodes[r.nodes[0]].name + (r.nodes.length > 1 ? ' …' : '') }));
    for (const r of named) {
      if (r.y < free) continue;
      c.fillStyle = theme.soft;
      c.fillText(clipped(c, r.name, app.gutter - 20), 10, r.y + 6);
      c.strokeStyle = theme.axis;
      c.beginPath();
      c.moveTo(app.gutter - 6, r.y + 0.5);
      c.lineTo(app.gutter, r.y + 0.5);
      c.stroke();
      free = r.y + 13;
    }
    return;
  }
  for (const r of layout.rows) {
    const y = r.y + r.height / 2;
    if (y - 6 < free) continue;
    c.fillStyle = theme.soft;
    c.fillText(clipped(c, trial.nodes[r.node].name, app.gutter - 28), 18, y);
    free = y + 6;
  }
}

function paintJobs(app, view, c) {
  const { trial, layout } = view;
  const theme = app.theme;
  const { top, height, rows } = layout.jobs;
  const byJob = app.colour === 'Job';
  trial.jobs.forEach((j, k) => {
    const row = trial.jobRows[k];
    if (row < 0 || row >= rows) return;
    const end = Number.isNaN(j.end) ? trial.last : j.end;
    if (end < app.from || j.submit > app.to) return;
    const [x, to] = [app.x(j.submit), app.x(end)];
    const w = Math.max(to - x, 1.5);
    const y = top + row * height;
    const colour = byJob ? theme.jobs[k % 7] : theme.reduce;
    c.globalAlpha = view.dimJob(k) ? 0.25 : 1;
    c.fillStyle = colour;
    c.beginPath();
    rounded(c, x, y, w, Math.max(height - 1.5, 1), height > 8 ? 3 : 0);
    c.fill();
    if (j.outcome === 2 || j.outcome === 3) {
      c.fillStyle = theme.pattern(c, j.outcome === 2 ? 'cross' : 'lines', theme.bad);
      c.fill();
    }
    if (height > 9) {
      const left = Math.max(x, app.gutter);
      const room = Math.min(to, app.gutter + app.plot) - left - 10;
      if (room > 24) {
        c.font = `10px ${theme.font}`;
        c.fillStyle = textOn(colour);
        c.fillText(clipped(c, `${j.name || 'job'} · ${j.id}`, room), left + 5, y + (height - 1.5) / 2 + 0.5);
      }
    }
  });
  c.globalAlpha = 1;
}

// paintMarks draws for how long nodes were down, slow or small, and notes.
function paintMarks(app, view, c) {
  const { trial, layout } = view;
  const theme = app.theme;
  const rowOf = new Map();
  for (const r of layout.rows) for (const k of r.nodes ?? [r.node]) rowOf.set(k, r);
  for (const m of trial.marks) {
    if (m.to < app.from || m.from > app.to) continue;
    const [x, to] = [app.x(m.from), app.x(m.to)];
    if (m.what === 'note') {
      c.strokeStyle = theme.notable;
      c.setLineDash([2, 3]);
      c.beginPath();
      c.moveTo(Math.round(x) + 0.5, 0);
      c.lineTo(Math.round(x) + 0.5, layout.bottom);
      c.stroke();
      c.setLineDash([]);
      c.fillStyle = theme.notable;
      c.beginPath();
      c.moveTo(x, 0);
      c.lineTo(x + 8, 3);
      c.lineTo(x, 6);
      c.fill();
      continue;
    }
    const r = rowOf.get(m.node);
    if (!r) continue;
    const w = Math.max(to - x, 2);
    let [y, height] = [r.y, r.height];
    if (m.what === 'capacity') {
      height = Math.max(2, r.height * (1 - m.share));
      y = r.y + r.height - height;
    }
    c.globalAlpha = m.what === 'slow' ? 0.25 : 0.13;
    c.fillStyle = theme[m.what === 'down' ? 'bad' : m.what === 'slow' ? 'notable' : 'soft'];
    c.fillRect(x, y, w, height);
    c.globalAlpha = 1;
    if (m.what === 'slow') {
      c.fillRect(x, y + height, w, 2);
    } else {
      c.fillStyle = theme.pattern(c, 'lines', c.fillStyle);
      c.globalAlpha = 0.4;
      c.fillRect(x, y, w, height);
      c.globalAlpha = 1;
    }
    if (height < 12 || layout.heat) continue;
    // The words stand where the bars that were there before have ended.
    const before = trial.ofNode[m.node].reduce((t, i) => (trial.from[i] <= m.from && trial.to[i] > m.from ? Math.max(t, trial.to[i]) : t), m.from);
    const left = Math.max(app.x(before), app.gutter) + 5;
    const next = trial.ofNode[m.node].find((i) => trial.from[i] >= before);
    const room = Math.min(to, app.gutter + app.plot, next === undefined ? Infinity : app.x(trial.from[next])) - left - 4;
    const text = m.what === 'down' ? `down${m.text ? ': ' + m.text : ''}` : m.what === 'slow' ? `slow ×${three(m.share)}` : m.share > 0 ? `${share(m.share, 1)} left` : short(m.text, 60);
    c.font = `600 10px ${theme.font}`;
    if (room > 30) {
      c.fillStyle = theme.ink;
      c.fillText(clipped(c, text, room), left, y + Math.min(height / 2, height - 7));
    }
  }
}

function paintBars(app, view, c) {
  const { trial, layout } = view;
  const theme = app.theme;
  const colouring = colourings[app.colour];
  const classes = app.classes;
  const paths = new Map(); // of each class, dimmed or not
  const hatched = { 2: new Path2D(), 3: new Path2D() };
  const outlines = { speculative: new Path2D(), edge: new Path2D() };
  const labels = [];
  const put = (key, x, y, w, h, r) => {
    let p = paths.get(key);
    if (!p) paths.set(key, (p = new Path2D()));
    if (r >= 0.5 && w >= 2 * r) p.roundRect(x, y, w, h, r);
    else p.rect(x, y, w, h);
  };
  for (const row of layout.rows) {
    const lanes = trial.lanes[row.node];
    const height = row.lane > 6 ? row.lane - 2 : row.lane > 3 ? row.lane - 1 : row.lane - 0.5;
    const radius = row.lane >= 10 ? 2.5 : 0;
    for (let lane = 0; lane < lanes.length; lane++) {
      const list = lanes[lane];
      const y = row.y + lane * row.lane + (row.lane - height) / 2;
      let last = -Infinity; // right edge of what was drawn
      let lastKey = '';
      for (let k = firstIn(trial, list, app.from); k < list.length; k++) {
        const i = list[k];
        const from = trial.from[i];
        if (from > app.to) break;
        const x = app.x(from);
        const to = app.x(trial.to[i]);
        const dim = view.dim(i);
        const cls = colouring.of(trial, i);
        const key = cls + (dim ? 'd' : '');
        if (to <= last + 0.3 && key === lastKey) continue; // within the pixel of the one before
        const drawn = Math.max(to - x - (to - x > 3 ? 0.8 : 0), 0.8);
        put(key, x, y, drawn, height, radius);
        if (classes[cls]?.edge && drawn > 3) outlines.edge.rect(x + 0.5, y + 0.5, drawn - 1, height - 1);
        [last, lastKey] = [x + drawn, key];
        const w = to - x;
        const outcome = trial.outcome(i);
        if (outcome === 2 || outcome === 3) hatched[outcome].rect(x, y, Math.max(w - 0.8, 1.2), height);
        if (trial.isSpeculative(i) && w > 4) outlines.speculative.rect(x + 1, y + 1, w - 2.8, height - 2);
        if (row.lane >= 11 && w > 26 && !dim) labels.push([i, x, y + height / 2 + 0.5, w]);
      }
    }
  }
  for (const [key, path] of paths) {
    const dim = key.endsWith('d');
    const cls = classes[parseInt(key, 10)];
    c.globalAlpha = dim ? 0.16 : 1;
    c.fillStyle = cls?.colour ?? theme.soft;
    c.fill(path);
    if (cls?.dots && !dim) {
      c.fillStyle = theme.pattern(c, 'dots', theme.paper);
      c.fill(path);
    }
  }
  c.globalAlpha = 1;
  c.strokeStyle = theme.axis;
  c.stroke(outlines.edge);
  for (const [outcome, path] of Object.entries(hatched)) {
    c.fillStyle = theme.paper;
    c.globalAlpha = 0.6;
    c.fill(path);
    c.globalAlpha = 1;
    c.fillStyle = theme.pattern(c, outcome === '2' ? 'cross' : 'lines', theme.bad);
    c.fill(path);
    c.strokeStyle = theme.bad;
    c.stroke(path);
  }
  c.setLineDash([3, 2]);
  c.strokeStyle = theme.ink;
  c.stroke(outlines.speculative);
  c.setLineDash([]);
  paintMasters(app, view, c);
  paintGhosts(app, view, c);
  paintLabels(app, view, c, labels);
  for (const [i, strong] of view.marked()) outline(app, view, c, i, strong);
}

function paintLabels(app, view, c, labels) {
  const { trial } = view;
  const theme = app.theme;
  const classes = app.classes;
  const colouring = colourings[app.colour];
  c.font = `10px ${theme.font}`;
  for (const [i, x, y, w] of labels) {
    const left = Math.max(x, app.gutter);
    const room = Math.min(x + w, app.gutter + app.plot) - left - 8;
    if (room < 14) continue;
    const text = trial.task(i);
    const outcome = trial.outcome(i);
    const odd = outcome === 2 || outcome === 3;
    const long = odd ? `${text} ${outcomeNames[outcome]}` : `${text}  ${time(trial.lasts[i])}`;
    const words = c.measureText(long).width <= room ? long : c.measureText(text).width <= room ? text : '';
    if (!words) continue;
    const colour = classes[colouring.of(trial, i)]?.colour ?? theme.soft;
    if (odd) {
      c.fillStyle = theme.paper;
      c.fillRect(left + 3, y - 5.5, c.measureText(words).width + 4, 10.5);
      c.fillStyle = theme.ink;
    } else {
      c.fillStyle = textOn(colour);
    }
    c.fillText(words, left + 5, y);
  }
}

// paintMasters draws ApplicationMasters, which take the room of a task.
function paintMasters(app, view, c) {
  const { trial, layout } = view;
  const rows = new Map(layout.rows.map((r) => [r.node, r]));
  c.strokeStyle = app.theme.soft;
  c.fillStyle = app.theme.soft;
  c.font = `10px ${app.theme.font}`;
  for (const m of trial.masters) {
    const r = rows.get(m.node);
    if (!r || m.to < app.from || m.from > app.to) continue;
    const [x, to] = [app.x(m.from), app.x(m.to)];
    const y = r.y + m.lane * r.lane + 1.5;
    c.globalAlpha = view.dimJob(m.job) ? 0.25 : 1;
    c.strokeRect(x + 0.5, y, Math.max(to - x - 1, 1), Math.max(r.lane - 3, 1));
    if (r.lane >= 11 && to - x > 30) c.fillText('AM', Math.max(x, app.gutter) + 5, y + (r.lane - 3) / 2 + 0.5);
  }
  c.globalAlpha = 1;
}

// paintGhosts draws where and when the tasks ran that the trial replays: all, or that of the
// selected attempt.
function paintGhosts(app, view, c) {
  const { recorded } = app;
  const { trial, layout } = view;
  if (!recorded || recorded === trial) return;
  let list = [];
  if (app.ghosts) {
    for (let i = 0, end = above(recorded.from, app.to); i < end; i++) if (recorded.to[i] > app.from) list.push(i);
  } else if (app.sel?.view === view) {
    const job = trial.twin(trial.job[app.sel.bar], recorded);
    if (job >= 0) list = recorded.attemptsOf(job, trial.isReduce(app.sel.bar), trial.index[app.sel.bar]);
  }
  view.nodeByName ??= new Map(trial.nodes.map((n, k) => [n.name, k]));
  const rows = new Map(layout.rows.map((r) => [r.node, r]));
  c.strokeStyle = app.theme.ink;
  c.globalAlpha = app.ghosts ? 0.75 : 1;
  c.setLineDash([2, 2]);
  c.beginPath();
  for (const i of list) {
    const r = rows.get(view.nodeByName.get(recorded.nodes[recorded.node[i]].name));
    if (!r) continue;
    const lane = Math.min(recorded.lane[i], Math.round(r.height / r.lane) - 1);
    const [x, to] = [app.x(recorded.from[i]), app.x(recorded.to[i])];
    c.rect(x + 0.5, r.y + lane * r.lane + 0.5, Math.max(to - x - 1, 1), r.lane - 1);
  }
  c.stroke();
  c.setLineDash([]);
  c.globalAlpha = 1;
}

// outline marks a bar: the selected one, the one below the pointer, or the same task in
// another trial.
function outline(app, view, c, i, strong) {
  const place = view.rect(i);
  if (!place) return;
  const [x, y, w, h] = place;
  c.strokeStyle = app.theme.paper;
  c.lineWidth = strong ? 5 : 3;
  c.beginPath();
  c.roundRect(x - 1, y - 1, w + 2, h + 2, 3);
  c.stroke();
  c.strokeStyle = strong ? app.theme.link : app.theme.ink;
  c.lineWidth = strong ? 2.5 : 1.5;
  c.beginPath();
  c.roundRect(x - 1, y - 1, w + 2, h + 2, 3);
  c.stroke();
  c.lineWidth = 1;
}

// firstIn is the place of the first bar of a lane that ends after a time.
function firstIn(trial, list, t) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const k = (low + high) >> 1;
    if (trial.to[list[k]] <= t) low = k + 1;
    else high = k;
  }
  return low;
}

function paintHeat(app, view, c) {
  const { trial, layout } = view;
  const columns = Math.max(1, Math.floor(app.plot));
  const rows = layout.rows;
  const cells = heatCells(trial, rows, app.from, app.to, columns);
  view.cells = { cells, columns };
  const image = new OffscreenCanvas(columns, Math.max(rows.length, 1));
  const pixels = new ImageData(columns, Math.max(rows.length, 1));
  for (let i = 0; i < cells.length; i++) {
    if (Number.isNaN(cells[i])) continue;
    const [r, g, b] = app.theme.heat[Math.max(0, Math.min(255, Math.round(cells[i] * 255)))];
    pixels.data.set([r, g, b, 255], 4 * i);
  }
  image.getContext('2d').putImageData(pixels, 0, 0);
  c.fillStyle = app.theme.raised;
  c.fillRect(app.gutter, layout.top, app.plot, rows.length * layout.rowHeight);
  c.imageSmoothingEnabled = false;
  c.drawImage(image, app.gutter, layout.top, columns, rows.length * layout.rowHeight);
  c.strokeStyle = app.theme.paper;
  c.beginPath();
  if (layout.racks.length > 1 && layout.racks.length < 60) {
    for (const r of layout.racks) {
      c.moveTo(app.gutter, r.y + 0.5);
      c.lineTo(app.gutter + app.plot, r.y + 0.5);
    }
  }
  c.stroke();
}

// paintEnd draws the line at the end of the last job.
function paintEnd(app, view, c) {
  const { trial, layout } = view;
  if (Number.isNaN(trial.end) || trial.end < app.from || trial.end > app.to) return;
  const x = Math.round(app.x(trial.end)) + 0.5;
  c.strokeStyle = app.theme.ink;
  c.setLineDash([5, 3]);
  c.lineWidth = 1.5;
  c.beginPath();
  c.moveTo(x, 0);
  c.lineTo(x, layout.height);
  c.stroke();
  c.setLineDash([]);
  c.lineWidth = 1;
  c.font = `600 11px ${app.theme.font}`;
  const text = time(trial.end);
  const w = c.measureText(text).width + 10;
  const left = x + 4 + w > app.width ? x - w - 4 : x + 4;
  c.fillStyle = app.theme.ink;
  c.beginPath();
  c.roundRect(left, 1, w, 16, 4);
  c.fill();
  c.fillStyle = app.theme.paper;
  c.textAlign = 'left';
  c.fillText(text, left + 5, 9.5);
}
