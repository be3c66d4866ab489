// Search over messages, calls and todos: a list of hits, and the words marked in the context window.

import { append, h } from './dom.js';
import { argumentsText, textOf } from './run.js';
import { counted } from './words.js';

const SHOWN = 60;
const AROUND = 40;
const ROLE_WORDS = { user: 'you', assistant: 'model', tool: 'tool', note: 'note' };

export class Search {
  // actions: { open(messageIndex), marked() }
  constructor(input, box, run, actions) {
    this.input = input;
    this.box = box;
    this.run = run;
    this.actions = actions;
    this.texts = [];
    this.lower = [];
    this.hits = [];
    this.chosen = -1;
    input.addEventListener('input', () => this.search());
    input.addEventListener('focus', () => this.hits.length && this.expand(true));
    input.addEventListener('keydown', (event) => this.pressed(event));
    input.addEventListener('blur', () => setTimeout(() => this.expand(false), 150));
  }

  get query() {
    return this.input.value.trim().toLowerCase();
  }

  // Each message once; more when the run has grown.
  read() {
    for (let index = this.texts.length; index < this.run.messages.length; index++) {
      this.texts.push(searchable(this.run, index));
      this.lower.push(this.texts[index].toLowerCase());
    }
  }

  search() {
    const { query } = this;
    this.hits = [];
    this.chosen = -1;
    if (query) {
      this.read();
      this.lower.forEach((text, index) => {
        if (text.includes(query)) this.hits.push(index);
      });
    }
    this.draw();
    this.expand(query !== '');
    this.actions.marked();
  }

  draw() {
    const { query, hits } = this;
    const found = hits.length === 0 ? 'Nothing found' : counted(hits.length, 'message');
    const few = hits.length > SHOWN ? `, the first ${SHOWN} here` : '';
    this.box.replaceChildren();
    append(this.box, [
      h('p', { class: 'hits-count', role: 'presentation' }, found, few),
      hits.slice(0, SHOWN).map((index, place) => this.hit(index, place, query)),
    ]);
  }

  hit(index, place, query) {
    const message = this.run.messages[index];
    const text = this.texts[index];
    const at = this.lower[index].indexOf(query);
    const from = Math.max(0, at - AROUND);
    const words = (first, behind) => text.slice(first, behind).replace(/\s+/g, ' ');
    const node = h('div', { class: 'hit', role: 'option', id: `hit-${place}`, 'aria-selected': false, 'data-message': index },
      h('span', { class: `role ${message.role}` }, ROLE_WORDS[message.role]), h('span', { class: 'index' }, index + 1),
      h('span', { class: 'excerpt' }, from > 0 ? '…' : '', words(from, at),
        h('mark', {}, words(at, at + query.length)), words(at + query.length, at + 120)));
    node.addEventListener('mousedown', (event) => {
      event.preventDefault();
      this.open(place);
    });
    return node;
  }

  pressed(event) {
    if (event.key === 'Escape') {
      this.input.value = '';
      this.search();
      this.input.blur();
    } else if (event.key === 'ArrowDown') this.choose(this.chosen + 1);
    else if (event.key === 'ArrowUp') this.choose(this.chosen - 1);
    else if (event.key === 'Enter' && this.hits.length) this.open(this.nextPlace(event.shiftKey));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // Enter opens the hit that was chosen, and then the next with each press.
  nextPlace(backwards) {
    if (backwards) return this.chosen - 1;
    return this.isOpened ? this.chosen + 1 : Math.max(0, this.chosen);
  }

  choose(place) {
    if (this.hits.length === 0) return;
    this.chosen = (place + this.hits.length) % this.hits.length;
    this.isOpened = false;
    this.expand(true);
    for (const node of this.box.querySelectorAll('.hit')) node.setAttribute('aria-selected', node.id === `hit-${this.chosen}`);
    const node = this.box.querySelector(`#hit-${this.chosen}`);
    if (node) node.scrollIntoView({ block: 'nearest' });
    this.input.setAttribute('aria-activedescendant', node ? node.id : '');
  }

  open(place) {
    this.choose(place);
    this.isOpened = true;
    this.actions.open(this.hits[this.chosen]);
  }

  expand(open) {
    this.box.hidden = !open;
    this.input.setAttribute('aria-expanded', open);
  }

  // Marks every occurrence below a node without touching its elements.
  mark(root) {
    if (!('highlights' in CSS)) return;
    const ranges = this.query ? rangesOf(root, this.query) : [];
    if (ranges.length) CSS.highlights.set('found', new Highlight(...ranges));
    else CSS.highlights.delete('found');
  }
}

function searchable(run, index) {
  const message = run.messages[index];
  const calls = message.parts.filter((part) => part.kind === 'call').map(({ call }) => `${run.calls[call].name} ${argumentsText(run.calls[call])}`);
  return [textOf(message), ...calls].join('\n');
}

function rangesOf(root, query) {
  const ranges = [];
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.data.toLowerCase();
    for (let at = text.indexOf(query); at >= 0; at = text.indexOf(query, at + query.length)) {
      const range = new Range();
      range.setStart(walker.currentNode, at);
      range.setEnd(walker.currentNode, Math.min(at + query.length, walker.currentNode.length));
      ranges.push(range);
      if (ranges.length > 2000) return ranges;
    }
  }
  return ranges;
}
