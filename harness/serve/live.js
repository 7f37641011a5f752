// What the page of a run that goes on does: it shows what the run says of itself. When
// a trial has ended, the page is loaded again, or offers to be, once the reader has
// begun to work with it. When the run has ended, it is loaded for the last time.
(() => {
'use strict';
const box = document.querySelector('.live');
const news = box.querySelector('.news');
const make = (name, text) => Object.assign(document.createElement(name), { textContent: text });
const patience = 5000; // ms that a page stands at least

let touched = false;
for (const kind of ['pointerdown', 'keydown', 'wheel']) addEventListener(kind, () => { touched = true; }, { passive: true, capture: true });

const reload = () => location.reload();
let planned = 0;
const renew = () => {
  if (!touched) {
    planned ||= setTimeout(() => { planned = 0; if (!touched) reload(); else offer(); }, Math.max(0, patience - performance.now()));
    return;
  }
  offer();
};
const offer = () => {
  if (news.querySelector('button')) return;
  const button = make('button', 'Show them');
  button.type = 'button';
  button.addEventListener('click', reload);
  news.replaceChildren('More trials have ended.', button);
};

const source = new EventSource('events');
source.addEventListener('state', (event) => {
  const now = JSON.parse(event.data);
  const doing = box.querySelector('.doing');
  if (doing.textContent !== now.doing) doing.textContent = now.doing; // it is read out
  box.querySelector('progress').value = now.share;
  if (now.facts) {
    box.querySelector('dl').replaceChildren(...now.facts.map(([name, value]) => {
      const row = document.createElement('div');
      row.append(make('dt', name), make('dd', value));
      return row;
    }));
  }
  if (now.ended) {
    source.close();
    if (now.ended === 'done') reload();
    return;
  }
  if (now.version !== box.dataset.version) renew();
  else if (news.textContent.startsWith('The connection')) news.replaceChildren();
});
source.addEventListener('error', () => {
  news.replaceChildren(source.readyState === EventSource.CLOSED
    ? 'This page does not follow the run any more. Load it again to see where the run is.'
    : 'The connection to heddle is lost. Trying again.');
});
})();
