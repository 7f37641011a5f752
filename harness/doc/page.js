// What a page does besides showing: it switches between light and dark, sorts and
// searches tables, says what a chart has below the pointer, saves charts, and marks the
// section that is read. Texts are set as text and never as HTML.
(() => {
'use strict';
const make = (name, props = {}, ...children) => {
  const e = Object.assign(document.createElement(name), props);
  e.append(...children);
  return e;
};
const each = (selector, f, from = document) => from.querySelectorAll(selector).forEach(f);

// Light and dark: as the system says, or as the reader chose.
const themes = ['auto', 'light', 'dark'];
const recall = () => { try { return localStorage.getItem('heddle-theme'); } catch { return null; } };
const keep = (theme) => { try { localStorage.setItem('heddle-theme', theme); } catch { /* a page of a file may keep nothing */ } };
const themeButton = make('button', { type: 'button' });
const show = (theme) => {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  themeButton.dataset.theme = theme;
  themeButton.textContent = `Colours: ${theme}`;
};
show(themes.includes(recall()) ? recall() : 'auto');
themeButton.addEventListener('click', () => {
  const next = themes[(themes.indexOf(themeButton.dataset.theme) + 1) % themes.length];
  keep(next);
  show(next);
});
document.querySelector('.bar').append(themeButton);

// Tables: a click on a column's name sorts by it, and again turns the order round.
const value = (row, k) => {
  const cell = row.cells[k];
  if (!cell) return '';
  return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
};
const compare = (a, b) => {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1; // numbers before "-"
  return a.localeCompare(b, 'en', { numeric: true });
};
const sortBy = (table, k, header) => {
  const down = header.getAttribute('aria-sort') === 'ascending';
  each('th[aria-sort]', (h) => h.removeAttribute('aria-sort'), table);
  header.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => [value(row, k), row]);
  rows.sort((a, b) => (down ? compare(b[0], a[0]) : compare(a[0], b[0])));
  body.append(...rows.map((r) => r[1]));
};
const searchable = 12; // rows from which on a table can be searched
each('table.sorted', (table) => {
  [...table.tHead.rows[0].cells].forEach((header, k) => {
    const button = make('button', { type: 'button', textContent: header.textContent });
    header.replaceChildren(button);
    button.addEventListener('click', () => sortBy(table, k, header));
  });
  const rows = [...table.tBodies[0].rows];
  if (rows.length <= searchable) return;
  const box = table.parentElement;
  box.classList.add('tall');
  const input = make('input', { type: 'search' });
  const count = make('span', { textContent: `${rows.length} rows` });
  count.setAttribute('role', 'status');
  input.addEventListener('input', () => {
    const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every((w) => text.includes(w));
      shown += !row.hidden;
    }
    count.textContent = `${shown} of ${rows.length} rows`;
  });
  box.before(make('div', { className: 'tools' }, make('label', {}, 'Search rows ', input), count));
});

// Charts: what the rows have at the place of the pointer.
const tipOf = (figure) => figure.querySelector('.tip') || figure.appendChild(make('div', { className: 'tip', hidden: true }));
const number = (v) => (Math.abs(v) >= 1000 ? v.toFixed(0) : String(Number(v.toPrecision(4))));
const across = (svg, event) => {
  const box = svg.getBoundingClientRect();
  return (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
};
// columnAt returns what a chart with columns says at x: the column's place, and a line
// for each row.
const columnAt = (svg, x) => {
  const { columns, left, width } = svg.dataset;
  const k = Math.max(0, Math.min(columns - 1, Math.floor((x - left) / width * columns)));
  const lines = [];
  each('g.row', (row) => {
    const mark = row.querySelector(`[data-column="${k}"]`);
    if (mark) lines.push([row.dataset.name, mark.dataset.says]);
  }, svg);
  return { x: Number(left) + width * (k + 0.5) / columns, lines };
};
// curveAt does the same for a chart of curves, by reading them where they are drawn.
const curveAt = (svg, x) => {
  const [left, right, low, high] = svg.dataset.x.split(' ').map(Number);
  const [bottom, top, least, most] = svg.dataset.y.split(' ').map(Number);
  x = Math.max(left, Math.min(right, x));
  const share = (x - left) / (right - left);
  const at = svg.dataset.log ? low * (high / low) ** share : low + share * (high - low);
  const lines = [];
  each('g.row', (row) => {
    const line = row.querySelector('polyline[stroke-width]'); // those of single repeats have no width
    if (!line || !line.points.numberOfItems) return;
    let y = null;
    let before = null;
    for (const p of line.points) {
      if (p.x > x) {
        if (before) y = svg.dataset.steps === 'true' ? before.y : before.y + (p.y - before.y) * (x - before.x) / (p.x - before.x);
        break;
      }
      before = p;
    }
    if (y === null && svg.dataset.steps === 'true') y = before ? before.y : bottom;
    if (y !== null) lines.push([row.dataset.name, `${number(least + (bottom - y) / (bottom - top) * (most - least))} ${svg.dataset.unit}`]);
  }, svg);
  return { x, lines, head: `${number(at)} ${svg.dataset.xname}` };
};
each('figure.chart', (figure) => {
  const svg = figure.querySelector('svg.plot');
  const box = svg.parentElement;
  let cross = null;
  const leave = () => {
    tipOf(figure).hidden = true;
    cross?.remove();
    cross = null;
  };
  svg.addEventListener('pointermove', (event) => {
    const found = (svg.dataset.x ? curveAt : columnAt)(svg, across(svg, event));
    if (!found.lines.length) return leave();
    cross ??= svg.appendChild(document.createElementNS(svg.namespaceURI, 'line'));
    for (const [name, v] of Object.entries({ class: 'cross', x1: found.x, x2: found.x, y1: svg.dataset.top, y2: svg.dataset.bottom })) cross.setAttribute(name, v);
    const tip = tipOf(figure);
    tip.replaceChildren();
    if (found.head) tip.append(make('b', { textContent: found.head }));
    tip.append(make('table', {}, make('tbody', {}, ...found.lines.map((line) => make('tr', {}, ...line.map((text) => make('td', { textContent: text })))))));
    tip.hidden = false;
    const place = figure.getBoundingClientRect();
    tip.style.left = `${Math.max(0, Math.min(event.clientX - place.left + 14, place.width - tip.offsetWidth))}px`;
    tip.style.top = `${event.clientY - place.top + 16}px`;
  });
  svg.addEventListener('pointerleave', leave);
  const save = make('button', { type: 'button', className: 'save', textContent: 'Save as SVG' });
  save.addEventListener('click', () => {
    leave();
    const copy = svg.cloneNode(true);
    copy.setAttribute('xmlns', svg.namespaceURI);
    const title = document.createElementNS(svg.namespaceURI, 'title');
    title.textContent = svg.getAttribute('aria-label');
    copy.prepend(title);
    const address = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: 'image/svg+xml' }));
    make('a', { href: address, download: 'chart.svg' }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  });
  box.before(save);
});

// The contents mark the section that is read. On a phone they are folded.
if (matchMedia('(max-width:60rem)').matches) each('nav details', (d) => { d.open = false; });
const links = new Map();
each('nav a', (a) => links.set(a.hash.slice(1), a));
const seen = new IntersectionObserver((entries) => {
  for (const e of entries) {
    if (!e.isIntersecting) continue;
    each('nav a[aria-current]', (a) => a.removeAttribute('aria-current'));
    links.get(e.target.getAttribute('aria-labelledby'))?.setAttribute('aria-current', 'true');
  }
}, { rootMargin: '-10% 0px -80% 0px' });
each('#main > section', (s) => seen.observe(s));
})();
