// A list of the trials, until they are drawn.
for (const root of document.querySelectorAll('.lanes')) {
  const list = root.appendChild(document.createElement('ul'));
  for (const trial of JSON.parse(root.querySelector('.lanes-index').textContent)) {
    list.appendChild(document.createElement('li')).textContent = `${trial.name}: ${trial.attempts} attempts`;
  }
}
