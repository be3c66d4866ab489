// Charts over the run: how far away the plan was, how full the window, how much was done, and what each todo cost.

import { append, h, setText, svg } from './dom.js';
import { compact, counted, money, number, oneLine } from './words.js';

const CHART_HEIGHT = 56;
const FLOOR = 46;
const CEILING = 6;

export class Charts {
  constructor(box, run, zoom, go) {
    this.run = run;
    this.zoom = zoom;
    this.go = (step) => go(step);
    const { session } = run;
    this.charts = [
      this.chart('Distance, messages', 'far', (step) => (run.isOpen(step) ? run.value('distance', step) : 0), session.max_messages, number),
      this.chart('Distance, tokens', 'far', (step) => (run.isOpen(step) ? run.value('distance_tokens', step) : 0), session.max_tokens, compact),
      this.chart('Context, tokens', 'context', (step) => run.value('context', step), 0, compact),
      this.chart('Todos done', 'done', (step) => run.revision(step)?.done ?? 0, 0, number),
    ];
    this.costs = h('div', { class: 'costs' });
    this.costHead = h('h3', {});
    append(box, [
      h('div', { class: 'panel-head' }, (this.title = h('h2', {})),
        h('span', { class: 'legend' }, h('i', { class: 'write' }), 'write', h('i', { class: 'reminder' }), 'reminder')),
      this.charts.map((chart) => chart.box),
      h('div', { class: 'chart cost-chart' }, h('div', { class: 'chart-head' }, this.costHead), this.costs),
    ]);
    new ResizeObserver(() => this.draw()).observe(box);
    this.step = 0;
  }

  chart(title, style, valueAt, bound, words) {
    const value = h('b', {});
    const root = svg('svg', { height: CHART_HEIGHT, role: 'img', 'aria-label': title });
    const box = h('div', { class: `chart ${style}` }, h('div', { class: 'chart-head' }, h('h3', {}, title), value), root);
    const chart = { title, box, value, root, valueAt, bound, words, cursor: svg('line', { class: 'cursor', y1: 0, y2: FLOOR + 6 }) };
    root.addEventListener('click', (event) => this.go(this.stepAt(event.offsetX)));
    root.addEventListener('pointermove', (event) => this.point(this.stepAt(event.offsetX)));
    root.addEventListener('pointerleave', () => this.point(null));
    return chart;
  }

  stepAt(x) {
    return this.zoom.stepAt(x / this.width);
  }

  xOf(step) {
    return this.zoom.share(step) * (this.width - 2) + 1;
  }

  draw() {
    this.width = this.charts[0].root.parentElement.clientWidth;
    if (this.width === 0) return;
    setText(this.title, this.zoom.isOn ? 'Around this step' : 'Over the run');
    const marks = [this.marks('write', ['plan', 'write', 'edit']), this.marks('reminder', ['reminder'])];
    for (const chart of this.charts) this.drawChart(chart, marks);
    this.drawCosts();
    this.move(this.step);
  }

  drawChart(chart, marks) {
    const { root, valueAt, bound } = chart;
    root.setAttribute('width', this.width);
    root.setAttribute('viewBox', `0 0 ${this.width} ${CHART_HEIGHT}`);
    const { line, most } = this.line(valueAt);
    const shown = bound && bound <= most * 2.5 ? Math.max(most, bound) : most;
    const yOf = (value) => FLOOR - ((FLOOR - CEILING) * value) / Math.max(shown, 1);
    const points = line.map(([x, value]) => `${x.toFixed(1)} ${yOf(value).toFixed(1)}`).join('L');
    root.replaceChildren(
      svg('path', { class: 'base', d: `M0 ${FLOOR}H${this.width}` }),
      svg('path', { class: 'area', d: `M${line[0][0]} ${FLOOR}L${points}L${line.at(-1)[0].toFixed(1)} ${FLOOR}Z` }),
      svg('path', { class: this.zoom.to - this.zoom.from > this.width * 2 ? 'line crowded' : 'line', d: `M${points}` }),
      ...marks.map(([kind, d]) => svg('path', { class: `mark-line ${kind}`, d })),
    );
    if (bound && bound <= shown) {
      const y = yOf(bound);
      root.append(svg('path', { class: 'bound', d: `M0 ${y}H${this.width}` }),
        svg('text', { class: 'bound-label', x: this.width - 2, y: y + (y < 16 ? 11 : -3) }, `bound ${compact(bound)}`));
    }
    root.append(chart.cursor);
  }

  // Steps are drawn as stairs; where several fall on a pixel, their least and greatest value.
  line(valueAt) {
    const { zoom } = this;
    const line = [];
    let most = 0;
    let pixel = -1;
    let low = 0;
    let high = 0;
    let before = 0;
    const close = () => pixel >= 0 && line.push([pixel, before], [pixel, high], [pixel, low], [pixel, before = this.lastValue]);
    for (let step = zoom.from; step <= Math.min(zoom.to, this.run.length - 1); step++) {
      const value = valueAt(step);
      const x = Math.round(this.xOf(step) * 2) / 2;
      most = Math.max(most, value);
      if (x !== pixel) {
        close();
        pixel = x;
        low = high = value;
      }
      low = Math.min(low, value);
      high = Math.max(high, value);
      this.lastValue = value;
    }
    close();
    return { line, most };
  }

  marks(kind, kinds) {
    const seen = new Set();
    for (const key of this.run.keys) if (kinds.includes(key.kind) && this.zoom.shows(key.step)) seen.add(Math.round(this.xOf(key.step)));
    return [seen.size * 5 > this.width ? `${kind} crowded` : kind, [...seen].map((x) => `M${x} ${FLOOR + 2}v6`).join('')];
  }

  drawCosts() {
    const rows = this.run.costList();
    this.costs.parentElement.hidden = rows.length === 0;
    const priced = rows.length > 0 && rows.every((row) => typeof row.cost === 'number') && rows.some((row) => row.cost > 0);
    const { title, sizeOf, words } = priced ? COST : rows.some((row) => tokensOf(row) > 0) ? TOKENS : REPLIES;
    const most = Math.max(1e-9, ...rows.map(sizeOf));
    setText(this.costHead, title);
    this.costs.replaceChildren(...rows.map((row) => costRow(row, sizeOf(row) / most, words(row))));
  }

  move(step) {
    this.step = step;
    if (!this.width) return;
    const x = this.xOf(step);
    for (const chart of this.charts) {
      chart.cursor.setAttribute('x1', x);
      chart.cursor.setAttribute('x2', x);
      this.tell(chart, step);
    }
  }

  point(step) {
    for (const chart of this.charts) this.tell(chart, step ?? this.step, step !== null);
  }

  tell(chart, step, pointed = false) {
    const words = chart.words(chart.valueAt(step));
    setText(chart.value, pointed ? `${words} at step ${step + 1}` : words);
    chart.value.classList.toggle('pointed', pointed);
  }
}

// What a todo took, in the best measure that the log has.
const COST = { title: 'Cost by todo', sizeOf: (row) => row.cost, words: (row) => money(row.cost) };
const TOKENS = { title: 'Tokens by todo', sizeOf: (row) => tokensOf(row), words: (row) => `${compact(tokensOf(row))} tok` };
const REPLIES = { title: 'Replies by todo', sizeOf: (row) => row.requests, words: (row) => counted(row.requests, 'reply', 'replies') };

function tokensOf(row) {
  const { input = 0, output = 0, cache_read: read = 0, cache_write: written = 0 } = row.usage;
  return input + output + read + written;
}

function costRow(row, share, words) {
  const fill = h('div', { class: 'cost-fill' });
  fill.style.width = `${Math.max(share * 100, 0.5)}%`;
  const name = oneLine(row.content) || 'unplanned';
  return h('div', { class: `cost ${row.content ? '' : 'unplanned'}`, title: name },
    h('span', { class: 'cost-name' }, name), h('span', { class: 'cost-value' }, words), h('div', { class: 'cost-bar' }, fill));
}
