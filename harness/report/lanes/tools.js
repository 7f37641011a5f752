// The controls above the lanes, the legend, and what the pointer does.

const icons = {
  in: 'M8 3v10M3 8h10',
  out: 'M3 8h10',
  whole: 'M2.5 8h11M5 5 2 8l3 3M11 5l3 3-3 3',
};

function icon(name) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', icons[name]);
  svg.append(path);
  return svg;
}

function button(name, label, click, more = {}) {
  return element('button', { type: 'button', class: 'lanes-icon', 'aria-label': label, title: label, click, ...more }, icon(name));
}

// picker is a labelled list of choices.
function picker(label, options, value, change) {
  const select = element('select', { change: () => change(select.value) }, options.map(([v, text]) => element('option', { value: v, selected: v === value }, text)));
  return element('label', { class: 'lanes-pick' }, element('span', {}, label), select);
}

// switches is a row of buttons of which one is pressed.
function switches(label, options, value, change) {
  return element('div', { class: 'lanes-switches', role: 'group', 'aria-label': label },
    element('span', { 'aria-hidden': 'true' }, label),
    options.map(([v, text, title]) => element('button', { type: 'button', 'aria-pressed': String(v === value), title, click: () => change(v) }, text)));
}

Object.assign(App.prototype, {
  // build makes the elements that stay.
  build() {
    const { root } = this;
    root.setAttribute('aria-busy', 'true');
    this.bar = element('div', { class: 'lanes-tools', role: 'toolbar', 'aria-label': 'Timeline' });
    this.legend = element('div', { class: 'lanes-legend' });
    this.overview = element('canvas', { class: 'lanes-overview', 'aria-hidden': 'true' });
    this.axis = element('canvas', { class: 'lanes-axis', 'aria-hidden': 'true' });
    this.list = element('div', { class: 'lanes-list' });
    this.cross = element('div', { class: 'lanes-cross', hidden: true }, element('span', {}));
    this.band = element('div', { class: 'lanes-band', hidden: true }, element('span', {}));
    this.tip = element('div', { class: 'lanes-tip', hidden: true, 'aria-hidden': 'true' });
    this.main = element('div', { class: 'lanes-main' }, element('div', { class: 'lanes-top' }, this.overview, this.axis), this.list, this.cross, this.band);
    this.details = element('aside', { class: 'lanes-details', 'aria-label': 'Selected attempt', tabindex: '-1' });
    this.live = element('p', { class: 'lanes-live', role: 'status', 'aria-live': 'polite' });
    this.tableBody = element('div', {});
    this.table = element('details', { class: 'lanes-table', toggle: () => showTable(this) }, element('summary', {}, 'Attempts in view as a table'), this.tableBody);
    this.keys = element('details', { class: 'lanes-keys' }, element('summary', {}, 'Keys and pointer'), element('p', { id: 'lanes-keys' },
      'Drag to zoom into a stretch of time; shift and drag, or scroll sideways, to move; control and scroll, or pinch, to zoom; double-click for the whole. ',
      'Keys in a timeline: left and right move, plus and minus zoom, Home shows the whole. Enter selects the first attempt in view; then N and P are the next and previous attempt on its node, J and K of its job, up and down the lanes beside it, Z zooms to it, Escape clears. ',
      'A lane is a container: an attempt stands in the lowest lane of its node that is free. A bar lasts from launch to end; hatched bars failed or were killed, dashed ones are speculative.'));
    root.append(this.bar, this.legend, element('div', { class: 'lanes-body' }, this.main, this.details), this.table, this.keys, this.tip, this.live);
    this.point();
  },

  // tools fills the row of controls for the trials that are shown.
  tools() {
    const focused = this.bar.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const parts = [];
    const workloads = [...new Set(this.index.map((e) => e.workload))];
    if (workloads.length > 1) parts.push(picker('Workload', workloads.map((w) => [w, short(w || 'none', 60)]), this.workload, (w) => { this.pickWorkload(w); this.show(); }));
    const models = this.models();
    if (models.length > 1) {
      parts.push(element('div', { class: 'lanes-switches', role: 'group', 'aria-label': 'Models' }, element('span', { 'aria-hidden': 'true' }, 'Models'), models.map((m) =>
        element('button', {
          type: 'button', 'aria-pressed': String(this.picked.includes(m)), title: `Show or hide ${short(m, 200)}`,
          click: () => {
            const on = this.picked.includes(m);
            if (on && this.picked.length === 1) return;
            this.picked = models.filter((other) => (other === m ? !on : this.picked.includes(other)));
            this.show();
          },
        }, short(m, 30)))));
    }
    const repeats = [...new Set(this.index.filter((e) => e.workload === this.workload && !e.recorded).map((e) => String(e.repeat)))];
    if (repeats.length > 1) parts.push(picker('Repeat', [...repeats.map((r) => [r, r]), ...(repeats.length <= 8 ? [['all', 'all']] : [])], this.repeat, (r) => { this.repeat = r; this.show(); }));
    const folded = this.folded();
    if (!folded) parts.push(switches('Colour', Object.entries(colourings).map(([key, c]) => [key, key, c.title]), this.colour, (key) => { this.colour = key; this.tools(); this.recolour(); showDetails(this); }));
    const jobs = this.shown[0]?.trial.jobs ?? [];
    if (jobs.length > 1 && jobs.length <= 300) {
      parts.push(picker('Job', [['', 'all'], ...jobs.map((j) => [j.id, short(`${j.name || 'job'} (${j.id})`, 60)])], this.job, (id) => { this.job = ''; if (id) this.pickJob(id); else { this.tools(); this.draw(); this.changed(); } }));
    }
    const racks = [...new Set(this.shown.flatMap((v) => v.trial.racks.filter((r, k) => v.trial.nodes.some((n) => n.rack === k && n.shown))))];
    if (racks.length > 1 && racks.length <= 300 && this.shown.some((v) => v.trial.nodes.length > 12)) parts.push(picker('Rack', [['', 'all'], ...racks.map((r) => [r, short(r, 40)])], this.rack, (r) => this.pickRack(r)));
    if (this.recorded && !this.recorded.grid && !folded && this.shown.some((v) => v.trial !== this.recorded)) {
      parts.push(element('div', { class: 'lanes-switches' }, element('button', { type: 'button', 'aria-pressed': String(this.ghosts), title: 'Dashed outlines where and when the recorded tasks ran', click: () => { this.ghosts = !this.ghosts; this.tools(); this.draw(); this.changed(); } }, 'Ghost of recorded')));
    }
    parts.push(element('span', { class: 'lanes-buttons' }, button('out', 'Zoom out (-)', () => this.scale(1 / 0.6)), button('in', 'Zoom in (+)', () => this.scale(0.6)), button('whole', 'Show the whole time (Home)', () => this.zoom(...this.whole))));
    this.bar.replaceChildren(...parts);
    this.bar.querySelectorAll('button, select, input').forEach((e, k) => { e.dataset.key ??= String(k); });
    if (focused) this.bar.querySelector(`[data-key="${focused}"]`)?.focus();
  },

  // showLegend says what colours mean.
  showLegend() {
    const heat = this.shown.some((v) => v.layout?.heat);
    const bars = this.shown.some((v) => v.layout && !v.layout.heat) && !this.folded();
    const of = [heat, bars, ...this.classes.map((c) => c.label + c.colour)].join();
    if (of === this.legendOf) return;
    this.legendOf = of;
    const parts = [];
    const key = (name, colour, words) => {
      const swatch = element('span', { class: `lanes-swatch ${name}` });
      swatch.style.backgroundColor = colour;
      parts.push(element('span', { class: 'lanes-key' }, swatch, words));
    };
    if (bars) {
      for (const c of this.classes) key(c.dots ? 'lanes-dots' : c.edge ? 'lanes-edge' : '', c.colour, short(c.label, 60));
      key('lanes-failed', '', 'failed');
      key('lanes-killed', '', 'killed');
    }
    if (heat) parts.push(element('span', { class: 'lanes-key' }, '0 %', element('span', { class: 'lanes-scale' }), '100 % of slots taken'));
    this.legend.replaceChildren(...parts);
  },

  // point handles the pointer over everything that has the time axis.
  point() {
    const { main } = this;
    const fingers = new Map();
    let drag = null;
    const place = (e) => {
      const box = main.getBoundingClientRect();
      return [e.clientX - box.left, e.clientY - box.top];
    };
    const viewAt = (e) => this.shown.find((v) => v.canvas === e.target || v.plot === e.target);
    const inPlot = (x) => x >= this.gutter && x <= this.gutter + this.plot;

    main.addEventListener('wheel', (e) => {
      const [x] = place(e);
      if (!inPlot(x)) return;
      if (e.ctrlKey || e.metaKey) {
        e.preventDefault();
        this.scale(Math.exp(Math.max(-200, Math.min(200, e.deltaY)) * 0.004), this.time(x), false);
      } else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
        e.preventDefault();
        this.pan((e.deltaX || e.deltaY) / this.plot, false);
      }
    }, { passive: false });

    main.addEventListener('dblclick', (e) => {
      if (inPlot(place(e)[0]) && e.target.tagName === 'CANVAS') this.zoom(...this.whole);
    });

    main.addEventListener('pointerdown', (e) => {
      if (e.target.tagName !== 'CANVAS' || (e.pointerType === 'mouse' && e.button !== 0)) return;
      const [x] = place(e);
      fingers.set(e.pointerId, x);
      if (e.pointerType === 'mouse') e.preventDefault(); // no text is selected
      viewAt(e)?.plot.focus({ preventScroll: true, focusVisible: false });
      if (fingers.size === 2) {
        const [a, b] = [...fingers.values()];
        drag = { what: 'pinch', apart: Math.max(Math.abs(a - b), 8), t: this.time((a + b) / 2), from: this.from, to: this.to };
        this.band.hidden = true;
        return;
      }
      if (!inPlot(x) && e.target !== this.overview) return;
      drag = { what: e.pointerType === 'touch' || e.shiftKey ? 'pan' : 'brush', x, from: this.from, to: this.to, moved: false, target: e.target };
      if (e.target === this.overview) {
        const [from, to] = this.whole;
        const at = (t) => this.gutter + ((t - from) / (to - from)) * this.plot;
        const [a, b] = [at(this.from), at(this.to)];
        const all = this.from === from && this.to === to;
        drag.what = Math.abs(x - a) < 8 ? 'left' : Math.abs(x - b) < 8 ? 'right' : x > a && x < b && !all ? 'window' : 'over';
      }
      if (e.target.setPointerCapture) e.target.setPointerCapture(e.pointerId);
    });

    main.addEventListener('pointermove', (e) => {
      const [x, y] = place(e);
      if (fingers.has(e.pointerId)) fingers.set(e.pointerId, x);
      if (!drag) {
        this.hoverAt(e, x, y, viewAt(e));
        return;
      }
      if (drag.what === 'pinch') {
        const [a, b] = [...fingers.values()];
        if (b === undefined) return;
        const factor = drag.apart / Math.max(Math.abs(a - b), 8);
        const length = (drag.to - drag.from) * factor;
        const share = ((a + b) / 2 - this.gutter) / this.plot;
        this.zoom(drag.t - share * length, drag.t + (1 - share) * length, false);
        return;
      }
      if (Math.abs(x - drag.x) > 4) drag.moved = true;
      if (!drag.moved) return;
      this.hideTip();
      this.cross.hidden = true;
      const [from, to] = this.whole;
      const overTime = (at) => from + ((at - this.gutter) / this.plot) * (to - from);
      const by = overTime(x) - overTime(drag.x);
      switch (drag.what) {
        case 'pan': {
          const shift = ((drag.x - x) / this.plot) * (drag.to - drag.from);
          this.zoom(drag.from + shift, drag.to + shift, false);
          break;
        }
        case 'window':
          this.zoom(drag.from + by, drag.to + by, false);
          break;
        case 'left':
          this.zoom(Math.min(drag.from + by, drag.to - 20), drag.to, false);
          break;
        case 'right':
          this.zoom(drag.from, Math.max(drag.to + by, drag.from + 20), false);
          break;
        default:
          this.showBand(drag, x, drag.what === 'over' ? overTime : (at) => this.time(at));
      }
    });

    const end = (e) => {
      fingers.delete(e.pointerId);
      const d = drag;
      if (!d || (d.what === 'pinch' && fingers.size > 0)) return;
      drag = null;
      this.band.hidden = true;
      if (e.type === 'pointercancel') return;
      const [x, y] = place(e);
      if (d.moved && d.range) this.zoom(...d.range);
      else if (!d.moved) this.click(d.target, x, e.clientY - d.target.getBoundingClientRect().top, y);
    };
    main.addEventListener('pointerup', end);
    main.addEventListener('pointercancel', end);
    main.addEventListener('pointerleave', () => this.leave());
  },

  showBand(drag, x, timeAt) {
    const edge = Math.min(Math.max(x, this.gutter), this.gutter + this.plot);
    const [a, b] = [Math.min(drag.x, edge), Math.max(drag.x, edge)];
    drag.range = [timeAt(a), timeAt(b)];
    this.band.hidden = false;
    this.band.style.left = a + 'px';
    this.band.style.width = b - a + 'px';
    this.band.firstChild.textContent = time(drag.range[1] - drag.range[0]);
  },

  // click selects what is at a place.
  click(canvas, x, y) {
    const view = this.shown.find((v) => v.canvas === canvas);
    if (!view) return;
    const at = view.at(x, y);
    if (!at) {
      this.select(null);
    } else if (at.job !== undefined) {
      this.pickJob(view.trial.jobs[at.job].id);
    } else if (at.row) {
      // A place on a heat map is looked at more closely.
      const rack = view.trial.racks[at.row.rack];
      if (!view.trial.grid && view.layout.nodes.length > mostNodes && this.rack === '') this.pickRack(rack);
      this.scale(0.25, at.t);
    } else if (!at.note) {
      this.select(at.bar >= 0 ? { view, bar: at.bar } : null);
    }
  },

  leave() {
    this.cross.hidden = true;
    this.hideTip();
    if (this.hover) {
      this.hover = null;
      this.draw();
    }
  },

  hideTip() {
    this.tip.hidden = true;
  },

  // hoverAt shows the time and what is at a place.
  hoverAt(e, x, y, view) {
    if (x < this.gutter || x > this.gutter + this.plot || e.target === this.overview) {
      this.leave();
      return;
    }
    const t = this.time(x);
    this.cross.hidden = false;
    this.cross.style.transform = `translateX(${Math.round(x)}px)`;
    this.cross.firstChild.textContent = moment(t, this.ticks.step / 20);
    const at = view ? view.at(x, e.clientY - view.canvas.getBoundingClientRect().top) : null;
    const hover = at?.node === undefined ? null : { view, bar: at.bar, node: at.node };
    const same = this.hover?.view === hover?.view && this.hover?.bar === hover?.bar && this.hover?.node === hover?.node;
    this.hover = hover;
    if (!same) this.draw();
    if (view) view.canvas.style.cursor = at && (at.bar >= 0 || at.job !== undefined || at.row) ? 'pointer' : 'crosshair';
    this.showTip(e, view, at);
  },

  showTip(e, view, at) {
    const lines = at ? this.tipLines(view, at) : [];
    this.tip.hidden = lines.length === 0;
    if (!lines.length) return;
    this.tip.replaceChildren(...lines.map((text, k) => element(k ? 'div' : 'b', {}, short(text, 160))));
    const box = this.root.getBoundingClientRect();
    const [w, h] = [this.tip.offsetWidth, this.tip.offsetHeight];
    let [x, y] = [e.clientX + 14, e.clientY + 16];
    if (x + w > document.documentElement.clientWidth - 8) x = Math.max(8, e.clientX - w - 12);
    if (y + h > innerHeight - 8) y = e.clientY - h - 12;
    this.tip.style.transform = `translate(${x - box.left}px, ${y - box.top}px)`;
  },

  tipLines(view, at) {
    const { trial } = view;
    if (at.note) return [moment(at.note.from, 10), at.note.text];
    if (at.job !== undefined) {
      const j = trial.jobs[at.job];
      return [`${j.name || 'job'} · ${j.id}`, tasksOf(j), `${moment(j.submit, 10)} to ${Number.isNaN(j.end) ? 'after the trace' : moment(j.end, 10)}${Number.isNaN(j.end) ? '' : `, ${time(j.end - j.submit)}`}`];
    }
    if (at.row) {
      const names = at.row.nodes.map((k) => trial.nodes[k].name);
      const cell = view.cells && view.cells.cells[view.layout.rows.indexOf(at.row) * view.cells.columns + Math.floor((at.t - this.from) / (this.to - this.from) * view.cells.columns)];
      const text = Number.isNaN(cell) || cell === undefined ? 'nothing runs' : `${share(cell, 1)} of slots taken`;
      return [names.length > 1 ? `${names.length} nodes: ${short(names[0], 24)} … ${short(names.at(-1), 24)}` : names[0], text];
    }
    if (at.bar >= 0) {
      const i = at.bar;
      const words = [`${attemptTitle(trial, i)} of ${trial.jobs[trial.job[i]].name || trial.jobs[trial.job[i]].id}`, `${place(trial, i)}, ${moment(trial.from[i], 10)}, took ${time(trial.lasts[i])}`];
      if (!trial.isReduce(i)) words.push(`${trial.isSpark(i) ? 'locality' : 'input'}: ${trial.level(i)}`);
      if (trial.outcome(i) !== 1) words.push(outcomeNames[trial.outcome(i)]);
      const mark = trial.marks.find((m) => m.what === 'slow' && m.node === trial.node[i] && m.from < trial.to[i] && m.to > trial.from[i]);
      if (mark) words.push(`the node ${mark.text} from ${moment(mark.from, 10)}`);
      const d = trial.decision[i];
      if (d && trial.strings[trial.decisions.reason[d - 1]]) words.push(`reason: ${trial.strings[trial.decisions.reason[d - 1]]}`);
      return words;
    }
    const [maps, reduces] = trial.head.kindSlots;
    if (!at.master && !at.mark && at.lane < maps + reduces) return [trial.nodes[at.node].name, at.lane < maps ? `map slot ${at.lane + 1} of ${maps}, idle` : `reduce slot ${at.lane - maps + 1} of ${reduces}, idle`];
    if (at.master) return ['ApplicationMaster', `of ${trial.jobs[at.master.job].name || trial.jobs[at.master.job].id}`];
    if (at.mark) return [trial.nodes[at.node].name, at.mark.what === 'down' ? `down${at.mark.text ? ': ' + at.mark.text : ''}` : at.mark.text];
    return [];
  },
});

for (const root of document.querySelectorAll('.lanes')) root.timeline = new App(root);
