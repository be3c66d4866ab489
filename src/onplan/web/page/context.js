// The context window at a step as a list of rows: what a request begins with, what a compaction left out, messages.

export const PREFIX_ROW = -1;
const GAP_ROW = -2;

export class ContextRows {
  constructor(run) {
    this.run = run;
    this.views = [];
    this.go(0);
  }

  go(step) {
    const { run } = this;
    this.step = step;
    this.viewIndex = Math.max(0, run.windowCount(step) - 1);
    this.view = this.viewOf(this.viewIndex);
    this.hasGap = this.viewIndex > 0;
    this.lead = this.hasGap ? 2 : 1;
    this.messages = run.value('messages', step);
    this.prefix = run.prefix(step);
    this.count = this.lead + this.view.ids.length + Math.max(0, this.messages - this.view.since);
  }

  viewOf(index) {
    while (this.views.length <= index) this.views.push(this.viewFrom(this.run.windows[this.views.length]));
    return this.views[index];
  }

  viewFrom(window) {
    const ids = [];
    for (const [first, behind] of window.base ?? []) for (let id = first; id < behind; id++) ids.push(id);
    const shortened = window.shortened ?? {};
    const tokensBefore = [0];
    for (const id of ids) tokensBefore.push(tokensBefore.at(-1) + sizeOf(this.run.messages[id], shortened[id]));
    return { ids, since: window.since ?? 0, tokensBefore, shortened };
  }

  // A message's index, PREFIX_ROW, or less for what a compaction left out.
  idAt(position) {
    if (position === 0) return PREFIX_ROW;
    if (position < this.lead) return GAP_ROW;
    const place = position - this.lead;
    return place < this.view.ids.length ? this.view.ids[place] : this.view.since + place - this.view.ids.length;
  }

  keyAt(position) {
    const id = this.idAt(position);
    if (id === PREFIX_ROW) return `prefix ${this.prefix?.step ?? ''}`;
    if (id === GAP_ROW) return `gap ${this.viewIndex}`;
    return id in this.view.shortened ? `${id} shortened ${this.viewIndex}` : id;
  }

  positionOf(id) {
    if (id >= this.view.since) return id < this.messages ? this.lead + this.view.ids.length + id - this.view.since : -1;
    const place = this.view.ids.indexOf(id);
    return place < 0 ? -1 : this.lead + place;
  }

  shortenedText(id) {
    return this.view.shortened[id];
  }

  tokensOf(id) {
    return sizeOf(this.run.messages[id], this.view.shortened[id]);
  }

  // How many of the messages before this step are not in the window any more.
  get left() {
    return this.view.since - this.view.ids.length;
  }

  window() {
    return this.run.windows[this.viewIndex];
  }

  // Tokens of all rows before a position, the prefix included.
  tokensUntil(position) {
    if (position <= 0) return 0;
    const prefix = this.prefix?.tokens ?? 0;
    if (position <= this.lead) return prefix;
    const place = position - this.lead;
    const { ids, tokensBefore, since } = this.view;
    if (place <= ids.length) return prefix + tokensBefore[place];
    const { tokensBefore: all } = this.run;
    return prefix + tokensBefore[ids.length] + all[since + place - ids.length] - all[since];
  }
}

// As the harness counts what no provider has counted: four bytes are a token.
function sizeOf(message, shortened) {
  return shortened === undefined ? message.tokens : Math.ceil(new TextEncoder().encode(shortened).length / 4);
}
