// The part of the run that timeline and charts show: the whole, or what lies around the playhead.

import { clamp } from './words.js';

const SMALLEST = 60;
const LARGEST = 400;
export const WORTH_A_ZOOM = 150;

export class Zoom {
  constructor(run) {
    this.run = run;
    this.isOn = false;
    this.center = 0;
  }

  get from() {
    return this.isOn ? clamp(this.center - this.half, 0, Math.max(0, this.last - 2 * this.half)) : 0;
  }

  get to() {
    return this.isOn ? Math.min(this.from + 2 * this.half, this.last) : this.last;
  }

  get last() {
    return Math.max(1, this.run.length - 1);
  }

  get half() {
    return Math.round(clamp(this.run.length / 10, SMALLEST, LARGEST) / 2);
  }

  flip(step) {
    this.isOn = !this.isOn;
    this.center = step;
  }

  // Keeps the step in sight; true where that moved what is shown.
  follow(step) {
    const room = this.half * 0.2;
    const left = this.from === 0 ? 0 : this.from + room;
    const right = this.to === this.last ? this.last : this.to - room;
    if (!this.isOn || (step >= left && step <= right)) return false;
    this.center = step;
    return true;
  }

  // 0 at the left edge, 1 at the right.
  share(step) {
    return (step - this.from) / Math.max(1, this.to - this.from);
  }

  stepAt(share) {
    return clamp(Math.round(this.from + share * (this.to - this.from)), 0, this.run.length - 1);
  }

  shows(step) {
    return step >= this.from && step <= this.to;
  }
}
