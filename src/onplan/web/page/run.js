// A run as the page knows it: the JSON that Python folded from the log, its records joined into steps.

const WRITES = ['plan', 'write', 'edit'];
const TROUBLE = ['error', 'refused', 'denied', 'interrupted'];

export const JUMPS = {
  write: WRITES,
  reminder: ['reminder'],
  error: TROUBLE,
  approval: ['approval', 'denied'],
  compaction: ['compaction'],
};

export class Run {
  constructor(whole) {
    this.nodes = whole.nodes;
    this.kinds = whole.kinds;
    this.columns = {};
    for (const name of Object.keys(whole.steps)) this.columns[name] = [];
    for (const name of ['messages', 'calls', 'verdicts', 'asked', 'revisions', 'windows', 'prefixes']) this[name] = [];
    this.phases = new Map();
    this.costs = new Map();
    this.tools = [];
    this.ends = [];
    this.stepOf = [];
    this.keys = [];
    this.results = new Map();
    this.verdictsOf = new Map();
    this.tokensBefore = [0];
    this.append(whole);
  }

  append(piece) {
    this.session = piece.session;
    this.seq = piece.seq;
    const first = this.columns.at.length;
    for (const [name, values] of Object.entries(piece.steps)) extend(this.columns[name], values);
    for (const name of ['calls', 'asked', 'revisions', 'windows', 'prefixes']) extend(this[name], piece[name] ?? []);
    for (const message of piece.messages ?? []) this.addMessage(message);
    for (const verdict of piece.verdicts ?? []) this.addVerdict(verdict);
    for (const phase of piece.phases ?? []) this.phases.set(phase.index, phase);
    for (const cost of piece.costs ?? []) this.costs.set(cost.index, cost);
    if (piece.tools) this.tools = piece.tools;
    this.runtime = new Map(this.tools.map((tool) => [tool.name, tool.runtime ?? []]));
    for (let record = first; record < this.columns.at.length; record++) this.addRecord(record);
  }

  addMessage(message) {
    const index = this.messages.push(message) - 1;
    this.tokensBefore.push(this.tokensBefore[index] + message.tokens);
    if (message.role === 'tool' && message.call >= 0) this.results.set(message.call, index);
  }

  addVerdict(verdict) {
    this.verdicts.push(verdict);
    this.verdictsOf.set(verdict.call, verdict);
  }

  addRecord(record) {
    if (!this.joins(record)) this.ends.push(record);
    const step = this.ends.length - 1;
    this.ends[step] = record;
    this.stepOf.push(step);
    const kind = this.kinds[this.columns.kind[record]];
    if (kind) this.keys.push({ step, kind });
  }

  // Verdicts and starts of one batch of calls follow each other and change nothing in sight: they are one step.
  joins(record) {
    const { kind, node, messages, round, revisions } = this.columns;
    const before = record - 1;
    return record > 0 && kind[record] === 0 && kind[before] === 0 && node[record] === node[before]
      && messages[record] === messages[before] && round[record] === round[before]
      && revisions[record] === revisions[before];
  }

  get length() {
    return this.ends.length;
  }

  value(name, step) {
    return this.columns[name][this.ends[step]];
  }

  node(step) {
    return this.nodes[this.value('node', step)];
  }

  kind(step) {
    return this.kinds[this.value('kind', step)];
  }

  firstRecord(step) {
    return step > 0 ? this.ends[step - 1] + 1 : 0;
  }

  title(step) {
    const more = this.ends[step] - this.firstRecord(step);
    const title = this.value('title', step);
    return more > 0 ? `${title}, and ${more} more` : title;
  }

  callsAt(step) {
    const calls = new Set();
    for (let record = this.firstRecord(step); record <= this.ends[step]; record++) {
      if (this.columns.call[record] >= 0) calls.add(this.columns.call[record]);
    }
    return calls;
  }

  revision(step) {
    const count = this.value('revisions', step);
    return count > 0 ? this.revisions[count - 1] : null;
  }

  isOpen(step) {
    const revision = this.revision(step);
    return revision !== null && (revision.done ?? 0) < revision.todos.length;
  }

  changedPlan(step) {
    return this.value('revisions', step) > (step > 0 ? this.value('revisions', step - 1) : 0);
  }

  prefix(step) {
    return lastUntil(this.prefixes, (prefix) => this.stepOf[prefix.step] <= step);
  }

  windowCount(step) {
    return countUntil(this.windows, (window) => this.stepOf[window.step] <= step);
  }

  // Questions to the person that nobody has answered at the end of the log.
  get pending() {
    return this.asked.filter(({ call, step }) => {
      const verdict = this.verdictsOf.get(call);
      return !this.results.has(call) && !(verdict && verdict.step > step);
    });
  }

  nextKey(step, kinds, direction) {
    const found = (key) => (kinds ? kinds.includes(key.kind) : true);
    if (direction > 0) return this.keys.find((key) => key.step > step && found(key))?.step;
    return this.keys.findLast((key) => key.step < step && found(key))?.step;
  }

  phaseAt(step) {
    return [...this.phases.values()].findLast((phase) => this.stepOf[phase.start] <= step && step < this.phaseEnd(phase));
  }

  phaseEnd(phase) {
    return phase.end === undefined || phase.end === null ? this.length : this.stepOf[phase.end];
  }

  phaseList() {
    return [...this.phases.values()];
  }

  costList() {
    return [...this.costs.values()];
  }
}

// push(...values) would overflow the stack with long arrays.
function extend(target, values) {
  for (const value of values) target.push(value);
}

function countUntil(items, holds) {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(items[middle])) low = middle + 1;
    else high = middle;
  }
  return low;
}

function lastUntil(items, holds) {
  return items[countUntil(items, holds) - 1] ?? null;
}

export function textOf(message) {
  return message.parts.filter((part) => part.kind !== 'call').map((part) => part.text ?? '').join('\n');
}

export function argumentsText(call) {
  return typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments);
}
