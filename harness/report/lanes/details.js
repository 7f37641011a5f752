// The panel about one attempt, and the table of attempts. All data are text nodes.

// element makes an element. Attributes that are functions listen to an event.
function element(name, attributes = {}, ...children) {
  const e = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === 'function') e.addEventListener(key, value);
    else if (value === true) e.setAttribute(key, '');
    else if (value !== false && value !== undefined && value !== null) e.setAttribute(key, value);
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== ''));
  return e;
}

const levelWords = {
  cache: 'cache: its block was in the node’s HDFS cache',
  node: 'node: the node had a replica of its block',
  rack: 'rack: the nearest replica was in the node’s rack',
  off: 'off: all replicas were in other racks',
  unknown: 'unknown',
};

// attemptTitle is how an attempt is called in sentences.
function attemptTitle(trial, i) {
  const number = trial.number[i] > 0 ? `, attempt ${trial.number[i]}` : '';
  return `${trial.isSpark(i) ? 'task' : trial.isReduce(i) ? 'reduce' : 'map'} ${trial.index[i]}${number}`;
}

function place(trial, i) {
  return trial.nodes[trial.node[i]].name;
}

// facts returns pairs of a name and what is known of an attempt.
function facts(trial, i) {
  const list = [];
  const add = (name, value) => value !== '' && value !== '-' && list.push([name, value]);
  const job = trial.jobs[trial.job[i]];
  const node = trial.nodes[trial.node[i]];
  const rack = trial.racks[node.rack];
  add('Ran', `${moment(trial.from[i], 10)} to ${moment(trial.to[i], 10)}${trial.outcome(i) === 0 ? ', its end is not in the trace' : ''}`);
  add('Took', exact(trial.lasts[i]));
  // Traces of other tools do not tell when containers were asked for.
  const since = { simulated: 'the submission of the job, with the start of its ApplicationMaster', imported: '' }[trial.entry.origin] ?? 'when the ApplicationMaster asked for it';
  if (trial.isSpark(i)) add('Waited', `${time(trial.waited[i])}, since its stage was submitted`);
  else add('Waited', trial.waited[i] < 0 || !since ? '' : `${time(trial.waited[i])} for a container, from ${since}`);
  const ends = [trial.part1[i], trial.part2[i]].filter((p) => p > 0).map((p) => p - 1);
  const parts = trial.isReduce(i) ? (ends.length > 1 ? ['shuffle', 'sort', 'reduce and write'] : ['shuffle', 'the rest']) : ['read and map', 'merge'];
  if (ends.length) add('Phases', [...ends, trial.lasts[i]].map((end, k) => `${parts[k]} ${time(Math.max(0, end - (ends[k - 1] ?? 0)))}`).join(', '));
  add('On', `${node.name}${rack === 'no rack' ? '' : ', rack ' + rack}, lane ${trial.lane[i] + 1} of ${node.lanes}`);
  add('Job', `${job.name || 'unnamed'}, ${job.id}`);
  if (trial.isSpark(i)) {
    add('Locality', `${trial.level(i)}, as Spark counts`);
    if (trial.shuffled[i] > 0) add('Fetched', bytes(trial.shuffled[i]));
  } else if (!trial.isReduce(i)) {
    add('Input', levelWords[levelNames[Math.min(trial.replica(i), 4)]]);
    if (trial.split(i) > 0) add('By its split', levelNames[Math.min(trial.split(i), 4)]);
  }
  add(trial.isReduce(i) ? 'Fetched' : 'Read', bytes(trial.isReduce(i) ? trial.shuffled[i] : trial.read[i]));
  add(trial.isReduce(i) ? 'Wrote' : 'Put out', bytes(trial.written[i]));
  add('CPU time', trial.busy[i] < 0 ? '' : time(trial.busy[i]));
  if (trial.isSpeculative(i)) add('Speculative', 'yes: started beside a running attempt of the same task');
  const d = trial.decision[i] - 1;
  if (d >= 0) {
    const { id, before, reason, outcome, asked, bind } = trial.decisions;
    add('Decision', `number ${id[d]} at ${moment(trial.from[i] - before[d], 10)}${trial.strings[reason[d]] ? ', reason: ' + trial.strings[reason[d]] : ''}`);
    add('Carried out', `${trial.strings[outcome[d]]}${asked[d] >= 0 ? `, container after ${time(asked[d])}` : ''}`);
    if (bind[d] > 0 && !trial.isReduce(i)) add('Expected', bind[d] === 1 ? `map ${trial.index[i]}, as it came` : `map ${bind[d] - 2}, but map ${trial.index[i]} came`);
  }
  add('Error', trial.strings[trial.error[i]] ?? '');
  add('Attempt', (trial.isSpark(i) ? '' : 'attempt_') + trial.id(i));
  if (trial.base !== 0) add('Trace’s clock', `${moment(trial.from[i] + trial.base, 10)}, as in heddle trace`);
  return list;
}

// neighbours returns the attempts before and after one, on its node and of its job.
function neighbours(trial, i) {
  const around = (list) => {
    const k = list.indexOf(i);
    return [list[k - 1] ?? -1, list[k + 1] ?? -1];
  };
  return { node: around(trial.ofNode[trial.node[i]]), job: around(trial.jobs[trial.job[i]].bars) };
}

// showDetails fills the panel: with the selected attempt, or with what is in view.
function showDetails(app) {
  const body = app.details;
  body.replaceChildren();
  const { sel } = app;
  app.root.classList.toggle('lanes-selected', Boolean(sel));
  if (!sel) {
    overall(app, body);
    return;
  }
  const { trial } = sel.view;
  const i = sel.bar;
  const job = trial.jobs[trial.job[i]];
  const outcome = outcomeNames[trial.outcome(i)];
  const cls = app.classes[colourings[app.colour].of(trial, i)];
  const swatch = element('span', { class: 'lanes-swatch' });
  swatch.style.background = cls?.colour ?? app.theme.soft;
  const close = element('button', { class: 'lanes-icon', type: 'button', 'aria-label': 'Clear the selection', title: 'Clear the selection (Esc)', click: () => app.select(null) }, '✕');
  body.append(
    element('header', {},
      element('h3', {}, swatch, `${attemptTitle(trial, i)} `, element('span', { class: 'lanes-of' }, `of ${short(job.name || job.id, 60)}`)),
      close),
    element('p', { class: 'lanes-where' }, element('span', { class: `lanes-badge lanes-${outcome}` }, outcome), ` ${trial.title}`),
  );
  const why = trial.why(i);
  if (why.length) {
    body.append(element('h4', {}, 'Why here'), element('ul', { class: 'lanes-why' }, why.map((s) => element('li', {}, s))));
  } else if (trial.whyCount.length === 0 && app.reasoned && !trial.isSpark(i)) {
    body.append(element('p', { class: 'lanes-hint' }, `This page has no reasons for this trial. On a terminal: heddle trace why FILE ${'task_' + trial.id(i).replace(/_\d+$/, '')}`));
  }
  const list = element('dl', {});
  for (const [name, value] of facts(trial, i)) {
    const what = element('dd', {});
    if (name === 'Job') {
      what.append(element('button', { type: 'button', class: 'lanes-link', title: 'Show this job alone', click: () => app.pickJob(job.id) }, short(job.name || 'unnamed', 200)), ` ${job.id}`);
    } else {
      what.append(value);
    }
    if (/^(Attempt|Error)$/.test(name)) what.className = 'lanes-mono';
    list.append(element('div', {}, element('dt', {}, name), what));
  }
  body.append(list);
  const step = (text, label, k) => element('button', { type: 'button', disabled: k < 0, 'aria-label': label, title: label, click: () => app.select({ view: sel.view, bar: k }, true) }, text);
  const { node, job: ofJob } = neighbours(trial, i);
  body.append(element('div', { class: 'lanes-steps' },
    element('span', {}, `On ${short(place(trial, i), 24)}`), step('‹', 'Previous attempt on this node (P)', node[0]), step('›', 'Next attempt on this node (N)', node[1]),
    element('span', {}, 'Of this job'), step('‹', 'Previous attempt of this job (K)', ofJob[0]), step('›', 'Next attempt of this job (J)', ofJob[1])));
  elsewhere(app, body, trial, i);
}

// elsewhere lists other attempts of the task, and the task in other trials.
function elsewhere(app, body, trial, i) {
  const rows = [];
  const reduce = trial.isReduce(i);
  const link = (view, other, k) => {
    const words = `${outcomeNames[other.outcome(k)] === 'succeeded' ? '' : outcomeNames[other.outcome(k)] + ', '}${place(other, k)} at ${moment(other.from[k], 10)}, ${time(other.lasts[k])}${reduce ? '' : ', ' + other.level(k)}`;
    return view
      ? element('button', { type: 'button', class: 'lanes-link', click: () => app.select({ view, bar: k }, true) }, words)
      : words;
  };
  const own = app.shown.find((v) => v.trial === trial);
  for (const k of trial.attemptsOf(trial.job[i], reduce, trial.index[i])) {
    if (k !== i) rows.push([`attempt ${trial.number[k]}`, link(own, trial, k)]);
  }
  const others = app.shown.map((v) => v.trial);
  if (app.recorded && !others.includes(app.recorded)) others.push(app.recorded);
  for (const other of others) {
    if (other === trial || other.entry.workload !== trial.entry.workload) continue;
    const job = trial.twin(trial.job[i], other);
    if (job < 0) continue;
    for (const k of other.attemptsOf(job, reduce, trial.index[i])) {
      rows.push([other.title, link(app.shown.find((v) => v.trial === other), other, k)]);
    }
  }
  if (!rows.length) return;
  body.append(element('h4', {}, 'The same task'), element('dl', {}, rows.map(([name, value]) => element('div', {}, element('dt', {}, short(name, 60)), element('dd', {}, value)))));
}

// tasksOf says how many tasks a job has, or a stage of Spark.
function tasksOf(j) {
  return j.reduces < 0 ? (j.maps > 0 ? plural(j.maps, 'task') : 'of Spark') : `${plural(j.maps, 'map')}, ${plural(j.reduces, 'reduce')}`;
}

// picked says what is known of the job that was picked.
function picked(app, body) {
  const trial = app.jobTrial;
  const j = trial?.jobs[trial.jobPlace.get(app.job)];
  if (!j) return;
  const list = element('dl', {});
  const add = (name, value) => list.append(element('div', {}, element('dt', {}, name), element('dd', {}, value)));
  add('Job', `${short(j.name || 'unnamed', 200)}, ${j.id}`);
  add('Tasks', tasksOf(j));
  if (!Number.isNaN(j.submit)) add('Submitted', moment(j.submit, 10));
  if (!Number.isNaN(j.end)) add('Took', `${time(j.end - j.submit)}, ${outcomeNames[j.outcome] ?? 'unfinished'}`);
  body.append(element('h4', {}, `The job, in ${trial.title}`), list);
  if (trial.grid) body.append(element('p', { class: 'lanes-hint' }, 'A trace of this job alone has bars:'), command(trial, `--job ${quoted(j.id)}`));
}

// command is the command that cuts a part of a trial's trace.
function command(trial, what) {
  return element('p', { class: 'lanes-mono lanes-command' }, `heddle trace cut ${what} -o piece.trace ${quoted(trial.entry.file || 'FILE')}`);
}

// cut says how a reader comes to bars of a trial of which the page has sums only.
function cut(app, body, trial) {
  const jobs = trial.jobs.filter((j) => j.submit >= app.from && j.submit < app.to);
  const tasks = jobs.reduce((sum, j) => sum + j.maps + Math.max(0, j.reduces), 0);
  const words = `${plural(jobs.length, 'job')} with ${plural(tasks, 'task')} ${jobs.length === 1 ? 'was' : 'were'} submitted in view`;
  if (!jobs.length) {
    body.append(element('p', { class: 'lanes-hint' }, 'No job was submitted in view.'));
    return;
  }
  const at = (t) => `${Math.max(0, Math.round(t + trial.base))}ms`;
  body.append(
    element('p', { class: 'lanes-hint' }, tasks > mostBars ? `${words}: still too many for bars (over ${whole(mostBars)}). Zoom in first. The command for the stretch in view:` : `${words}. A trace of these has bars:`),
    command(trial, `--from ${at(Math.floor(app.from))} --to ${at(Math.ceil(app.to))}`));
}

// overall says what is in view of each trial.
function overall(app, body) {
  body.append(
    element('header', {}, element('h3', {}, 'In view')),
    element('p', { class: 'lanes-where' }, `${moment(app.from, app.ticks.step / 10)} to ${moment(app.to, app.ticks.step / 10)} (${time(app.to - app.from)})`),
  );
  for (const { trial } of app.shown) {
    const list = element('dl', {});
    const add = (name, value) => list.append(element('div', {}, element('dt', {}, name), element('dd', {}, value)));
    if (!trial.grid) add('Attempts', `${whole(trial.inView(app.from, app.to))} of ${whole(trial.count)}`);
    add('Running, mean', three(trial.running.mean(app.from, app.to)));
    body.append(element('h4', {}, trial.title), list);
    if (trial.grid && app.job === '') cut(app, body, trial);
  }
  picked(app, body);
  if (!app.folded()) body.append(element('p', { class: 'lanes-hint' }, 'Click a bar, or press Enter in the timeline, to read where and why the attempt ran.'));
}

const tableRows = 200;

// showTable fills the table with the attempts in view, from a place in their list on.
function showTable(app, start = 0) {
  const { table } = app;
  if (!table.open) return;
  const list = [];
  for (const view of app.shown) {
    const { trial } = view;
    const end = above(trial.from, app.to);
    for (let i = 0; i < end; i++) if (trial.to[i] > app.from && !view.dim(i) && view.hasNode(trial.node[i])) list.push([view, i]);
  }
  const rows = list.slice(start, start + tableRows).map(([view, i]) => {
    const { trial } = view;
    const current = app.sel?.view === view && app.sel.bar === i;
    const pick = element('button', { type: 'button', class: 'lanes-link', click: () => app.select({ view, bar: i }, true) }, attemptTitle(trial, i));
    return element('tr', { 'aria-current': current ? 'true' : undefined },
      element('th', { scope: 'row' }, pick), element('td', {}, trial.title), element('td', {}, short(trial.jobs[trial.job[i]].name || trial.jobs[trial.job[i]].id, 60)),
      element('td', {}, short(place(trial, i), 60)), element('td', { class: 'number' }, moment(trial.from[i], 10)), element('td', { class: 'number' }, time(trial.lasts[i])),
      element('td', {}, trial.isReduce(i) ? 'reduce' : trial.level(i)), element('td', {}, outcomeNames[trial.outcome(i)]));
  });
  const folded = app.shown.filter((v) => v.trial.grid).map((v) => v.trial.title);
  const page = (text, from) => element('button', { type: 'button', disabled: from < 0 || from >= list.length, click: () => showTable(app, from) }, text);
  app.tableBody.replaceChildren(
    element('p', {}, list.length ? `${whole(start + 1)} to ${whole(Math.min(start + tableRows, list.length))} of ${plural(list.length, 'attempt')} in view. ` : 'No attempts in view. ',
      folded.length ? `Of ${folded.join(', ')} the page has no single attempts. ` : '', page('Earlier', start - tableRows), ' ', page('Later', start + tableRows)),
    element('div', { class: 'lanes-scroll', tabindex: '0', role: 'region', 'aria-label': 'Attempts in view' }, element('table', {},
      element('thead', {}, element('tr', {}, ['Attempt', 'Trial', 'Job', 'Node', 'Start', 'Took', 'Input', 'Outcome'].map((t) => element('th', { scope: 'col', class: t === 'Start' || t === 'Took' ? 'number' : undefined }, t)))),
      element('tbody', {}, rows))),
  );
}
