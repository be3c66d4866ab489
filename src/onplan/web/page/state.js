// Where the viewer is in the run, and the clock that plays it.

import { clamp } from './words.js';

export const SPEEDS = [0.5, 1, 2, 4, 10, 50];

export class Player {
  constructor(run) {
    this.run = run;
    this.step = 0;
    this.playing = false;
    this.speed = 1;
    this.following = false;
    this.listeners = [];
    this.timer = 0;
  }

  // `heard(player, cause)`: cause is go, play, speed, grown.
  listen(heard) {
    this.listeners.push(heard);
  }

  tell(cause) {
    for (const heard of this.listeners) heard(this, cause);
  }

  get last() {
    return this.run.length - 1;
  }

  go(step, cause = 'go') {
    const next = clamp(Math.round(step), 0, this.last);
    this.following = this.run.session.live === true && next === this.last;
    if (next === this.step && cause === 'go') return;
    this.step = next;
    this.tell(cause);
  }

  move(count) {
    this.pause();
    this.go(this.step + count);
  }

  jump(kinds, direction) {
    const step = this.run.nextKey(this.step, kinds, direction);
    if (step === undefined) return false;
    this.pause();
    this.go(step);
    return true;
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  play() {
    if (this.step >= this.last) this.go(0);
    this.playing = true;
    this.tell('play');
    this.tick();
  }

  pause() {
    clearTimeout(this.timer);
    if (!this.playing) return;
    this.playing = false;
    this.tell('play');
  }

  setSpeed(speed) {
    this.speed = speed;
    this.tell('speed');
  }

  faster(direction) {
    const place = SPEEDS.indexOf(this.speed) + direction;
    this.setSpeed(SPEEDS[clamp(place, 0, SPEEDS.length - 1)]);
  }

  // Above some 20 steps a second a tick takes several steps: the screen shows no more.
  tick() {
    const wait = Math.max(1000 / this.speed, 50);
    const count = Math.max(1, Math.round((wait * this.speed) / 1000));
    this.timer = setTimeout(() => {
      if (!this.playing) return;
      this.go(this.step + count);
      if (this.step >= this.last) this.pause();
      else this.tick();
    }, wait);
  }

  // New records came in live.
  grown(wasFollowing) {
    this.tell('grown');
    if (wasFollowing) this.go(this.last);
  }
}
