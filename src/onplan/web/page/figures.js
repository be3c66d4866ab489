// The state bar: what the run has come to at this step.

import { h, setText } from './dom.js';
import { compact, counted, money, number } from './words.js';

export class Figures {
  constructor(box, run) {
    this.run = run;
    this.values = {};
    const distance = h('div', { class: 'distance' },
      h('span', { class: 'distance-words' }, 'the plan is ', (this.messages = h('b', { class: 'big' })), (this.noun = h('span', {}))),
      (this.tokens = h('span', { class: 'quiet' })));
    this.distance = distance;
    box.append(distance, h('dl', {}, ['turn', 'round', 'messages', 'context', 'spent', 'cost'].map((name) => this.figure(name))));
  }

  figure(name) {
    this.values[name] = h('dd', {});
    return h('div', { 'data-figure': name }, h('dt', {}, name), this.values[name]);
  }

  go(step) {
    const { run, values } = this;
    const value = (name) => run.value(name, step);
    setText(values.turn, number(value('turn')));
    setText(values.round, number(value('round')));
    setText(values.messages, number(value('messages')));
    setText(values.context, `${compact(value('context'))} tok`);
    const spent = value('input') + value('output') + value('cache_read') + value('cache_write');
    const told = run.value('input', run.length - 1) + run.value('output', run.length - 1) > 0;
    this.tell('spent', told && `${compact(spent)} tok`, [
      `input ${number(value('input'))}`, `output ${number(value('output'))}`,
      `read from cache ${number(value('cache_read'))}`, `written to cache ${number(value('cache_write'))}`,
    ].join(', '), 'The model does not say how many tokens it took');
    const cost = value('cost');
    const price = `No price is known for ${run.prefix(step)?.model || 'this model'}`;
    this.tell('cost', told && cost !== null && money(cost), '', told ? price : 'Nothing is known of the tokens');
    this.goDistance(step);
  }

  // A figure that is not known says so quietly, with the reason on hover.
  tell(name, words, title, why) {
    const node = this.values[name];
    setText(node, words || 'unknown');
    node.classList.toggle('unknown', !words);
    node.title = words ? title : why;
  }

  goDistance(step) {
    const { run } = this;
    const revision = run.revision(step);
    const messages = run.value('distance', step);
    const tokens = run.value('distance_tokens', step);
    this.distance.dataset.level = levelOf(run, step);
    this.distance.classList.toggle('idle', !run.isOpen(step));
    if (!revision || revision.todos.length === 0) return this.say('', 'not written yet', '');
    if (!run.isOpen(step)) return this.say('', 'done', `${counted(revision.todos.length, 'todo')} finished`);
    return this.say(number(messages), ` ${messages === 1 ? 'message' : 'messages'} from the end`, `${number(tokens)} tokens`);
  }

  say(figure, words, quiet) {
    setText(this.messages, figure);
    setText(this.noun, words);
    setText(this.tokens, quiet);
  }
}

// near, far or past: how much of the bound the distance has used up.
function levelOf(run, step) {
  if (!run.isOpen(step)) return 'near';
  const { max_messages: messages, max_tokens: tokens } = run.session;
  const used = Math.max(
    messages ? run.value('distance', step) / messages : 0,
    tokens ? run.value('distance_tokens', step) / tokens : 0,
  );
  if (used > 1) return 'past';
  return used >= 0.5 ? 'far' : 'near';
}
