// The context window to scale: a block for each message, and a bracket over what lies between the plan and the end.

import { append, h, setText, svg } from './dom.js';
import { PREFIX_ROW } from './context.js';
import { compact, counted, number } from './words.js';

const BAR = 18;
const HEIGHT_ALL = 32;
const SEPARATE = 300;

export class Strip {
  constructor(box, run, rows, reveal) {
    this.box = box;
    this.run = run;
    this.rows = rows;
    this.root = svg('svg', { role: 'img', height: HEIGHT_ALL });
    this.words = svg('title', {});
    this.label = h('span', { class: 'strip-label' });
    box.append(this.root, this.label);
    this.root.addEventListener('click', (event) => reveal(this.positionAt(event.offsetX)));
    new ResizeObserver(() => this.draw()).observe(box);
  }

  go() {
    this.draw();
  }

  // The scale is that of the fullest window of the run, so that the bar grows and shrinks.
  get scale() {
    return this.width / Math.max(this.fullest(), this.rows.tokensUntil(this.rows.count), 1);
  }

  fullest() {
    const { context } = this.run.columns;
    if (this.fullestOf !== context.length) {
      this.fullestOf = context.length;
      this.most = context.reduce((most, value) => Math.max(most, value), 0);
    }
    return this.most;
  }

  positionAt(x) {
    const tokens = x / this.scale;
    let low = 0;
    let high = this.rows.count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows.tokensUntil(middle + 1) <= tokens) low = middle + 1;
      else high = middle;
    }
    return Math.min(low, this.rows.count - 1);
  }

  draw() {
    this.width = this.box.clientWidth;
    if (this.width === 0) return;
    const { rows, root } = this;
    root.setAttribute('width', this.width);
    root.setAttribute('viewBox', `0 0 ${this.width} ${HEIGHT_ALL}`);
    const full = rows.tokensUntil(rows.count) * this.scale;
    const blocks = rows.count <= SEPARATE ? this.blocks() : this.columns(full);
    root.replaceChildren(this.words, svg('rect', { class: 'room', x: 0, y: 0, width: this.width, height: BAR, rx: 4 }), ...blocks);
    append(root, this.bracket());
  }

  blocks() {
    const { rows, scale } = this;
    return Array.from({ length: rows.count }, (_, position) => {
      const x = rows.tokensUntil(position) * scale;
      const width = Math.max(rows.tokensUntil(position + 1) * scale - x - 1, 0.75);
      return svg('rect', { class: `block ${this.kindAt(position)}`, x, y: 0, width, height: BAR });
    });
  }

  // Too many messages for a block each: a path for each kind, a pixel for what lies under it.
  columns(full) {
    const paths = {};
    for (let x = 0; x < full; x++) {
      const kind = this.kindAt(this.positionAt(x + 0.5));
      paths[kind] = `${paths[kind] ?? ''}M${x} 0h1v${BAR}h-1z`;
    }
    return Object.entries(paths).map(([kind, d]) => svg('path', { class: `block ${kind}`, d }));
  }

  kindAt(position) {
    const id = this.rows.idAt(position);
    if (id === PREFIX_ROW) return 'system';
    if (id < 0) return 'gap';
    const message = this.run.messages[id];
    return message.recites ? 'plan' : message.role;
  }

  bracket() {
    const { rows, run } = this;
    const { step } = rows;
    const total = rows.tokensUntil(rows.count);
    if (!run.isOpen(step)) {
      this.tell(`${number(total)} tokens in the window`, '');
      return [];
    }
    const distance = run.value('distance', step);
    const from = rows.tokensUntil(Math.max(0, rows.count - distance)) * this.scale;
    const to = Math.max(total * this.scale, from + 1);
    const tokens = compact(run.value('distance_tokens', step));
    const words = distance === 0 ? 'the plan is at the end' : `${counted(distance, 'message')}, ${tokens} tokens since the plan`;
    this.tell(words, words);
    this.label.style.left = `${Math.max(0, Math.min(from, this.width - this.label.offsetWidth))}px`;
    return [svg('path', { class: 'bracket', d: `M${from} ${BAR + 3}v4H${to}v-4` })];
  }

  tell(title, label) {
    setText(this.words, title);
    setText(this.label, label);
  }
}
