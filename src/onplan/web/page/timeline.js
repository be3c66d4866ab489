// The transport: phases, key steps and the playhead on one line, the buttons and the clock below it.

import { append, button, h, icon, setAttributes, setText, svg } from './dom.js';
import { SPEEDS } from './state.js';
import { WORTH_A_ZOOM } from './zoom.js';
import { JUMPS } from './run.js';
import { clamp, elapsed, number, oneLine } from './words.js';

const NEAR = 5;
const TRACK = 30;
const TALL = {
  plan: 24, write: 24, edit: 24, compaction: 24, end: 24, reminder: 20, error: 20, refused: 20, denied: 20, interrupted: 20,
  approval: 16, user: 16, prefix: 12, resumed: 12, note: 10,
};
const KIND_WORDS = { plan: 'first plan', write: 'plan rewritten', edit: 'plan edited', error: 'error', user: 'message', end: 'end' };
const JUMP_LABELS = { write: ['Write', 'w'], reminder: ['Reminder', 'r'], error: ['Error', 'e'] };

export class Timeline {
  constructor(box, run, player, zoom, flipZoom) {
    this.run = run;
    this.zoom = zoom;
    this.flipZoom = flipZoom;
    this.player = player;
    this.phases = h('div', { class: 'phases', role: 'group', 'aria-label': 'Phases, one for each todo' });
    this.narrow = h('div', { class: 'phase-label', 'aria-hidden': 'true', hidden: true });
    this.root = svg('svg', { height: TRACK, 'aria-hidden': 'true' });
    this.head = h('div', { class: 'playhead' });
    this.tip = h('div', { class: 'tip', hidden: true });
    this.track = h('div', { class: 'track', role: 'slider', tabindex: '0', id: 'slider', 'aria-label': 'Step', 'aria-valuemin': 1 }, this.root, this.head, this.tip);
    append(box, [h('div', { class: 'phase-row' }, this.phases, this.narrow), this.track, this.controls()]);
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.track);
  }

  controls() {
    const { player } = this;
    this.playButton = button('', () => player.toggle(), { class: 'play', id: 'play', 'aria-keyshortcuts': 'Space' });
    this.counter = h('span', { class: 'counter' });
    this.title = h('p', { class: 'step-title', id: 'step-title' });
    this.clock = h('span', { class: 'clock' });
    this.speed = h('select', { id: 'speed', 'aria-label': 'Speed', onchange: () => player.setSpeed(Number(this.speed.value)) },
      SPEEDS.map((speed) => h('option', { value: speed }, `${speed}×`)));
    this.zoomButton = button('', () => this.flipZoom(), {
      class: 'icon', id: 'zoom', 'aria-pressed': 'false',
      'aria-label': 'Only what is around this step', title: 'Only what is around this step (z)',
    }, icon('zoom'));
    const control = (name, label, keys, act) => button('', act, { class: 'icon', 'aria-label': label, title: `${label} (${keys})` }, icon(name));
    return h('div', { class: 'controls' },
      h('div', { class: 'group' },
        control('first', 'First step', 'Home', () => { player.pause(); player.go(0); }),
        control('back', 'Step back', '←', () => player.move(-1)),
        this.playButton,
        control('forward', 'Step forward', '→', () => player.move(1)),
        control('last', 'Last step', 'End', () => { player.pause(); player.go(player.last); })),
      this.counter, this.title, this.clock, this.jumps(), this.zoomButton, this.speed);
  }

  jumps() {
    return h('div', { class: 'group jumps', role: 'group', 'aria-label': 'Jump to' }, Object.entries(JUMP_LABELS).map(([name, [label, key]]) => {
      const noun = label.toLowerCase();
      return button('', () => this.player.jump(JUMPS[name], 1), {
        class: `jump ${name}`, 'data-jump': name, 'aria-label': `Next ${noun}`,
        title: `Next ${noun} (${key}), previous (${key.toUpperCase()})`,
      }, label, h('i', {}));
    }));
  }

  listen() {
    const { track, player } = this;
    let held = false;
    track.addEventListener('pointerdown', (event) => {
      held = true;
      track.setPointerCapture(event.pointerId);
      player.pause();
      player.go(this.stepNear(this.xOfEvent(event)));
    });
    track.addEventListener('pointermove', (event) => {
      const x = this.xOfEvent(event);
      if (held) player.go(this.stepAt(x));
      this.showTip(x);
    });
    track.addEventListener('pointerup', () => { held = false; });
    track.addEventListener('pointerleave', () => { this.tip.hidden = true; });
  }

  xOfEvent(event) {
    return event.clientX - this.track.getBoundingClientRect().left;
  }

  xOf(step) {
    return this.zoom.share(step) * (this.width - 4) + 2;
  }

  stepAt(x) {
    return this.zoom.stepAt((x - 2) / (this.width - 4));
  }

  // A click close to a tall tick means the tick.
  stepNear(x) {
    const step = this.stepAt(x);
    const [low, high] = [this.stepAt(x - NEAR), this.stepAt(x + NEAR)];
    const near = this.run.keys.filter((key) => key.step >= low && key.step <= high);
    if (near.length === 0 || near.some((key) => key.step === step)) return step;
    return near.reduce((best, key) => (Math.abs(key.step - step) < Math.abs(best.step - step) ? key : best)).step;
  }

  showTip(x) {
    const step = this.stepNear(x);
    const kind = this.run.kind(step);
    this.tip.hidden = false;
    setText(this.tip, `${step + 1} · ${kind ? `${KIND_WORDS[kind] ?? kind}: ` : ''}${oneLine(this.run.title(step)).slice(0, 90)}`);
    this.tip.style.left = `${clamp(this.xOf(step), 0, this.width)}px`;
    this.tip.classList.toggle('from-right', x > this.width / 2);
  }

  draw() {
    this.width = this.track.clientWidth;
    if (this.width === 0) return;
    this.root.setAttribute('width', this.width);
    this.root.setAttribute('viewBox', `0 0 ${this.width} ${TRACK}`);
    this.past = svg('path', { class: 'past' });
    const rail = svg('path', { class: 'rail', d: `M0 ${TRACK - 4}H${this.width}` });
    this.root.replaceChildren(rail, this.past, ...this.shortTicks(), ...this.tallTicks());
    this.drawPhases();
    this.drawCounts();
    this.zoomButton.hidden = this.run.length < WORTH_A_ZOOM;
    this.zoomButton.setAttribute('aria-pressed', this.zoom.isOn);
    this.go(this.player.step);
  }

  shortTicks() {
    const { from, to } = this.zoom;
    if ((to - from) * 4 > this.width) return [];
    const ticks = Array.from({ length: to - from + 1 }, (_, place) => `M${this.xOf(from + place).toFixed(1)} ${TRACK - 8}v4`);
    return [svg('path', { class: 'tick', d: ticks.join('') })];
  }

  tallTicks() {
    const byKind = new Map();
    for (const { step, kind } of this.run.keys) {
      if (!this.zoom.shows(step)) continue;
      if (!byKind.has(kind)) byKind.set(kind, new Set());
      byKind.get(kind).add(Math.round(this.xOf(step)));
    }
    return [...byKind].map(([kind, places]) => {
      const tall = TALL[kind] ?? 12;
      const crowded = places.size * 5 > this.width;
      return svg('path', { class: `tall ${kind} ${crowded ? 'crowded' : ''}`, d: [...places].map((x) => `M${x} ${TRACK - 4}v${crowded ? -8 : -tall}`).join('') });
    });
  }

  // Of phases too narrow to be read only a coloured line is left.
  drawPhases() {
    const { run } = this;
    const phases = run.phaseList().filter((phase) => this.placeOf(phase).width >= 1.5);
    this.phases.replaceChildren(...phases.slice(0, 400).map((phase) => {
      const { left, width } = this.placeOf(phase);
      const begin = () => {
        this.player.pause();
        this.player.go(run.stepOf[phase.start]);
      };
      const node = button('', begin, {
        class: `phase ${phase.outcome ?? 'open'}`, 'data-phase': phase.index, title: phase.content,
      }, h('span', {}, oneLine(phase.content)));
      node.style.left = `${left}px`;
      node.style.width = `${Math.max(width - 2, 2)}px`;
      return node;
    }));
  }

  placeOf(phase) {
    const left = Math.max(0, this.xOf(this.run.stepOf[phase.start]));
    const right = Math.min(this.width, this.xOf(Math.min(this.run.phaseEnd(phase), this.run.length - 1)));
    return { left, width: right - left };
  }

  drawCounts() {
    for (const node of this.track.parentElement.querySelectorAll('[data-jump]')) {
      const kinds = JUMPS[node.dataset.jump];
      const count = this.run.keys.filter((key) => kinds.includes(key.kind)).length;
      setText(node.querySelector('i'), number(count));
      node.disabled = count === 0;
    }
  }

  go(step) {
    const { run, player } = this;
    const title = oneLine(run.title(step));
    if (this.width) {
      this.head.style.transform = `translateX(${this.xOf(step)}px)`;
      this.past.setAttribute('d', `M0 ${TRACK - 4}H${this.xOf(step)}`);
    }
    setAttributes(this.track, { 'aria-valuemax': run.length, 'aria-valuenow': step + 1, 'aria-valuetext': `${step + 1} of ${run.length}: ${title}` });
    setText(this.counter, `${number(step + 1)} / ${number(run.length)}`);
    setText(this.title, title);
    this.title.dataset.kind = run.kind(step);
    this.title.title = title;
    setText(this.clock, elapsed(run.value('at', step) / 1000));
    const current = run.phaseAt(step);
    for (const node of this.phases.children) node.classList.toggle('current', current !== undefined && Number(node.dataset.phase) === current.index);
    this.nameNarrow(current, step);
    this.showPlaying(player);
  }

  // A phase too narrow for its words gets them at the playhead.
  nameNarrow(phase, step) {
    const room = phase ? this.placeOf(phase).width : 0;
    this.narrow.hidden = !phase || room >= 48;
    if (this.narrow.hidden) return;
    setText(this.narrow, oneLine(phase.content).slice(0, 80));
    this.narrow.style.left = `${this.xOf(step)}px`;
    this.narrow.classList.toggle('from-right', this.xOf(step) > this.width / 2);
  }

  showPlaying(player) {
    const name = player.playing ? 'pause' : 'play';
    if (this.playButton.dataset.shows !== name) {
      this.playButton.dataset.shows = name;
      this.playButton.replaceChildren(icon(name));
      setAttributes(this.playButton, { 'aria-label': name === 'play' ? 'Play' : 'Pause', title: `${name === 'play' ? 'Play' : 'Pause'} (space)` });
    }
    this.speed.value = String(player.speed);
  }
}
