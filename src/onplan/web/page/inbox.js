// What a person can do to a running session from the page: answer an approval, edit the plan, undo, redo.

import { append, button, byId, h, icon } from './dom.js';
import { send } from './live.js';

const ANSWERS = { made: '', left: 'The agent takes this before its next request.', unchanged: 'That is the plan already.' };
const STATES = [['pending', 'to do'], ['in_progress', 'doing'], ['completed', 'done']];

export class Approvals {
  constructor(box, run, token) {
    this.box = box;
    this.run = run;
    this.token = token;
    this.sent = new Set();
  }

  draw() {
    const waiting = this.run.pending.filter((asked) => !this.sent.has(asked.call));
    const names = waiting.map((asked) => asked.call).join(' ');
    this.box.hidden = waiting.length === 0;
    if (names === this.names) return;
    this.names = names;
    this.box.replaceChildren(...waiting.map((asked) => this.question(asked)));
  }

  question(asked) {
    const call = this.run.calls[asked.call];
    const reason = h('input', { type: 'text', placeholder: 'Reason, for the model (if you deny)', 'aria-label': 'Reason for the model' });
    const problem = h('p', { class: 'trouble', role: 'alert' });
    const answer = (verdict) => () => this.answer(asked, { call_id: call.id, verdict, reason: reason.value }, problem);
    return h('div', { class: 'question', role: 'group', 'aria-label': `Approval of ${call.name}` },
      h('p', {}, h('strong', {}, 'May ', h('code', {}, call.name), ' run?'), asked.reason ? ` ${asked.reason}` : ''),
      asked.preview && h('pre', {}, asked.preview),
      h('div', { class: 'question-tools' }, button('Allow', answer('approve'), { class: 'primary' }),
        button('Deny', answer('deny'), { class: 'danger' }), reason),
      problem);
  }

  async answer(asked, body, problem) {
    try {
      await send(this.token, 'approve', body);
      this.sent.add(asked.call);
      this.draw();
      byId('context').focus(); // not another question's button: a key that is held would answer it
    } catch (error) {
      problem.textContent = error.message;
    }
  }
}

export class PlanEditor {
  constructor(panel, run, token) {
    this.panel = panel;
    this.run = run;
    this.token = token;
    this.seen = this.revision?.number;
    this.problem = h('p', { class: 'trouble', role: 'alert' });
    append(panel.tools, [
      control('undo', 'Undo the last change of the plan', () => this.post({ action: 'undo' })),
      control('redo', 'Redo', () => this.post({ action: 'redo' })),
      control('edit', 'Edit the plan', () => this.open()),
    ]);
    this.said = h('p', { class: 'quiet said', role: 'status' });
    panel.body.before(this.problem, this.said);
  }

  get revision() {
    return this.run.revisions.at(-1);
  }

  // What was said of a change is over when the next revision is there.
  grown() {
    if (this.revision?.number === this.seen) return;
    this.seen = this.revision?.number;
    this.said.textContent = '';
  }

  open() {
    if (this.form) return;
    this.base = this.revision?.number ?? 0;
    const todos = this.revision?.todos ?? [];
    this.rows = h('ol', { class: 'edit-rows' });
    for (const todo of todos) this.rows.append(this.row(todo));
    if (todos.length === 0) this.rows.append(this.row({ content: '', status: 'pending' }));
    this.form = h('form', { class: 'plan-editor', 'aria-label': 'Edit the plan', onsubmit: (event) => this.save(event), onkeydown: (event) => event.key === 'Escape' && this.close() },
      this.rows,
      h('div', { class: 'edit-tools' },
        button('Add a todo', () => this.add()),
        h('span', { class: 'space' }),
        button('Cancel', () => this.close()),
        h('button', { type: 'submit', class: 'primary' }, 'Save')));
    this.panel.body.replaceChildren(this.form);
    this.form.querySelector('input').focus();
  }

  row(todo) {
    const item = h('li', {});
    const content = h('input', { type: 'text', 'aria-label': 'Todo', required: true });
    content.value = todo.content;
    const status = h('select', { 'aria-label': 'Status' }, STATES.map(([value, words]) => h('option', { value }, words)));
    status.value = todo.status;
    item.dataset.id = todo.id ?? '';
    append(item, [status, content,
      button('', () => item.previousElementSibling?.before(item), { class: 'icon', 'aria-label': 'Move up' }, icon('up')),
      button('', () => item.remove(), { class: 'icon', 'aria-label': 'Remove' }, icon('close'))]);
    return item;
  }

  add() {
    const item = this.row({ content: '', status: 'pending' });
    this.rows.append(item);
    item.querySelector('input').focus();
  }

  close() {
    this.form = null;
    this.panel.body.replaceChildren(this.panel.list, this.panel.news);
    this.panel.tools.lastChild.focus();
  }

  save(event) {
    event.preventDefault();
    const todos = [...this.rows.children].map((item) => ({
      content: item.querySelector('input').value, status: item.querySelector('select').value,
      ...(item.dataset.id ? { id: item.dataset.id } : {}),
    }));
    this.post({ action: 'edit', todos });
  }

  async post(body) {
    this.problem.textContent = '';
    this.said.textContent = '';
    const before = this.revision?.number;
    try {
      const answer = await send(this.token, 'plan', { base: this.form ? this.base : this.revision?.number ?? 0, ...body });
      if (this.revision?.number === before) this.said.textContent = ANSWERS[answer.done] ?? '';
      if (answer.refused) this.problem.textContent = `A change that was left before could not be made: ${answer.refused.join('; ')}`;
      if (this.form) this.close();
    } catch (error) {
      this.problem.textContent = error.message;
    }
  }
}

function control(name, label, act) {
  return button('', act, { class: 'icon', 'aria-label': label, title: label }, icon(name));
}
