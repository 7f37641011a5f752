// How numbers are written.

// time writes a time in ms as in heddle's tables: 35.2 ms, 6.98 s, from a minute on 12m34s.
function time(ms) {
  if (Number.isNaN(ms)) return '-';
  const sign = ms < 0 ? '-' : '';
  ms = Math.abs(ms);
  if (ms === 0) return '0 s';
  if (ms < 999.5) return `${sign}${Math.round(ms)} ms`;
  if (ms < 59_995) return `${sign}${(ms / 1000).toFixed(2)} s`;
  const s = Math.round(ms / 1000);
  const [h, m] = [Math.floor(s / 3600), Math.floor(s / 60) % 60];
  return `${sign}${h ? h + 'h' : ''}${m}m${s % 60}s`;
}

// exact writes a time as time does, and from a minute on also in seconds.
function exact(ms) {
  return Math.abs(ms) >= 59_995 ? `${time(ms)} (${(ms / 1000).toFixed(ms < 1e6 ? 2 : 0)} s)` : time(ms);
}

// moment writes a time on the axis, with as many digits as a step between two needs.
function moment(ms, step) {
  const sign = ms < 0 ? '-' : '';
  const s = Math.abs(ms) / 1000;
  const digits = step >= 1000 ? 0 : Math.min(3, Math.ceil(-Math.log10(step / 1000) - 1e-9));
  if (s < 60 || (step < 1000 && s < 600)) return `${sign}${s.toFixed(digits)} s`;
  const whole = digits ? Math.floor(s) : Math.round(s);
  const [h, m, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const seconds = digits ? (rest + (s - whole)).toFixed(digits) + 's' : step < 60_000 || rest ? rest + 's' : '';
  return sign + (h ? `${h}h` : '') + (h || m ? (m || seconds || !h ? `${m}m` : '') : '') + seconds;
}

const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3, 1800e3, 3600e3, 7200e3, 10800e3, 21600e3, 43200e3, 86400e3];

// ticks returns the times of ticks between two times, and the step between them.
function ticks(from, to, most) {
  const step = steps.find((s) => (to - from) / s <= most) ?? Math.ceil((to - from) / most / 86400e3) * 86400e3;
  const list = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) list.push(t);
  return { step, list };
}

function bytes(n) {
  if (!(n >= 0)) return '-';
  for (const [unit, size] of [['TiB', 2 ** 40], ['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]]) {
    if (n >= size) return `${three(n / size)} ${unit}`;
  }
  return `${n} B`;
}

function rate(n) {
  if (!(n >= 0)) return '-';
  for (const [unit, size] of [['GB/s', 1e9], ['MB/s', 1e6], ['kB/s', 1e3]]) {
    if (n >= size) return `${three(n / size)} ${unit}`;
  }
  return `${Math.round(n)} B/s`;
}

// three writes a number with three digits.
function three(x) {
  if (Number.isNaN(x)) return '-';
  return Math.abs(x) >= 100 ? whole(x) : String(+x.toPrecision(3));
}

function whole(x) {
  return Math.round(x).toLocaleString('en');
}

function share(part, of) {
  return of ? `${Math.round((100 * part) / of)} %` : '-';
}

function plural(n, word, words = word + 's') {
  return `${whole(n)} ${n === 1 ? word : words}`;
}

// quoted writes a word as a shell takes it.
function quoted(word) {
  return /^[\w./:@%+=,][\w./:@%+=,-]*$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

// short cuts a text for a place that has room for so many letters.
function short(text, most) {
  return text.length > most ? text.slice(0, Math.max(1, most - 1)) + '…' : text;
}
