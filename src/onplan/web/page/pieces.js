// Small pieces of messages: a todo's mark, a todo list among arguments, a diff, text cut to a few lines.

import { h, icon } from './dom.js';
import { counted, number } from './words.js';

const FOLD_CHARACTERS = 1200;
const STATUS_WORDS = { pending: 'to do', in_progress: 'in progress', completed: 'done' };
const DIFF_LINES = { '+': 'plus', '-': 'minus', '@': 'quiet' };

export function mediaLine(medium) {
  return h('p', { class: 'quiet' }, `${medium.media_type}, ${number(medium.size)} bytes${medium.name ? `: ${medium.name}` : ''}`);
}

export function diffLines(diff) {
  return h('pre', {}, diff.split('\n').map((line) => h('span', { class: DIFF_LINES[line[0]] ?? '' }, `${line}\n`)));
}

export function cutTo(text, lines) {
  let end = -1;
  for (let line = 0; line < lines; line++) {
    end = text.indexOf('\n', end + 1);
    if (end < 0) break;
  }
  const few = end < 0 || end >= text.length - 1 ? text : text.slice(0, end);
  return few.length > FOLD_CHARACTERS ? few.slice(0, FOLD_CHARACTERS) : few;
}

export function allWords(text) {
  const lines = text.split('\n').length;
  return lines > 1 ? counted(lines, 'line') : counted(text.length, 'character');
}

export function isTodoList(value) {
  return Array.isArray(value) && value.length > 0 && value.every((item) => item !== null && typeof item === 'object' && contentOf(item) !== undefined);
}

function contentOf(item) {
  const content = item.content ?? item.text ?? item.step;
  return typeof content === 'string' ? content : undefined;
}

export function todoArgument(items) {
  return h('ul', { class: 'todo-argument' }, items.map((item) => h('li', { class: isStatus(item.status) ? item.status : 'odd' },
    statusMark(item.status), h('span', {}, contentOf(item)), isStatus(item.status) ? null : h('code', {}, JSON.stringify(item.status)))));
}

export function statusMark(status) {
  const known = isStatus(status);
  return h('span', { class: `mark ${known ? status : 'odd'}`, role: 'img', 'aria-label': known ? STATUS_WORDS[status] : 'unknown status' },
    status === 'completed' ? icon('check') : null);
}

// A model may send anything: "constructor", a list.
function isStatus(value) {
  return typeof value === 'string' && Object.hasOwn(STATUS_WORDS, value);
}
