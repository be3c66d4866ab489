// The keyboard, and the sheet that explains it.

import { append, button, h, icon } from './dom.js';
import { JUMPS } from './run.js';

const SHEET = [
  ['Play and step', [
    ['Space', 'play or pause'], ['← →', 'one step'], ['Shift ← →', 'ten steps'],
    ['Home End', 'first, last step'], ['− +', 'slower, faster'],
  ]],
  ['Jump', [
    ['w', 'next write of the plan'], ['r', 'next reminder'], ['e', 'next error or refusal'], ['a', 'next approval'],
    ['c', 'next compaction'], ['n', 'next key step of any kind'], ['Shift', 'with these: the previous one'],
    ['[ ]', 'previous, next phase'],
  ]],
  ['View', [
    ['/', 'search'], ['1 2', 'run, tools'], ['z', 'only what is around this step'],
    ['l', 'copy a link to this step'], ['t', 'light or dark'], ['?', 'this sheet'], ['Esc', 'close, leave a field'],
  ]],
];
const JUMP_KEYS = { w: JUMPS.write, r: JUMPS.reminder, e: JUMPS.error, a: JUMPS.approval, c: JUMPS.compaction, n: null };

// actions: { player, jump(kinds, direction), phase(direction), showTab(name), flipTheme(), copyLink(), zoom(), search(), sheet() }
export function bindKeys(actions) {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const act = actionOf(event, actions);
    if (!act) return;
    event.preventDefault();
    act();
  });
}

function isTyping(target) {
  if (target.closest('dialog[open]')) return true;
  return target.matches('input:not([type=checkbox]), textarea, select, [contenteditable]');
}

function actionOf(event, actions) {
  const { player } = actions;
  const onButton = event.target.closest('button, summary, a, [role=switch]');
  const tabs = event.target.closest('[role=tablist]');
  const key = event.key.toLowerCase();
  if (key in JUMP_KEYS) return () => actions.jump(JUMP_KEYS[key], event.shiftKey ? -1 : 1);
  switch (event.key) {
    case ' ': return onButton ? null : () => player.toggle();
    case 'ArrowRight': return tabs ? null : () => player.move(event.shiftKey ? 10 : 1);
    case 'ArrowLeft': return tabs ? null : () => player.move(event.shiftKey ? -10 : -1);
    case 'Home': return () => player.move(-Infinity);
    case 'End': return () => player.move(Infinity);
    case 'PageDown': return event.target.id === 'slider' ? () => player.move(10) : null;
    case 'PageUp': return event.target.id === 'slider' ? () => player.move(-10) : null;
    case '+': case '=': return () => player.faster(1);
    case '-': return () => player.faster(-1);
    case '[': return () => actions.phase(-1);
    case ']': return () => actions.phase(1);
    case 'z': return actions.zoom;
    case '/': return actions.search;
    case '1': return () => actions.showTab('run');
    case '2': return () => actions.showTab('tools');
    case 'l': return actions.copyLink;
    case 't': return actions.flipTheme;
    case '?': return actions.sheet;
    default: return null;
  }
}

export function fillSheet(dialog) {
  append(dialog, [
    h('div', { class: 'panel-head' }, h('h2', { id: 'keys-title' }, 'Keyboard'),
      button('', () => dialog.close(), { class: 'icon', 'aria-label': 'Close' }, icon('close'))),
    h('div', { class: 'sheet' }, SHEET.map(([title, keys]) => h('section', {}, h('h3', {}, title),
      h('dl', {}, keys.map(([name, words]) => [h('dt', {}, name.split(' ').map((key) => h('kbd', {}, key))), h('dd', {}, words)]))))),
  ]);
}
