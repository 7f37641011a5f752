// What colours mean. The colours themselves are those of the page's style sheet, for light and
// for dark.

// Theme has the colours of the style sheet as the canvas takes them.
class Theme {
  constructor(root) {
    this.probe = root.appendChild(element('i')); // its colour is that of light or of dark
    this.read = (name) => {
      this.probe.style.color = `var(--${name})`;
      return getComputedStyle(this.probe).color;
    };
    for (const name of ['paper', 'raised', 'line', 'axis', 'ink', 'soft', 'link', 'bad', 'notable', 'reduce', 'overview']) this[name] = this.read(name);
    this.jobs = Array.from({ length: 7 }, (_, k) => this.read('c' + (k + 1)));
    this.heat = ramp(['raised', 'heat1', 'heat2'].map(this.read));
    this.font = getComputedStyle(root).fontFamily;
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
      c.lineWidth = 1.6;
      c.beginPath();
      if (kind === 'dots') c.arc(2.5, 2.5, 1, 0, 7);
      else {
        for (const k of [-size, 0, size]) {
          c.moveTo(k - 1, size + 1);
          c.lineTo(k + size + 1, -1);
          if (kind === 'cross') {
            c.moveTo(k - 1, -1);
            c.lineTo(k + size + 1, size + 1);
          }
        }
      }
      if (kind === 'dots') c.fill();
      else c.stroke();
      const p = context.createPattern(tile, 'repeat');
      p.setTransform(new DOMMatrix().scale(size / tile.width));
      this.patterns.set(key, p);
    }
    return this.patterns.get(key);
  }
}

// shares returns how red, green and blue a colour is, from 0 to 255.
function shares(colour) {
  return colour.match(/[\d.]+/g).slice(0, 3).map(Number);
}

// ramp returns a colour for each of 256 steps between colours.
function ramp(stops) {
  const parts = stops.map(shares);
  return Array.from({ length: 256 }, (_, i) => {
    const x = (i / 255) * (parts.length - 1);
    const k = Math.min(Math.floor(x), parts.length - 2);
    return parts[k].map((c, n) => Math.round(c + (parts[k + 1][n] - c) * (x - k)));
  });
}

// textOn is black or white, whichever can be read on a colour.
function textOn(colour) {
  const [r, g, b] = shares(colour).map((x) => (x / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.3 ? '#101418' : '#ffffff';
}

// sparkClass is a class of the legend where tasks of Spark are shown, too, or alone.
function sparkClass(c, k, shown) {
  if (!shown.some((v) => v.trial.spark)) return c;
  const text = ['in the process of its data', 'on its node', 'in its rack', 'anywhere', 'no preference', ''][k];
  if (shown.every((v) => v.trial.sparkAlone)) return text && { ...c, short: ['process', 'node', 'rack', 'any', 'none'][k], label: `Spark: ${text}` };
  return text ? { ...c, label: `${c.label}; Spark: ${text}` } : c;
}

// colourings are what bars can be coloured by: the classes that the legend names, and the class
// of an attempt.
const colourings = {
  Locality: {
    title: 'how near a map ran to its input',
    classes: ({ theme, shown }) => [
      { short: 'cache', label: 'map, input in the node’s cache', colour: theme.read('l1') },
      { short: 'node', label: 'on the node’s disk', colour: theme.read('l2') },
      { short: 'rack', label: 'in the rack', colour: theme.read('l3') },
      { short: 'off', label: 'in another rack', colour: theme.read('l4') },
      { short: 'unknown', label: 'not known', colour: theme.axis, dots: true },
      { short: 'reduce', label: 'reduce', colour: theme.reduce, edge: true },
    ].map((c, k) => sparkClass(c, k, shown)).filter((c) => c),
    of: (trial, i) => (trial.isReduce(i) ? 5 : [4, 0, 1, 2, 3][trial.replica(i)]),
  },
  Job: {
    title: 'which job an attempt is of',
    classes: ({ theme, shown }) => {
      const jobs = shown.reduce((a, v) => (v.trial.jobs.length > a.length ? v.trial.jobs : a), []);
      const few = jobs.length <= theme.jobs.length;
      return theme.jobs.slice(0, few ? jobs.length : undefined).map((colour, k) => ({ colour, label: few ? `${short(jobs[k].name || 'job', 40)} (${short(jobs[k].id, 40)})` : 'jobs in turn' }));
    },
    of: (trial, i) => trial.job[i] % 7,
  },
};
