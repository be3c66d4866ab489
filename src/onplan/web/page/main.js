// Puts the page together: the run, the parts that show it, and what joins them.

import { byId, h, icon, setText } from './dom.js';
import { ContextRows } from './context.js';
import { Charts } from './charts.js';
import { Figures } from './figures.js';
import { Graph } from './graph.js';
import { Approvals, PlanEditor } from './inbox.js';
import { bindKeys, fillSheet } from './keys.js';
import { Lens } from './lens.js';
import { Follower, access, fetchRun } from './live.js';
import { VirtualList } from './list.js';
import { MessageRows } from './message.js';
import { PlanPanel } from './plan.js';
import { Run } from './run.js';
import { Search } from './search.js';
import { Player } from './state.js';
import { Strip } from './strip.js';
import { flipTheme, restoreTheme } from './theme.js';
import { Timeline } from './timeline.js';
import { clamp, counted, dated, number } from './words.js';
import { WORTH_A_ZOOM, Zoom } from './zoom.js';

const LIVE_WORDS = { live: 'Live', idle: 'Idle', waiting: 'Connecting again…', trouble: 'The log cannot be read', refused: 'Not connected' };

class Page {
  constructor(run, token) {
    this.run = run;
    this.token = token;
    this.player = new Player(run);
    this.rows = new ContextRows(run);
    const reveal = (index) => this.reveal(index);
    const go = (step) => this.visit(step);
    this.messages = new MessageRows(run, this.rows, { reveal, go, remeasure: () => this.list.remeasure() });
    this.list = new VirtualList(byId('context'));
    this.graph = new Graph(byId('graph'), run);
    this.figures = new Figures(byId('bar'), run);
    this.strip = new Strip(byId('strip'), run, this.rows, (position) => this.list.reveal(position));
    this.plan = new PlanPanel(byId('plan'), run, { go });
    this.zoom = new Zoom(run);
    this.charts = new Charts(byId('charts'), run, this.zoom, go);
    this.timeline = new Timeline(byId('transport'), run, this.player, this.zoom, () => this.flipZoom());
    this.search = new Search(byId('query'), byId('hits'), run, { open: (index) => this.openHit(index), marked: () => this.mark() });
    this.lens = new Lens(byId('view-tools'), run);
    this.player.listen((player, cause) => this.heard(cause));
    this.bind();
  }

  start() {
    const { step, tab } = this.linked();
    this.head();
    const { session, keys } = this.run;
    const first = session.live && !session.ended ? this.player.last : keys[0]?.step ?? 0;
    this.player.step = clamp(step ?? first, 0, this.player.last);
    this.player.following = session.live === true && this.player.step === this.player.last;
    this.show(false);
    this.showTab(tab ?? 'run');
    document.body.dataset.ready = 'true';
  }

  head() {
    const { session } = this.run;
    setText(byId('title'), session.title || `Session ${session.id}`);
    const facts = [
      session.id, session.parent ? `forked from ${session.parent}` : '', session.model, session.created ? dated(session.created) : '',
      session.ended && session.ended !== 'done' ? `ended: ${session.ended.replaceAll('_', ' ')}` : '',
    ];
    setText(byId('facts'), facts.filter(Boolean).join('  ·  '));
    document.title = `${session.title || session.id} · onplan`;
  }

  // --- moving ---

  heard(cause) {
    if (cause === 'go' || cause === 'grown') this.show(true);
    this.timeline.showPlaying(this.player);
  }

  show(announce) {
    const { step } = this.player;
    const viewBefore = this.rows.view;
    this.rows.go(step);
    this.messages.go(step);
    this.list.atEnd = true;
    this.list.show(this.messages, { sameRows: viewBefore === this.rows.view });
    if (!this.addsMessage(step)) this.list.keepInSight(byId('context').querySelector('.call.current'));
    this.graph.go(step);
    this.figures.go(step);
    this.strip.go();
    this.plan.go(step);
    if (this.zoom.follow(step)) this.drawScale();
    this.charts.move(step);
    this.timeline.go(step);
    this.mark();
    this.note();
    if (announce && !this.player.playing) setText(byId('announce'), this.run.title(step));
    this.remember();
  }

  flipZoom() {
    if (this.run.length < WORTH_A_ZOOM) return;
    this.zoom.flip(this.player.step);
    this.drawScale();
  }

  drawScale() {
    this.timeline.draw();
    this.charts.draw();
  }

  addsMessage(step) {
    return step > 0 && this.run.value('messages', step) > this.run.value('messages', step - 1);
  }

  note() {
    const { rows } = this;
    const left = rows.left > 0 ? `, ${number(rows.left)} left out` : '';
    setText(byId('window-note'), `${counted(rows.count - rows.lead, 'message')}${left}`);
  }

  visit(step) {
    this.player.pause();
    this.player.go(step);
  }

  // Shows a message: at this step if it is in the window, else at the step that added it.
  reveal(index) {
    if (index === undefined || index < 0) return;
    this.player.pause();
    if (this.rows.positionOf(index) < 0) this.player.go(this.run.stepOf[this.run.messages[index].step]);
    const position = this.rows.positionOf(index);
    if (position < 0) return;
    const node = this.list.reveal(position);
    for (const lit of document.querySelectorAll('.flash')) lit.classList.remove('flash');
    void node.offsetWidth; // else the animation would not begin anew
    node.classList.add('flash');
    this.mark();
  }

  openHit(index) {
    this.messages.unfold(index);
    this.showTab('run');
    this.reveal(index);
  }

  mark() {
    this.search.mark(byId('context'));
  }

  phase(direction) {
    const starts = this.run.phaseList().map((phase) => this.run.stepOf[phase.start]);
    const { step } = this.player;
    const next = direction > 0 ? starts.find((start) => start > step) : starts.findLast((start) => start < step);
    if (next !== undefined) this.visit(next);
  }

  // --- links, views, theme ---

  linked() {
    const values = new URLSearchParams(location.hash.slice(1));
    const step = Number.parseInt(values.get('step'), 10);
    return { step: Number.isNaN(step) ? undefined : step - 1, tab: values.get('tab') ?? undefined };
  }

  remember() {
    clearTimeout(this.remembering);
    this.remembering = setTimeout(() => {
      const values = new URLSearchParams(location.hash.slice(1));
      const goesOn = this.player.following && !this.run.session.ended; // also when the page is loaded anew
      if (goesOn) values.delete('step');
      else values.set('step', String(this.player.step + 1));
      if (this.tab === 'tools') values.set('tab', 'tools');
      else values.delete('tab');
      history.replaceState(null, '', `#${values}`);
    }, 400); // some browsers refuse more than three a second
  }

  copyLink() {
    const values = new URLSearchParams(location.hash.slice(1));
    values.set('step', String(this.player.step + 1));
    const link = `${location.href.split('#')[0]}#${values}`;
    navigator.clipboard?.writeText(link).then(() => setText(byId('announce'), 'Link copied'), () => {});
    byId('link').classList.add('did');
    setTimeout(() => byId('link').classList.remove('did'), 900);
  }

  showTab(name) {
    this.tab = name === 'tools' ? 'tools' : 'run';
    for (const tab of ['run', 'tools']) {
      const chosen = tab === this.tab;
      byId(`view-${tab}`).hidden = !chosen;
      byId(`tab-${tab}`).setAttribute('aria-selected', chosen);
      byId(`tab-${tab}`).tabIndex = chosen ? 0 : -1;
    }
    if (this.tab === 'tools') this.lens.draw();
    this.remember();
  }

  bind() {
    const sheet = byId('keys');
    fillSheet(sheet);
    byId('window-tools').append(legend());
    byId('link').append(icon('link'));
    byId('theme').append(icon('theme'));
    byId('help').append(h('span', { 'aria-hidden': 'true' }, '?'));
    byId('link').onclick = () => this.copyLink();
    byId('theme').onclick = flipTheme;
    byId('help').onclick = () => sheet.showModal();
    for (const tab of ['run', 'tools']) byId(`tab-${tab}`).onclick = () => this.showTab(tab);
    byId('tab-run').parentElement.addEventListener('keydown', (event) => {
      if (!['ArrowLeft', 'ArrowRight'].includes(event.key)) return;
      this.showTab(this.tab === 'run' ? 'tools' : 'run');
      byId(`tab-${this.tab}`).focus();
    });
    addEventListener('hashchange', () => {
      const { step, tab } = this.linked();
      if (step !== undefined) this.visit(step);
      if (tab) this.showTab(tab);
    });
    byId('context').addEventListener('pointerover', (event) => this.link(event.target));
    byId('context').addEventListener('focusin', (event) => this.link(event.target));
    byId('context').addEventListener('scroll', () => this.search.query && this.mark(), { passive: true });
    bindKeys({
      player: this.player, jump: (kinds, direction) => this.player.jump(kinds, direction),
      showTab: (name) => this.showTab(name), flipTheme, copyLink: () => this.copyLink(),
      zoom: () => this.flipZoom(), search: () => byId('query').select(), sheet: () => sheet.showModal(), phase: (direction) => this.phase(direction),
    });
  }

  // Pointing at a call lights its result, and the other way round.
  link(target) {
    const list = byId('context');
    for (const node of list.querySelectorAll('.linked')) node.classList.remove('linked');
    const call = target.closest('.call');
    const row = target.closest('.row.tool');
    const index = call ? Number(call.dataset.call) : row ? this.run.messages[row.dataset.message].call : -1;
    if (index < 0) return;
    list.querySelector(`.call[data-call="${index}"]`)?.classList.add('linked');
    list.querySelector(`.row[data-message="${this.run.results.get(index)}"]`)?.classList.add('linked');
  }

  // --- a running session ---

  follow() {
    this.approvals = new Approvals(byId('asked'), this.run, this.token);
    this.editor = new PlanEditor(this.plan, this.run, this.token);
    this.approvals.draw();
    new Follower(this.token, this.run, {
      piece: (piece) => this.grow(piece),
      state: (state, words) => this.showLive(state, words),
      lost: () => location.reload(),
    }).start();
  }

  grow(piece) {
    const { following } = this.player;
    this.run.append(piece);
    this.head();
    this.showLive(this.connection);
    this.graph.draw();
    this.drawScale();
    this.player.grown(following);
    this.approvals.draw();
    this.editor.grown();
  }

  // A session is live while a turn runs in it.
  showLive(connection, words = '') {
    this.connection = connection;
    const state = connection === 'live' && this.run.session.ended ? 'idle' : connection;
    const badge = byId('live');
    badge.hidden = false;
    badge.dataset.state = state;
    setText(badge, LIVE_WORDS[state]);
    badge.title = words;
    if (state === 'refused') byId('asked').before(h('p', { class: 'trouble notice-line', role: 'alert' }, words));
  }
}

function legend() {
  const kinds = [['user', 'you'], ['assistant', 'model'], ['tool', 'tool'], ['note', 'note'], ['plan', 'the plan']];
  return h('span', { class: 'legend' }, kinds.map(([kind, words]) => [h('i', { class: `block ${kind}` }), words]));
}

function showProblem(words) {
  document.querySelector('main').replaceChildren(h('p', { class: 'problem', role: 'alert' }, words));
  document.body.dataset.ready = 'problem';
}

async function begin() {
  restoreTheme();
  const inside = byId('run').textContent.trim();
  const token = access();
  try {
    const whole = inside ? JSON.parse(inside) : await fetchRun(token);
    if (whole.steps.at.length === 0) {
      showProblem('This session has no records yet.');
      if (!inside) setTimeout(() => location.reload(), 2000);
      return;
    }
    const page = new Page(new Run(whole), token);
    page.start();
    if (!inside) page.follow();
  } catch (error) {
    showProblem(`The run cannot be shown: ${error.message}`);
  }
}

begin();
