// What the reader chose, kept behind the # of the address: name=value pairs joined by &. Parts
// of others, such as the name of a chapter, are left as they are.

const ownNames = ['t', 'w', 'm', 'r', 'by', 'heat', 'rack', 'job', 'q', 'sel', 'ghosts', 'theme'];

function readAddress() {
  const own = {};
  for (const part of location.hash.slice(1).split('&')) {
    const [name, value] = part.split(/=(.*)/s);
    if (value === undefined || !ownNames.includes(name)) continue;
    try {
      own[name] = decodeURIComponent(value);
    } catch {
      // not written by this page
    }
  }
  return own;
}

function writeAddress(values) {
  const foreign = location.hash.slice(1).split('&').filter((part) => part && !ownNames.includes(part.split('=')[0]));
  const own = ownNames.filter((name) => values[name]).map((name) => `${name}=${encodeURIComponent(values[name]).replace(/%2C/g, ',').replace(/%3A/g, ':')}`);
  const hash = [...foreign, ...own].join('&');
  if ('#' + hash === location.hash || (!hash && !location.hash)) return;
  try {
    history.replaceState(history.state, '', hash ? '#' + hash : location.pathname + location.search);
  } catch {
    // some browsers limit how often an address may change
  }
}
