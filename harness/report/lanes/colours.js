// What colours mean. The colours themselves are in the style sheet, for light and for dark.

// Theme has the colours of the style sheet as the canvas takes them.
class Theme {
  constructor(root) {
    const style = getComputedStyle(root);
    this.read = (name) => style.getPropertyValue('--lanes-' + name).trim();
    for (const name of ['ground', 'raised', 'line', 'strong-line', 'text', 'faint', 'accent', 'bad', 'warn']) this[name] = this.read(name);
    this.jobs = Array.from({ length: 10 }, (_, k) => this.read('job' + k));
    this.heat = ramp(Array.from({ length: 5 }, (_, k) => this.read('heat' + k)));
    this.near = ramp(Array.from({ length: 5 }, (_, k) => this.read('near' + k)));
    this.font = style.fontFamily;
    this.patterns = new Map();
  }

  // pattern returns lines across a bar (killed), crossed lines (failed), or dots.
  pattern(context, kind, colour) {
    const key = kind + colour;
    if (!this.patterns.has(key)) {
      const size = kind === 'dots' ? 5 : 7;
      const scale = window.devicePixelRatio || 1;
      const tile = document.createElement('canvas');
      tile.width = tile.height = Math.round(size * scale);
      const c = tile.getContext('2d');
      c.scale(tile.width / size, tile.height / size);
      c.strokeStyle = c.fillStyle = colour;
      c.lineWidth = kind === 'band' ? 1 : 1.6;
      if (kind === 'dots') {
        c.beginPath();
        c.arc(2.5, 2.5, 1, 0, 7);
        c.fill();
      } else {
        c.beginPath();
        for (const k of [-size, 0, size]) {
          c.moveTo(k - 1, size + 1);
          c.lineTo(k + size + 1, -1);
          if (kind === 'cross') {
            c.moveTo(k - 1, -1);
            c.lineTo(k + size + 1, size + 1);
          }
        }
        c.stroke();
      }
      const p = context.createPattern(tile, 'repeat');
      p.setTransform(new DOMMatrix().scale(size / tile.width));
      this.patterns.set(key, p);
    }
    return this.patterns.get(key);
  }
}

// ramp returns a colour for each of 256 steps between colours.
function ramp(stops) {
  const parts = stops.map((hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16)));
  return Array.from({ length: 256 }, (_, i) => {
    const x = (i / 255) * (parts.length - 1);
    const k = Math.min(Math.floor(x), parts.length - 2);
    return parts[k].map((c, n) => Math.round(c + (parts[k + 1][n] - c) * (x - k)));
  });
}

// textOn is black or white, whichever can be read on a colour.
function textOn(hex) {
  const [r, g, b] = [1, 3, 5].map((k) => (parseInt(hex.slice(k, k + 2), 16) / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.3 ? '#101418' : '#ffffff';
}

const mostReasons = 7;

// colourings are what bars can be coloured by. Each has the classes of a page's trials, and
// says of an attempt which class it has.
const colourings = {
  locality: {
    label: 'Locality',
    title: 'how near a map ran to its input',
    classes: (app) => [
      { key: 'cache', label: 'map, input in the node’s cache', short: 'cache', colour: app.theme.read('cache') },
      { key: 'node', label: 'on the node’s disk', short: 'node', colour: app.theme.read('node') },
      { key: 'rack', label: 'in the rack', short: 'rack', colour: app.theme.read('rack') },
      { key: 'off', label: 'in another rack', short: 'off', colour: app.theme.read('off') },
      { key: 'unknown', label: 'not known', short: 'unknown', colour: app.theme.read('unknown'), dots: true },
      { key: 'reduce', label: 'reduce', short: 'reduce', colour: app.theme.read('reduce'), edge: true },
    ],
    of: (trial, i) => (trial.isReduce(i) ? 5 : [4, 0, 1, 2, 3][Math.min(trial.replica(i), 4)]),
  },
  job: {
    label: 'Job',
    title: 'which job an attempt is of',
    classes: (app) => {
      const jobs = app.shown.reduce((a, v) => (v.trial.jobs.length > a.length ? v.trial.jobs : a), []);
      const few = jobs.length <= app.theme.jobs.length;
      return app.theme.jobs.slice(0, few ? Math.max(jobs.length, 1) : undefined).map((colour, k) => ({
        key: 'job' + k, colour, label: few ? jobTitle(jobs[k]) : '', short: few ? jobTitle(jobs[k]) : '', quiet: !few,
      }));
    },
    note: (app) => (app.shown.some((v) => v.trial.jobs.length > app.theme.jobs.length) ? `${app.theme.jobs.length} colours, given to jobs in turn` : ''),
    of: (trial, i) => trial.job[i] % 10,
  },
  phase: {
    label: 'Phase',
    title: 'what an attempt does at the time',
    classes: (app) => [
      { key: 'map', label: 'map: read and map', short: 'map', colour: app.theme.read('map') },
      { key: 'merge', label: 'map: merge', short: 'merge', colour: app.theme.read('merge') },
      { key: 'shuffle', label: 'reduce: shuffle', short: 'shuffle', colour: app.theme.read('shuffle') },
      { key: 'sort', label: 'reduce: sort', short: 'sort', colour: app.theme.read('sort') },
      { key: 'write', label: 'reduce: reduce and write', short: 'reduce', colour: app.theme.read('write') },
      { key: 'plain', label: 'attempt without phases', short: 'no phases', colour: app.theme.read('reduce'), edge: true },
    ],
    of: (trial, i) => (trial.part1[i] === 0 ? 5 : trial.isReduce(i) ? 2 : 0),
    // parts returns the pieces of a bar: class and end of each.
    parts: (trial, i) => {
      const from = trial.from[i];
      const [one, two] = [trial.part1[i], trial.part2[i]].map((p) => from + p - 1);
      if (trial.part1[i] === 0) return [[5, trial.to[i]]];
      if (!trial.isReduce(i)) return [[0, one], [1, trial.to[i]]];
      return trial.part2[i] === 0 ? [[2, one], [4, trial.to[i]]] : [[2, one], [3, Math.max(one, two)], [4, trial.to[i]]];
    },
  },
  reason: {
    label: 'Reason',
    title: 'the reason that the scheduler model gave for its decision',
    classes: (app) => {
      app.reasons = commonReasons(app);
      return [
        ...app.reasons.map((text, k) => ({ key: 'reason' + k, label: text, short: text, colour: app.theme.jobs[k] })),
        { key: 'others', label: app.reasons.length < mostReasons ? '' : 'another reason', short: 'other', colour: app.theme.jobs[mostReasons], absent: app.reasons.length < mostReasons },
        { key: 'none', label: 'no decision in the trace', short: 'none', colour: app.theme.read('reduce'), edge: true },
      ];
    },
    of: (trial, i, app) => {
      const d = trial.decision[i];
      if (!d) return app.reasons.length + 1;
      const k = app.reasons.indexOf(trial.strings[trial.decisions.reason[d - 1]] || 'no reason given');
      return k < 0 ? app.reasons.length : k;
    },
  },
};

function jobTitle(job) {
  return job ? `${short(job.name || 'job', 40)} (${short(job.id, 40)})` : '';
}

// commonReasons returns the most frequent reasons of the trials that are shown.
function commonReasons(app) {
  const count = new Map();
  for (const { trial } of app.shown) {
    for (const r of trial.decisions.reason) {
      const text = trial.strings[r] || 'no reason given';
      count.set(text, (count.get(text) ?? 0) + 1);
    }
  }
  return [...count].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, mostReasons).map(([text]) => text);
}
