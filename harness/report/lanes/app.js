// The timeline: what is shown, what the reader does, and when it is drawn.

// View is one trial on the page.
class View {
  constructor(app, trial) {
    this.app = app;
    this.trial = trial;
    this.canvas = element('canvas', { 'aria-hidden': 'true' });
    this.plot = element('div', { class: 'lanes-plot', tabindex: '0', role: 'application', 'aria-roledescription': 'timeline', 'aria-describedby': 'lanes-keys' }, this.canvas);
    this.note = element('p', { class: 'lanes-note' });
    this.stats = element('p', { class: 'lanes-stats' });
    this.article = element('article', { class: 'lanes-trial', 'aria-label': `Trial ${trial.title}` },
      element('header', {}, element('h3', {}, trial.title, ' ', element('span', { class: 'lanes-of' }, trial.entry.name === trial.title ? '' : short(trial.entry.name, 80)),
        element('span', { class: `lanes-badge lanes-origin` }, trial.entry.recorded ? 'recorded' : trial.entry.origin)), this.stats),
      this.note, this.plot);
    this.plot.addEventListener('keydown', (e) => app.key(e, this));
  }

  layOut() {
    const { app, trial } = this;
    const n = app.shown.length;
    this.layout = layOut(trial, {
      rack: app.rackOf(trial), from: app.from, to: app.to, narrow: app.narrow,
      room: (n === 1 ? 520 : n === 2 ? 380 : 260) * (app.narrow ? 0.8 : 1),
    });
    this.rowOf = null;
  }

  paint() {
    this.stale = false;
    paintLanes(this.app, this);
  }

  // say writes the lines above the lanes, which follow what is in view.
  say() {
    const { app, trial, layout } = this;
    const parts = [];
    if (layout.heat) {
      const what = 'Colours are the share of slots that were taken';
      const rows = layout.perRow > 1 ? `, ${layout.perRow} nodes in a row at most` : '';
      if (trial.grid) parts.push(`Heat map: ${plural(trial.entry.attempts, 'attempt')} are too many for this page to hold one by one; it holds sums over ${time(trial.grid.width)}${rows}. ${what}.`);
      else if (layout.nodes.length > mostNodes) parts.push(`Heat map: bars of ${whole(layout.nodes.length)} nodes would be too thin to see (over ${mostNodes}${rows}). ${what}. Pick a rack, or click to zoom into one, to see bars.`);
      else parts.push(`Heat map: ${plural(layout.bars, 'attempt')} in view are too many for bars (over ${whole(mostBars)}${rows}). ${what}. Zoom in to see bars.`);
    }
    const [maps, reduces] = trial.head.kindSlots;
    if (maps + reduces > 0) parts.push(`Each node has ${plural(maps, 'slot')} for maps and ${whole(reduces)} for reduces${layout.heat ? '' : `: the lanes of a node, in this order`}.`);
    if (layout.idle) parts.push(`${plural(layout.idle, 'node')} without attempts not shown.`);
    if (layout.jobs.hidden > 0) parts.push(`Jobs beyond ${layout.jobs.rows} at the same time not shown.`);
    if (trial.head.moreMarks) parts.push(`${plural(trial.head.moreMarks, 'fault or note', 'faults or notes')} not shown.`);
    if (trial.head.unlaunched) parts.push(`${plural(trial.head.unlaunched, 'attempt')} ended before launch and have no bar.`);
    this.note.textContent = parts.join(' ');
    this.note.hidden = !parts.length;
    const inView = trial.grid ? plural(trial.entry.attempts, 'attempt') : `${plural(trial.count, 'attempt')}, ${whole(layout.bars)} in view`;
    this.plot.setAttribute('aria-label', `Timeline of ${trial.title}: ${inView}, ${plural(layout.nodes.length, 'node')}, ${Number.isNaN(trial.end) ? 'not finished' : 'makespan ' + time(trial.end)}`);
  }

  // count says of each class how many attempts have it.
  count() {
    const { app, trial } = this;
    const parts = [];
    parts.push(element('span', {}, 'makespan ', element('b', {}, Number.isNaN(trial.end) ? 'not finished' : exact(trial.end))));
    parts.push(element('span', {}, element('b', {}, whole(trial.entry.attempts)), ' attempts'));
    const outcomes = [0, 0, 0, 0];
    const counts = app.classes.map(() => 0);
    const { of } = colourings[app.colour];
    for (let i = 0; i < trial.count; i++) {
      outcomes[trial.outcome(i)]++;
      counts[of(trial, i)]++;
    }
    for (const k of [2, 3]) if (outcomes[k]) parts.push(element('span', { class: 'lanes-odd' }, element('b', {}, whole(outcomes[k])), ` ${outcomeNames[k]}`));
    parts.push(element('span', {}, app.classes.map(({ short: name }, k) => (counts[k] && name ? `${name} ${whole(counts[k])}` : '')).filter(Boolean).join(' · ')));
    this.stats.replaceChildren(...parts);
  }

  // rect is where a bar is drawn: x, y, width, height.
  rect(i) {
    const { app, trial, layout } = this;
    if (layout.heat) {
      this.rowOf ??= new Map(layout.rows.flatMap((r) => r.nodes.map((k) => [k, r])));
    } else {
      this.rowOf ??= new Map(layout.rows.map((r) => [r.node, r]));
    }
    const r = this.rowOf.get(trial.node[i]);
    if (!r) return null;
    const [x, to] = [app.x(trial.from[i]), app.x(trial.to[i])];
    if (layout.heat) return [x, r.y, Math.max(to - x, 2), r.height];
    const y = r.y + trial.lane[i] * r.lane;
    return [x, y + 1, Math.max(to - x - 0.8, 1.5), Math.max(r.lane - 2, 1.5)];
  }

  hasNode(k) {
    const rack = this.app.rackOf(this.trial);
    return rack < 0 || this.trial.nodes[k].rack === rack;
  }

  // marked returns the bars that have an outline, and whether it is a strong one.
  *marked() {
    const { app, trial } = this;
    const { sel, hover } = app;
    if (hover?.view === this && hover.bar >= 0) yield [hover.bar, false];
    if (!sel) return;
    if (sel.view === this) {
      yield [sel.bar, true];
      return;
    }
    if (sel.view.trial.entry.workload !== trial.entry.workload) return;
    const job = sel.view.trial.twin(sel.view.trial.job[sel.bar], trial);
    if (job < 0) return;
    for (const i of trial.attemptsOf(job, sel.view.trial.isReduce(sel.bar), sel.view.trial.index[sel.bar])) yield [i, false];
  }

  dimJob(k) {
    return this.app.job !== '' && this.jobPlace() !== k;
  }

  jobPlace() {
    const { app, trial } = this;
    return trial.jobPlace.get(app.job) ?? (app.jobTrial ? app.jobTrial.twin(app.jobTrial.jobPlace.get(app.job), trial) : -1);
  }

  // dim says whether a bar stands back: it is not of the job that was picked.
  dim(i) {
    return this.app.job !== '' && this.pickedJob !== this.trial.job[i];
  }

  // at returns what is at a place of the canvas.
  at(x, y) {
    const { app, trial, layout } = this;
    if (x < app.gutter) return null;
    const t = app.time(x);
    const { jobs } = layout;
    if (y >= jobs.top && y < jobs.top + jobs.rows * jobs.height) {
      const row = Math.floor((y - jobs.top) / jobs.height);
      const slack = 2 / app.plot * (app.to - app.from);
      const k = trial.jobs.findIndex((j, n) => trial.jobRows[n] === row && j.submit - slack <= t && t <= (Number.isNaN(j.end) ? trial.last : j.end) + slack);
      return k < 0 ? null : { job: k };
    }
    const r = layout.rows.find((row) => y >= row.y && y < row.y + row.height);
    const note = trial.marks.find((m) => m.what === 'note' && Math.abs(app.x(m.from) - x) < 6);
    if (note && !(r && y > 12)) return { note };
    if (!r) return null;
    if (layout.heat) return { row: r, t };
    const lane = Math.floor((y - r.y) / r.lane);
    const list = trial.lanes[r.node][lane] ?? [];
    const slack = (3 / app.plot) * (app.to - app.from); // thin bars can be hit too
    let best = -1;
    let least = slack;
    for (let k = firstIn(trial, list, t - slack); k < list.length && trial.from[list[k]] <= t + slack; k++) {
      const i = list[k];
      const off = Math.max(trial.from[i] - t, t - trial.to[i], 0);
      if (off <= least) [best, least] = [i, off];
    }
    const master = best < 0 ? trial.masters.find((m) => m.node === r.node && m.lane === lane && m.from <= t && m.to >= t) : undefined;
    const mark = trial.marks.find((m) => m.node === r.node && m.from <= t && m.to >= t);
    return { node: r.node, lane, bar: best, master, mark };
  }
}

class App {
  constructor(root) {
    this.root = root;
    this.index = JSON.parse(root.querySelector('.lanes-index').textContent);
    this.blocks = [...root.querySelectorAll('.lanes-block')];
    this.trials = new Map();
    this.shown = [];
    this.classes = [];
    this.colour = 'Locality';
    this.rack = '';
    this.job = '';
    this.sel = null;
    this.hover = null;
    this.ghosts = false;
    this.width = 0;
    this.calm = matchMedia('(prefers-reduced-motion: reduce)');
    this.build();
    this.follow();
    this.start();
  }

  // load reads a trial's block.
  async load(place) {
    if (!this.trials.has(place)) {
      const entry = this.index[place];
      const { head, columns } = await readBlock(this.blocks[entry.block].textContent);
      const trial = new Trial(place, entry, head, columns);
      const several = new Set(this.index.map((e) => e.repeat)).size > 1;
      const alike = this.index.filter((e) => e.workload === entry.workload && e.repeat === entry.repeat && this.modelOf(e) === this.modelOf(entry)).length > 1;
      trial.title = alike ? entry.name || `trial ${place + 1}` : entry.recorded ? 'recorded' : entry.model ? entry.model + (several && entry.repeat ? `, repeat ${entry.repeat}` : '') : entry.name || `trial ${place + 1}`;
      this.trials.set(place, trial);
    }
    return this.trials.get(place);
  }

  async start() {
    this.pickWorkload(this.index[0]?.workload ?? '');
    await this.show();
    this.root.removeAttribute('aria-busy');
    this.root.dataset.ready = 'true';
    performance.mark('lanes-ready');
  }

  // pickWorkload picks a workload, its first models, and the first repeat of one.
  pickWorkload(name) {
    this.workload = name;
    const of = this.index.filter((e) => e.workload === name);
    this.repeat = String((of.find((e) => !e.recorded) ?? of[0])?.repeat ?? 0);
    this.picked = this.models().slice(0, 4);
  }

  // modelOf is what trials are picked by: the model, or that they were recorded.
  modelOf(e) {
    return e.recorded ? 'recorded' : e.model || e.name;
  }

  models() {
    return [...new Set(this.index.filter((e) => e.workload === this.workload).map((e) => this.modelOf(e)))];
  }

  // show reads and shows the picked trials.
  async show() {
    this.busy = true;
    const wanted = this.index.map((e, k) => k).filter((k) => {
      const e = this.index[k];
      return e.workload === this.workload && this.picked.includes(this.modelOf(e)) && (e.recorded || this.repeat === 'all' || String(e.repeat) === this.repeat);
    });
    const trials = await Promise.all(wanted.map((k) => this.load(k)));
    const recorded = this.index.findIndex((e) => e.recorded && e.workload === this.workload);
    this.recorded = recorded >= 0 && this.index.length > 1 ? await this.load(recorded) : null;
    const sel = this.sel;
    const old = this.shown;
    this.shown = trials.map((t) => old.find((v) => v.trial === t) ?? new View(this, t));
    this.sel = sel && this.shown.includes(sel.view) ? sel : null;
    this.hover = null;
    this.reasoned = [...this.trials.values()].some((t) => t.whyCount.length > 0);
    const same = this.whole && this.from === this.whole[0] && this.to === this.whole[1];
    let [from, to] = [0, 1000];
    for (const t of trials) {
      from = Math.min(from, t.count ? t.from[0] : 0);
      to = Math.max(to, Number.isNaN(t.end) ? t.last : t.end, ...(t.count ? [t.sortedEnds[t.count - 1]] : []));
    }
    this.whole = [from, to + (to - from) * 0.015];
    if (this.from === undefined || same) [this.from, this.to] = this.whole;
    else [this.from, this.to] = this.within(this.from, this.to);
    this.goal = [this.from, this.to];
    this.jobTrial = this.shown.find((v) => v.trial.jobPlace.has(this.job))?.trial ?? null;
    if (!this.jobTrial) this.job = '';
    if (!this.shown.some((v) => v.trial.racks.includes(this.rack))) this.rack = '';
    this.list.replaceChildren(...this.shown.map((v) => v.article));
    if (!this.shown.length) this.list.append(element('p', { class: 'lanes-note' }, 'No trial has what was picked.'));
    this.tools();
    this.busy = false;
    this.recolour();
    this.resize();
    showDetails(this);
    this.changed();
  }

  rackOf(trial) {
    return this.rack === '' ? -1 : trial.racks.indexOf(this.rack);
  }

  x(t) { return this.gutter + ((t - this.from) / (this.to - this.from)) * this.plot; }
  time(x) { return this.from + ((x - this.gutter) / this.plot) * (this.to - this.from); }

  // within keeps a stretch of time inside the whole and not shorter than 20 ms.
  within(from, to) {
    const [first, last] = this.whole;
    const length = Math.min(Math.max(to - from, 20), last - first);
    const start = Math.min(Math.max(from, first), last - length);
    return [start, start + length];
  }

  // zoom shows a stretch of time.
  zoom(from, to, smooth = true) {
    [from, to] = this.goal = this.within(from, to);
    cancelAnimationFrame(this.moving);
    const steps = smooth && !this.calm.matches ? 7 : 1;
    const [a, b] = [this.from, this.to];
    let k = 0;
    const step = () => {
      const s = ++k / steps;
      const ease = 1 - (1 - s) ** 3;
      [this.from, this.to] = k === steps ? [from, to] : [a + (from - a) * ease, b + (to - b) * ease];
      this.draw();
      if (k < steps) this.moving = requestAnimationFrame(step);
      else this.changed();
    };
    step();
  }

  // scale zooms by a factor around a time. It goes on from where the last move ends.
  scale(factor, t, smooth = true) {
    const [from, to] = this.goal;
    t ??= (from + to) / 2;
    this.zoom(t - (t - from) * factor, t + (to - t) * factor, smooth);
  }

  pan(share, smooth = true) {
    const [from, to] = this.goal;
    const by = (to - from) * share;
    this.zoom(from + by, to + by, smooth);
  }

  // select marks a bar and tells about it. With follow, the bar is brought into view.
  select(sel, follow = false) {
    this.sel = sel;
    if (sel && follow) {
      const { trial } = sel.view;
      const [from, to] = [trial.from[sel.bar], trial.to[sel.bar]];
      if (!sel.view.hasNode(trial.node[sel.bar])) this.pickRack('');
      if (from < this.from || to > this.to) {
        const length = Math.max(this.to - this.from, (to - from) * 1.2);
        const middle = (from + to) / 2;
        this.zoom(middle - length / 2, middle + length / 2);
      }
    }
    showDetails(this);
    if (sel) {
      const { trial } = sel.view;
      this.tell(`${attemptTitle(trial, sel.bar)} of ${trial.jobs[trial.job[sel.bar]].name}, ${trial.title}: on ${place(trial, sel.bar)} from ${moment(trial.from[sel.bar], 10)}, took ${time(trial.lasts[sel.bar])}, ${outcomeNames[trial.outcome(sel.bar)]}. ${trial.why(sel.bar).join(' ')}`);
    }
    this.draw();
    this.changed();
    if (sel) requestAnimationFrame(() => this.reveal());
  }

  // reveal scrolls the page as far as is needed to see the selected bar: below what stays at
  // the top, and above the panel where that covers the bottom of the window.
  reveal() {
    if (!this.sel) return;
    const place = this.sel.view.rect(this.sel.bar);
    if (!place) return;
    const margin = 12;
    const top = this.main.firstChild.offsetHeight + this.stick + margin;
    const covers = getComputedStyle(this.details).bottom === '0px' && !this.root.classList.contains('lanes-wide');
    const bottom = innerHeight - (covers ? this.details.offsetHeight : 0) - margin;
    const y = this.sel.view.canvas.getBoundingClientRect().top + place[1];
    const by = y < top ? y - top : Math.max(0, Math.min(y + place[3] - bottom, y - top));
    if (by) scrollBy({ top: by, behavior: 'instant' });
  }

  tell(text) {
    this.live.textContent = text;
  }

  // changed brings the table and the panel up to date, a moment after the last change.
  changed() {
    clearTimeout(this.later);
    this.later = setTimeout(() => {
      if (this.from !== this.goal[0] || this.to !== this.goal[1]) return; // the end of the move calls again
      showTable(this);
      if (!this.sel) {
        showDetails(this);
        if (this.from + this.to !== this.whole[0] + this.whole[1] && this.told !== `${this.from}-${this.to}`) {
          const n = this.shown.reduce((sum, v) => sum + (v.trial.grid ? 0 : v.trial.inView(this.from, this.to)), 0);
          this.tell(`${moment(this.from, this.ticks.step / 10)} to ${moment(this.to, this.ticks.step / 10)}: ${plural(n, 'attempt')} in view`);
          this.told = `${this.from}-${this.to}`;
        }
      }
    }, 150);
  }

  // recolour gives classes their colours again, after another theme, colouring or trial.
  recolour() {
    this.root.style.colorScheme = this.printing ? 'light' : '';
    this.theme = new Theme(this.root);
    this.classes = colourings[this.colour].classes(this);
    this.theme.probe.remove();
    for (const v of this.shown) v.count();
    this.showLegend();
    this.draw();
  }

  draw() {
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = 0;
      this.drawNow();
    });
  }

  drawNow() {
    if (this.width <= 0 || !this.theme || this.busy || !this.whole) return;
    this.ticks = ticks(this.from, this.to, Math.max(2, this.plot / 90));
    paintAxis(this);
    paintOverview(this);
    for (const v of this.shown) {
      v.pickedJob = this.job === '' ? -1 : v.jobPlace();
      v.layOut();
      v.say();
      // Only what is near the window of the browser is drawn; scrolling draws the rest.
      const box = v.article.getBoundingClientRect();
      v.canvas.style.height = v.layout.height + 'px';
      if (!this.printing && (box.bottom < -400 || box.top > innerHeight + 400)) {
        v.stale = true;
        continue;
      }
      v.paint();
    }
    this.showLegend();
    this.drawRest();
  }

  // drawRest draws what is far from the window, a trial at a time, when there is nothing else
  // to do: for pictures of the whole page.
  drawRest() {
    clearTimeout(this.resting);
    if (!this.shown.some((v) => v.stale)) return;
    this.resting = setTimeout(() => {
      const v = this.shown.find((view) => view.stale);
      if (!v || this.drawing || this.busy) return;
      v.paint();
      this.drawRest();
    }, 250);
  }

  resize() {
    const width = this.main.clientWidth;
    if (!width) return;
    this.root.classList.toggle('lanes-wide', this.root.clientWidth >= 1080);
    this.width = this.main.clientWidth;
    this.narrow = this.width < 620;
    this.root.classList.toggle('lanes-narrow', this.narrow);
    this.gutter = this.narrow ? 76 : 148;
    this.plot = this.width - this.gutter - right;
    this.root.style.setProperty('--lanes-gutter', this.gutter + 'px');
    // What stays at the top of the page covers what stays at the top of the timeline.
    const bars = [...document.body.children].filter((e) => getComputedStyle(e).position === 'sticky' && e.getBoundingClientRect().top < 5);
    this.stick = Math.max(0, ...bars.map((e) => e.offsetHeight));
    this.root.style.setProperty('--lanes-stick', this.stick + 'px');
    this.drawNow();
  }

  // follow redraws when the page changes.
  follow() {
    new ResizeObserver(() => requestAnimationFrame(() => this.resize())).observe(this.main);
    new MutationObserver(() => this.recolour()).observe(document.documentElement, { attributeFilter: ['data-theme'] });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.recolour());
    addEventListener('scroll', () => this.shown.some((v) => v.stale) && this.draw(), { passive: true });
    const print = (on) => {
      this.printing = on;
      this.main.style.width = on ? '700px' : ''; // about that of a sheet: what is drawn for a wider place would be squeezed
      this.recolour();
      cancelAnimationFrame(this.drawing);
      this.drawing = 0;
      this.resize();
    };
    addEventListener('beforeprint', () => print(true));
    addEventListener('afterprint', () => print(false));
  }

  // folded says whether the page has no single attempts of any trial that is shown.
  folded() {
    return this.shown.length > 0 && this.shown.every((v) => v.trial.grid);
  }

  pickJob(id) {
    this.job = this.job === id ? '' : id;
    this.jobTrial = this.shown.find((v) => v.trial.jobPlace.has(this.job))?.trial ?? null;
    this.tools();
    if (!this.sel) showDetails(this);
    this.draw();
    this.changed();
  }

  pickRack(name) {
    this.rack = name;
    this.tools();
    this.draw();
    this.changed();
  }

  // key handles keys while the timeline of a trial has the focus.
  key(e, view) {
    if (e.altKey || e.ctrlKey || e.metaKey) return;
    const far = e.shiftKey ? 0.5 : 0.1;
    const near = (which, side) => {
      if (this.sel?.view !== view) return;
      const k = neighbours(view.trial, this.sel.bar)[which][side];
      if (k >= 0) this.select({ view, bar: k }, true);
    };
    const keys = {
      ArrowLeft: () => this.pan(-far),
      ArrowRight: () => this.pan(far),
      '+': () => this.scale(0.6, this.middle(view)),
      '=': () => this.scale(0.6, this.middle(view)),
      '-': () => this.scale(1 / 0.6, this.middle(view)),
      Home: () => this.zoom(...this.whole),
      0: () => this.zoom(...this.whole),
      Enter: () => this.selectNear(view),
      ' ': () => this.selectNear(view),
      Escape: () => this.select(null),
      n: () => near('node', 1),
      p: () => near('node', 0),
      j: () => near('job', 1),
      k: () => near('job', 0),
      z: () => this.sel?.view === view && this.zoomOn(view, this.sel.bar),
    };
    if (this.sel?.view === view) {
      keys.ArrowUp = () => this.selectBeside(view, -1);
      keys.ArrowDown = () => this.selectBeside(view, 1);
    }
    const act = keys[e.key] ?? keys[e.key.toLowerCase()];
    if (!act) return;
    e.preventDefault();
    act();
  }

  middle(view) {
    if (this.sel?.view !== view) return undefined;
    const t = (view.trial.from[this.sel.bar] + view.trial.to[this.sel.bar]) / 2;
    return t > this.from && t < this.to ? t : undefined;
  }

  zoomOn(view, i) {
    const length = Math.max(view.trial.lasts[i] * 3, 100);
    const middle = (view.trial.from[i] + view.trial.to[i]) / 2;
    this.zoom(middle - length / 2, middle + length / 2);
  }

  // selectNear selects the first attempt that starts in view.
  selectNear(view) {
    if (this.sel?.view === view) return;
    const { trial } = view;
    for (let i = above(trial.from, this.from - 1); i < trial.count; i++) {
      if (!view.dim(i) && view.hasNode(trial.node[i])) {
        this.select({ view, bar: i }, true);
        return;
      }
    }
  }

  // selectBeside selects the attempt that runs at about the same time in the lane above or
  // below.
  selectBeside(view, by) {
    const { trial, layout } = view;
    const i = this.sel.bar;
    const order = layout.nodes.flatMap((k) => trial.lanes[k].map((list) => list));
    let at = order.findIndex((list) => list.includes(i));
    const middle = (trial.from[i] + trial.to[i]) / 2;
    for (at += by; at >= 0 && at < order.length; at += by) {
      const best = order[at].reduce((a, b) => (a < 0 || Math.abs(trial.from[b] + trial.to[b] - 2 * middle) < Math.abs(trial.from[a] + trial.to[a] - 2 * middle) ? b : a), -1);
      if (best >= 0) {
        this.select({ view, bar: best }, true);
        return;
      }
    }
  }
}
