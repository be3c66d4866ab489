// The plan beside the context window: the todos at this step, and what the step changed in them.

import { append, button, h, setText } from './dom.js';
import { statusMark } from './pieces.js';
import { counted, number } from './words.js';

const CHANGES = { added: 'added', started: 'started', finished: 'finished', reopened: 'reopened', paused: 'paused' };

export class PlanPanel {
  // actions: { go(step) }
  constructor(box, run, actions) {
    this.run = run;
    this.actions = actions;
    this.count = h('span', { class: 'plan-count' });
    this.bar = h('div', { class: 'progress' }, (this.fill = h('div', { class: 'progress-fill' })));
    this.list = h('ol', { class: 'todos' });
    this.news = h('div', { class: 'plan-news' });
    this.tools = h('div', { class: 'plan-tools' });
    this.body = h('div', { class: 'plan-body' }, this.list, this.news);
    append(box, [h('div', { class: 'panel-head' }, h('h2', {}, 'Plan'), this.count, this.tools), this.bar, this.body]);
  }

  go(step) {
    const { run } = this;
    const revision = run.revision(step);
    const changed = run.changedPlan(step);
    const state = `${revision?.number} ${changed} ${changed ? '' : step}`;
    if (state === this.state) return;
    this.state = state;
    this.drawHead(revision);
    this.drawTodos(revision, changed);
    this.drawNews(revision, changed, step);
  }

  drawHead(revision) {
    const total = revision?.todos.length ?? 0;
    const done = revision?.done ?? 0;
    setText(this.count, revision ? `${done} of ${total} done · revision ${revision.number}` : '');
    this.fill.style.width = `${total ? (100 * done) / total : 0}%`;
    this.bar.hidden = total === 0;
  }

  drawTodos(revision, changed) {
    const marks = changed ? changesOf(revision.diff ?? {}) : new Map();
    const todos = revision?.todos ?? [];
    this.list.replaceChildren(...todos.map((todo) => this.todoItem(todo, marks.get(todo.content))));
    if (todos.length === 0) this.list.append(h('li', { class: 'none' }, revision ? 'The plan is empty.' : 'No plan yet.'));
  }

  // A todo that was worked on leads to where that began.
  todoItem(todo, changes = []) {
    const phase = this.run.phaseList().find((each) => each.todo === todo.key);
    const begun = phase && this.run.stepOf[phase.start];
    return h('li', { class: `todo ${todo.status} ${changes.length ? 'changed' : ''}` }, statusMark(todo.status),
      phase ? button(todo.content, () => this.actions.go(begun), { class: 'content', title: `Begun at step ${begun + 1}` })
        : h('span', { class: 'content' }, todo.content),
      changes.map((change) => h('span', { class: `chip ${change}` }, change)));
  }

  drawNews(revision, changed, step) {
    if (!revision) return this.news.replaceChildren();
    const when = this.run.stepOf[revision.step];
    const diff = changed ? revision.diff ?? {} : {};
    this.news.replaceChildren();
    append(this.news, [
      changed ? h('h3', {}, newsTitle(revision)) : null,
      (diff.dropped ?? []).map((content) => h('p', { class: 'dropped' }, h('span', { class: 'chip bad' }, 'dropped'), h('s', {}, content))),
      (diff.cleared ?? []).map((content) => h('p', { class: 'dropped' }, h('span', { class: 'chip' }, 'cleared'), h('s', {}, content))),
      (diff.renamed ?? []).map(([old, name]) => h('p', {}, h('span', { class: 'chip' }, 'renamed'), h('span', {}, h('s', {}, old), ` ${name}`))),
      changed ? null : h('p', { class: 'quiet' }, `Last changed ${counted(step - when, 'step')} ago, `,
        h('button', { type: 'button', class: 'ref', onclick: () => this.actions.go(when) }, `at step ${number(when + 1)}`),
        revision.author === 'user' ? ', by you' : ''),
    ]);
    return undefined;
  }
}

function newsTitle(revision) {
  const who = revision.author === 'user' ? 'You' : 'The model';
  const did = { undo: 'took the last change back', redo: 'brought a change back', edit: 'edited the plan' }[revision.action];
  return `${who} ${did ?? (revision.number === 1 ? 'wrote the first plan' : 'rewrote the plan')} in this step`;
}

function changesOf(diff) {
  const marks = new Map();
  for (const [name, word] of Object.entries(CHANGES)) {
    for (const content of diff[name] ?? []) marks.set(content, [...(marks.get(content) ?? []), word]);
  }
  for (const [, name] of diff.renamed ?? []) marks.set(name, [...(marks.get(name) ?? []), 'renamed']);
  return marks;
}
