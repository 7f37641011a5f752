// Search: the words that are typed are looked up in index.js, which the page loads at the
// first use. "/" goes to the field, Escape closes what was found.
(() => {
'use strict';
const top = document.documentElement.dataset.top;
const make = (name, props = {}, ...children) => {
  const e = Object.assign(document.createElement(name), props);
  e.append(...children);
  return e;
};
const input = make('input', { type: 'search', placeholder: 'Search: /' });
input.setAttribute('aria-label', 'Search all pages');
const count = make('span', { className: 'count' });
count.setAttribute('role', 'status');
const found = make('ul', { className: 'found', hidden: true });
const box = make('div', { className: 'search' }, input, count, found);
box.setAttribute('role', 'search');
document.querySelector('.to-pages').before(box);

const most = 20; // results that are shown
const excerpt = 140;
const look = () => {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  found.hidden = !words.length;
  found.replaceChildren();
  count.textContent = '';
  if (!words.length || !window.siteIndex) return;
  const hits = [];
  for (const [to, name, text] of window.siteIndex) {
    const low = `${name} ${text}`.toLowerCase();
    if (!words.every((w) => low.includes(w))) continue;
    const title = name.toLowerCase();
    const last = title.split(' – ').pop();
    const inTitle = words.filter((w) => title.includes(w)).length;
    hits.push([(last === words.join(' ') ? 100 : 0) + inTitle, to, name, text]);
  }
  hits.sort((a, b) => b[0] - a[0]); // of equal ones the order stays
  count.textContent = `${hits.length} found`;
  for (const [, to, name, text] of hits.slice(0, most)) {
    const at = Math.max(0, text.toLowerCase().indexOf(words[0]) - 40);
    found.append(make('li', {}, make('a', { href: top + to, textContent: name }), make('span', { textContent: (at ? '… ' : '') + text.slice(at, at + excerpt) })));
  }
  if (!hits.length) found.append(make('li', { textContent: 'Nothing has all these words.' }));
};
let asked = false;
input.addEventListener('focus', () => {
  if (asked) return;
  asked = true;
  const script = make('script', { src: `${top}index.js` });
  script.addEventListener('load', look);
  document.head.append(script);
});
input.addEventListener('input', look);
document.addEventListener('keydown', (event) => {
  const typing = event.target.matches('input, textarea');
  if (event.key === '/' && !typing) {
    event.preventDefault();
    input.focus();
  } else if (event.key === 'Escape' && box.contains(document.activeElement)) {
    found.hidden = true;
    input.focus();
  } else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && box.contains(document.activeElement)) {
    const stops = [input, ...found.querySelectorAll('a')];
    const next = stops.indexOf(document.activeElement) + (event.key === 'ArrowDown' ? 1 : -1);
    event.preventDefault();
    stops[Math.max(0, Math.min(stops.length - 1, next))].focus();
  }
});
document.addEventListener('click', (event) => { if (!box.contains(event.target)) found.hidden = true; });
})();
