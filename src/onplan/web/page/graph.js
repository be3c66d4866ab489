// The graph of a run: where the turn is, how it came there, and which nodes touch the plan.

import { append, svg, setText } from './dom.js';
import { clamp, oneLine, shortened } from './words.js';

const NAMES = { user: 'You', model: 'Model', approval: 'Approval', tools: 'Tools', subagents: 'Subagents', harness: 'Harness', plan: 'Plan' };
const NODE_HEIGHT = 40;
const TOP = 52;
const BOTTOM = 122;
const HEIGHT = 158;
const EDGES = [
  ['user', 'model'], ['model', 'approval'], ['approval', 'tools'], ['tools', 'subagents'],
  ['tools', 'harness'], ['harness', 'model'], ['model', 'user'], ['tools', 'plan'],
];

export class Graph {
  constructor(box, run) {
    this.box = box;
    this.run = run;
    this.root = svg('svg', { class: 'graph-drawing', role: 'img', 'aria-labelledby': 'graph-words' });
    this.words = svg('title', { id: 'graph-words' });
    box.append(this.root);
    new ResizeObserver(() => this.draw()).observe(box);
  }

  draw() {
    const { paddingLeft, paddingRight } = getComputedStyle(this.box);
    const width = Math.max(this.box.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight), 320);
    if (width === this.width) return;
    this.width = width;
    setSize(this.root, width);
    this.places = this.layout(width);
    this.nodes = {};
    this.edges = {};
    this.root.replaceChildren(this.words, arrowHead());
    for (const [from, to] of EDGES) this.drawEdge(from, to);
    for (const name of Object.keys(this.places)) this.drawNode(name);
    if (this.step !== undefined) this.go(this.step);
  }

  layout(width) {
    const nodeWidth = clamp(width / 5 - 44, 72, 132);
    const left = 4 + nodeWidth / 2;
    const gap = (width - 8 - nodeWidth) / 4;
    const at = (column, y) => ({ x: left + column * gap, y, width: nodeWidth });
    const tools = at(3, TOP);
    const planWidth = Math.max(nodeWidth * 0.62, 54);
    return {
      user: at(0, TOP), model: at(1, TOP), approval: at(2, TOP), tools,
      subagents: at(4, TOP), harness: at(2, BOTTOM), plan: { x: tools.x + (nodeWidth - planWidth) / 2, y: BOTTOM, width: planWidth },
    };
  }

  drawEdge(from, to) {
    const path = svg('path', { class: `edge ${to === 'plan' ? 'memory' : ''}`, d: this.edgePath(from, to), 'marker-end': to === 'plan' ? undefined : 'url(#arrow)' });
    this.edges[`${from} ${to}`] = path;
    this.root.append(path);
  }

  edgePath(from, to) {
    const a = this.places[from];
    const b = this.places[to];
    const half = NODE_HEIGHT / 2;
    if (from === 'model' && to === 'user') {
      const y = a.y - half;
      return `M${a.x} ${y} C ${a.x} ${y - 30} ${b.x} ${y - 30} ${b.x} ${y - 4}`;
    }
    if (to === 'plan') return `M${b.x} ${a.y + half} V${b.y - half}`;
    if (from === 'tools' && to === 'harness') {
      const x = a.x - a.width / 2 + 10;
      return `M${x} ${a.y + half} C ${x} ${b.y} ${x} ${b.y} ${b.x + b.width / 2 + 5} ${b.y}`;
    }
    if (from === 'harness') return `M${a.x - a.width / 2} ${a.y} C ${b.x} ${a.y} ${b.x} ${a.y} ${b.x} ${b.y + half + 5}`;
    return `M${a.x + a.width / 2} ${a.y} H${b.x - b.width / 2 - 5}`;
  }

  drawNode(name) {
    const { x, y, width } = this.places[name];
    const detail = svg('text', { class: 'detail', x, y: y + 12 });
    const group = svg('g', { class: `node ${name}`, 'data-node': name },
      svg('rect', { x: x - width / 2, y: y - NODE_HEIGHT / 2, width, height: NODE_HEIGHT, rx: 8 }),
      svg('text', { class: 'name', x, y: y - 1 }, NAMES[name]), detail);
    this.nodes[name] = { group, detail, room: Math.floor((width - 8) / 5.6) };
    this.root.append(group);
  }

  go(step) {
    this.step = step;
    if (!this.nodes) return;
    const { run } = this;
    const current = run.node(step);
    const before = step > 0 ? run.node(step - 1) : current;
    const details = this.details(step, current);
    for (const [name, { group, detail, room }] of Object.entries(this.nodes)) {
      const lit = name === current || (name === 'plan' && this.touchesPlan(step));
      group.classList.toggle('lit', lit);
      group.classList.toggle('unused', name === 'subagents' && !lit);
      setText(detail, shortened(details[name] ?? '', room));
    }
    const lit = new Set(routeOf(before, current));
    if (this.touchesPlan(step)) lit.add('tools plan');
    for (const [key, path] of Object.entries(this.edges)) path.classList.toggle('lit', lit.has(key));
    setText(this.words, `${NAMES[current] ?? current}: ${run.title(step)}`);
  }

  touchesPlan(step) {
    const kind = this.run.kind(step);
    if (['plan', 'write', 'edit', 'refused'].includes(kind)) return true;
    const { run } = this;
    const answered = run.value('messages', step) > run.value('messages', Math.max(0, step - 1));
    return answered && run.node(step) === 'tools' && run.value('distance', step) === 0 && run.isOpen(step);
  }

  details(step, current) {
    const { run } = this;
    const calls = [...run.callsAt(step)].map((call) => run.calls[call].name);
    const revision = run.revision(step);
    return {
      model: oneLine(run.prefix(step)?.model || run.session.model || ''),
      approval: current === 'approval' ? approvalWord(run, step) : '',
      tools: current === 'tools' ? callsWord(calls) : '',
      subagents: current === 'subagents' ? callsWord(calls) : '',
      harness: current === 'harness' ? run.kind(step) || 'begin' : 'reminders',
      plan: revision ? `${revision.done ?? 0}/${revision.todos.length} done` : 'none yet',
    };
  }
}

function approvalWord(run, step) {
  const [call] = run.callsAt(step);
  const verdict = run.verdictsOf.get(call);
  if (run.kind(step) === 'denied') return 'denied';
  return verdict && run.stepOf[verdict.step] <= step ? `by ${verdict.by}` : 'asks';
}

function callsWord(names) {
  return names.length > 1 ? `${names.length} × ${names[0]}` : names[0] ?? '';
}

// Which edges lead from one node to the next: a batch of results goes back to the model by way of the harness.
function routeOf(before, current) {
  if (before === current) return [];
  if (before === 'tools' && current === 'model') return ['tools harness', 'harness model'];
  if (before === 'approval' && current === 'model') return ['harness model'];
  if (before === 'model' && current === 'tools') return ['model approval', 'approval tools'];
  if (before === 'subagents' && current === 'model') return ['tools harness', 'harness model'];
  return [`${before} ${current}`];
}

function setSize(root, width) {
  root.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
  root.setAttribute('width', width);
  root.setAttribute('height', HEIGHT);
}

function arrowHead() {
  const marker = svg('marker', { id: 'arrow', viewBox: '0 0 8 8', refX: 6, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' });
  append(marker, [svg('path', { d: 'M1 1L6.5 4L1 7', class: 'arrow-head' })]);
  return svg('defs', {}, marker);
}
