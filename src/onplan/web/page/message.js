// One row of the context window: a message, its calls and results, or what stands in for messages that are gone.

import { append, button, h, setText } from './dom.js';
import { allWords, cutTo, diffLines, isTodoList, mediaLine, todoArgument } from './pieces.js';
import { argumentsText, textOf } from './run.js';
import { PREFIX_ROW } from './context.js';
import { compact, counted, elapsed, number, oneLine, shortened } from './words.js';

const ROLES = { user: 'you', assistant: 'model', tool: 'tool', note: 'note' };
const FOLD_LINES = { user: 12, assistant: 12, tool: 6, note: 10 };
const OUTCOMES = { error: 'failed', denied: 'denied', interrupted: 'interrupted', not_executed: 'not executed' };
const CALL_STATES = { waiting: 'asked for', asked: 'waits for your answer', allowed: 'allowed', denied: 'denied', answered: '' };

export class MessageRows {
  // actions: { reveal(messageIndex), remeasure(), go(step) }
  constructor(run, rows, actions) {
    this.run = run;
    this.rows = rows;
    this.actions = actions;
    this.unfolded = new Set();
    this.guesses = new Map();
    this.currentCalls = new Set();
  }

  get count() {
    return this.rows.count;
  }

  keyAt(position) {
    return this.rows.keyAt(position);
  }

  guess(position) {
    const id = this.rows.idAt(position);
    if (id < 0) return 64;
    if (!this.guesses.has(id)) this.guesses.set(id, this.guessOf(this.run.messages[id]));
    return this.guesses.get(id);
  }

  guessOf(message) {
    const calls = message.parts.filter((part) => part.kind === 'call').length;
    const lines = Math.min(textOf(message).length / 90 + 1, FOLD_LINES[message.role]);
    return 42 + 20 * Math.ceil(lines) + 62 * calls;
  }

  make(position) {
    const id = this.rows.idAt(position);
    if (id === PREFIX_ROW) return this.prefixRow();
    return id < 0 ? this.gapRow() : this.messageRow(id);
  }

  update(node, position) {
    const id = this.rows.idAt(position);
    node.setAttribute('aria-setsize', this.rows.count);
    node.setAttribute('aria-posinset', position + 1);
    if (id < 0) return;
    const { run, rows } = this;
    const message = run.messages[id];
    node.classList.toggle('now', run.stepOf[message.step] === rows.step || this.hasCurrentCall(id));
    for (const call of node.querySelectorAll('.call')) this.updateCall(call);
  }

  hasCurrentCall(id) {
    return this.run.messages[id].parts.some((part) => part.kind === 'call' && this.currentCalls.has(part.call));
  }

  go(step) {
    this.currentCalls = this.run.callsAt(step);
  }

  unfold(id) {
    for (const part of ['text', 'args']) this.unfolded.add(`${id} ${part}`);
  }

  // --- rows ---

  prefixRow() {
    const { prefix } = this.rows;
    const tools = prefix?.tools ?? [];
    const node = row('system', 'system', '', prefix?.tokens ?? 0);
    append(node.body, [
      this.folded('prefix text', prefix?.system || 'No system text.', 3, 'text prose'),
      tools.length > 0 && h('p', { class: 'quiet' }, `${counted(tools.length, 'tool')} described: ${tools.join(', ')}`),
    ]);
    return node.root;
  }

  gapRow() {
    const { rows } = this;
    const window = rows.window();
    const node = row('gap', 'compacted', '', 0);
    const step = this.run.stepOf[window.step];
    append(node.body, [
      h('p', {}, h('strong', {}, gapWords(rows)),
        ` ${compact(window.before ?? 0)} tokens became ${compact(window.after ?? 0)}.`),
      window.focus && h('p', { class: 'quiet' }, `Asked to keep in mind: ${window.focus}`),
      window.error && h('p', { class: 'trouble' }, `There is no summary: ${window.error}`),
      button('Show the window before', () => this.actions.go(step - 1), { class: 'small' }),
    ]);
    return node.root;
  }

  messageRow(id) {
    const message = this.run.messages[id];
    const node = row(message.role, ROLES[message.role], id + 1, this.rows.tokensOf(id), message.at);
    node.root.classList.toggle('recites', message.recites === true);
    node.root.classList.toggle('failed', message.role === 'tool' && (message.outcome ?? 'ok') !== 'ok');
    node.root.dataset.message = id;
    append(node.head, this.chips(message));
    if (message.role === 'tool') append(node.body, this.resultHead(message));
    append(node.body, this.parts(message, id));
    append(node.body, (message.media ?? []).map(mediaLine));
    return node.root;
  }

  chips(message) {
    return [
      message.role === 'note' && !(message.recites && message.kind === 'plan')
        && h('span', { class: 'chip note' }, (message.kind || 'note').replaceAll('_', ' ')),
      message.made && h('span', { class: 'chip' }, `${message.role === 'user' ? 'kept' : 'written'} by a compaction`),
      message.recites && h('span', { class: 'chip plan', title: 'This message carries every open todo' }, 'the plan'),
      message.stop && !['end', 'tool_calls'].includes(message.stop) && h('span', { class: 'chip bad' }, `stopped: ${message.stop}`),
    ];
  }

  resultHead(message) {
    const call = this.run.calls[message.call];
    if (!call) return null;
    const bad = OUTCOMES[message.outcome];
    return h('p', { class: 'result-head' },
      h('code', { class: 'name' }, call.name),
      button('', () => this.actions.reveal(call.message), { class: 'ref', 'data-to': call.message,
        'aria-label': `answers the call in message ${call.message + 1}` }, `answers ${call.message + 1}`),
      bad && h('span', { class: 'chip bad' }, bad));
  }

  parts(message, id) {
    const shown = this.rows.shortenedText(id);
    if (shown !== undefined) return [h('p', { class: 'quiet' }, 'shortened by a compaction'), this.text(message, id, shown)];
    const text = message.parts.filter((part) => part.kind === 'text').map((part) => part.text).join('');
    const thinking = message.parts.filter((part) => part.kind === 'thinking').map((part) => part.text).join('\n');
    return [
      thinking && h('div', { class: 'thinking' }, h('span', { class: 'quiet' }, 'thinking'), this.folded(`${id} thinking`, thinking, 3, 'text prose')),
      text && this.text(message, id, text),
      !text && message.role === 'tool' && h('p', { class: 'quiet' }, 'empty'),
      message.parts.filter((part) => part.kind === 'call').map((part) => this.call(part.call, id)),
      message.diff && h('details', { class: 'diff', ontoggle: () => this.actions.remeasure() },
        h('summary', {}, 'what changed in the file'), diffLines(message.diff)),
    ];
  }

  text(message, id, text) {
    const style = message.role === 'tool' || message.role === 'note' ? 'text mono' : 'text prose';
    return this.folded(`${id} text`, text, FOLD_LINES[message.role], style);
  }

  // --- calls ---

  call(index, id) {
    const call = this.run.calls[index];
    const filled = this.run.runtime.get(call.name) ?? [];
    return h('div', { class: 'call', 'data-call': index },
      h('div', { class: 'call-head' }, h('code', { class: 'name' }, call.name), h('span', { class: 'verdict' }),
        button('', () => this.actions.reveal(this.run.results.get(index)), { class: 'ref', hidden: true })),
      h('div', { class: 'faces' },
        h('div', { class: 'sent', 'aria-label': 'What the model sent' }, this.sent(call, id)),
        filled.length > 0 && h('div', { class: 'filled', 'aria-label': 'What the runtime filled in' },
          h('span', { class: 'filled-label' }, 'runtime fills'),
          filled.map((param) => h('code', { title: param.type }, h('b', {}, param.name), ` ${param.type}`)))));
  }

  sent(call, id) {
    const values = call.arguments;
    if (values === null || typeof values !== 'object' || Array.isArray(values)) {
      return this.folded(`${id} args`, argumentsText(call) || 'nothing', 6, 'text mono');
    }
    const names = Object.keys(values);
    if (names.length === 0) return h('span', { class: 'quiet' }, 'no arguments');
    return h('dl', {}, names.map((name) => [h('dt', {}, name), h('dd', {}, this.argument(values[name], `${id} args`))]));
  }

  argument(value, key) {
    if (isTodoList(value)) return todoArgument(value);
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return this.folded(key, text, 4, 'text mono');
  }

  updateCall(node) {
    const index = Number(node.dataset.call);
    const { run, rows } = this;
    const state = this.callState(index);
    node.dataset.state = state;
    node.classList.toggle('current', this.currentCalls.has(index));
    const result = run.results.get(index);
    const ref = node.querySelector('.ref');
    ref.hidden = state !== 'answered';
    if (state === 'answered') {
      setText(ref, `result ${result + 1}`);
      ref.dataset.to = result;
      ref.setAttribute('aria-label', `result in message ${result + 1}`);
    }
    setText(node.querySelector('.verdict'), this.verdictWords(index, state, rows.step));
  }

  callState(index) {
    const { run, rows } = this;
    const reached = (item) => item !== undefined && run.stepOf[item.step] <= rows.step;
    const result = run.results.get(index);
    if (result !== undefined && result < rows.messages) return 'answered';
    const verdict = run.verdictsOf.get(index);
    if (reached(verdict)) return verdict.verdict === 'deny' ? 'denied' : 'allowed';
    return run.asked.some((asked) => asked.call === index && reached(asked)) ? 'asked' : 'waiting';
  }

  verdictWords(index, state, step) {
    const verdict = this.run.verdictsOf.get(index);
    if (!verdict || this.run.stepOf[verdict.step] > step) return CALL_STATES[state];
    const word = verdict.verdict === 'deny' ? 'denied' : 'allowed';
    const why = [verdict.rule, verdict.reason].filter(Boolean).join(': ');
    return `${word} by ${verdict.by}${why ? ` (${shortened(oneLine(why), 120)})` : ''}${verdict.arguments ? ', with other arguments' : ''}`;
  }

  // --- folding ---

  folded(key, text, lines, style) {
    const cut = cutTo(text, lines);
    if (cut === text) return h('div', { class: style }, text);
    const box = h('div', { class: style });
    const toggle = button('', () => this.flip(key, draw), { class: 'fold' });
    const draw = () => {
      const open = this.unfolded.has(key);
      setText(box, open ? text : cut);
      setText(toggle, open ? 'Show less' : `Show all ${allWords(text)}`);
      toggle.setAttribute('aria-expanded', open);
    };
    draw();
    return h('div', { class: 'foldable' }, box, toggle);
  }

  flip(key, draw) {
    if (!this.unfolded.delete(key)) this.unfolded.add(key);
    draw();
    this.actions.remeasure();
  }
}

function gapWords({ left, view }) {
  const short = Object.keys(view.shortened).length;
  const results = short > 0 && `${counted(short, 'result')} ${short === 1 ? 'is' : 'are'} shortened from here on.`;
  return [left > 0 && `${counted(left, 'message')} left the context window here.`, results].filter(Boolean).join(' ');
}

function row(kind, label, index, tokens, at) {
  const head = h('div', { class: 'row-head' });
  const body = h('div', { class: 'row-body' });
  const figures = h('div', { class: 'row-figures' },
    tokens > 0 && h('span', { title: `${number(tokens)} tokens` }, `${compact(tokens)} tok`),
    at !== undefined && h('span', { class: 'when' }, elapsed(at / 1000)));
  const root = h('div', { class: `row ${kind}`, role: 'listitem' },
    h('div', { class: 'who' }, h('span', { class: 'role' }, label), h('span', { class: 'index' }, index)),
    h('div', { class: 'what' }, head, body), figures);
  return { root, head, body };
}
