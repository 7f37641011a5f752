// Search: words that all have to fit an attempt. A word is a task such as m7, the id of a
// task or attempt, or part of the name of a node, rack, job, user or queue.

// findIn returns which nodes fit a query, and which attempts, in the order of their starts. Of
// a trial without single attempts it returns which jobs fit, in place of attempts.
function findIn(trial, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 8);
  if (!words.length) return null;
  if (trial.grid) {
    const list = trial.jobs.map((j, k) => k).filter((k) => words.every((w) => jobHas(trial.jobs[k], (text) => text.toLowerCase().includes(w))));
    return { bars: new Uint8Array(0), list: [], jobs: list, nodes: new Set() };
  }
  const tests = [];
  const named = new Set();
  for (let k = 0; k < words.length; k++) {
    let word = words[k];
    if (/^(map|reduce)$/.test(word) && /^\d+$/.test(words[k + 1] ?? '')) word += words[++k];
    tests.push(testOf(trial, word, named));
  }
  const bars = new Uint8Array(trial.count);
  const list = [];
  for (let i = 0; i < trial.count; i++) {
    if (tests.every((fits) => fits(i))) {
      bars[i] = 1;
      list.push(i);
    }
  }
  return { bars, list, jobs: [], nodes: named };
}

function jobHas(j, has) {
  return has(j.id) || has(j.name) || has(j.user) || has(j.queue);
}

function testOf(trial, word, named) {
  const task = /^(m|map|r|reduce)(\d+)(?:\.(\d+))?$/.exec(word);
  if (task) {
    const reduce = task[1][0] === 'r';
    // Nodes can be called r1 or m7 too.
    const nodes = new Set(trial.nodes.map((n, k) => k).filter((k) => trial.nodes[k].name.toLowerCase() === word));
    nodes.forEach((k) => named.add(k));
    return (i) => nodes.has(trial.node[i]) || (trial.isReduce(i) === reduce && trial.index[i] === +task[2] && (task[3] === undefined || trial.number[i] === +task[3]));
  }
  const id = /^(?:task|attempt)_(.*)$/.exec(word);
  if (id) return (i) => trial.id(i).toLowerCase().startsWith(id[1]);
  const has = (text) => text.toLowerCase().includes(word);
  const racks = trial.racks.map(has);
  const nodes = trial.nodes.map((n, k) => (has(n.name) || racks[n.rack]) && Boolean(named.add(k)));
  const jobs = trial.jobs.map((j) => jobHas(j, has));
  const kind = word === 'map' || word === 'maps' ? false : word === 'reduce' || word === 'reduces' ? true : null;
  const outcome = outcomeNames.indexOf(word);
  return (i) => nodes[trial.node[i]] || jobs[trial.job[i]] || trial.isReduce(i) === kind || trial.outcome(i) === outcome;
}
