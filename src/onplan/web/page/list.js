// A list of any length of which only the rows in sight exist. Rows keep their nodes while they stay in sight.

import { h } from './dom.js';
import { Heights } from './heights.js';

const BEYOND = 300;

export class VirtualList {
  // source: { count, keyAt(index), guess(index), make(index), update(node, index) }; keys are stable over steps.
  constructor(box) {
    this.box = box;
    this.sizer = h('div', { class: 'sizer', role: 'presentation' });
    this.slice = h('div', { class: 'slice', role: 'presentation' });
    this.sizer.append(this.slice);
    box.append(this.sizer);
    this.heights = new Heights();
    this.measured = new Map();
    this.nodes = new Map();
    this.atEnd = true;
    this.lastTop = 0;
    this.source = null;
    box.addEventListener('scroll', () => this.scrolled(), { passive: true });
    new ResizeObserver(() => this.resized()).observe(box);
  }

  show(source, { sameRows }) {
    this.source = source;
    const heightOf = (index) => this.measured.get(source.keyAt(index)) ?? source.guess(index);
    if (sameRows) this.heights.resize(source.count, heightOf);
    else this.heights.reset(source.count, heightOf);
    this.render();
  }

  reveal(index) {
    this.atEnd = false;
    for (let pass = 0; pass < 3; pass++) {
      this.scrollTo(this.heights.offset(index) - this.box.clientHeight * 0.25);
      this.render();
    }
    return this.nodes.get(this.source.keyAt(index));
  }

  // A long row ends at the bottom: what it is about may be above the upper edge.
  keepInSight(node) {
    if (!node) return;
    const above = this.box.getBoundingClientRect().top + 8 - node.getBoundingClientRect().top;
    if (above <= 0) return;
    this.atEnd = false;
    this.scrollTo(this.box.scrollTop - above);
    this.render();
  }

  remeasure() {
    this.render();
  }

  resized() {
    const width = this.box.clientWidth;
    if (width !== this.width) {
      this.width = width;
      this.measured.clear();
    }
    if (this.source) this.render();
  }

  scrolled() {
    if (!this.source || Math.abs(this.box.scrollTop - this.lastTop) < 1) return;
    this.lastTop = this.box.scrollTop;
    this.atEnd = this.lastTop + this.box.clientHeight >= this.heights.total() - 2;
    this.render();
  }

  scrollTo(top) {
    this.box.scrollTop = top;
    this.lastTop = this.box.scrollTop;
  }

  render() {
    const { heights, source, box } = this;
    if (source.count === 0) {
      this.slice.replaceChildren();
      this.sizer.style.height = '0px';
      return;
    }
    for (let pass = 0; pass < 4; pass++) {
      this.sizer.style.height = `${heights.total()}px`;
      const bottom = Math.max(0, heights.total() - box.clientHeight);
      if (this.atEnd) this.scrollTo(bottom);
      const top = this.atEnd ? bottom : box.scrollTop;
      const first = heights.at(Math.max(0, top - BEYOND));
      const last = heights.at(top + box.clientHeight + BEYOND);
      const anchor = heights.at(top);
      const within = top - heights.offset(anchor);
      this.place(first, last);
      if (!this.measure(first, last)) break;
      if (!this.atEnd) this.scrollTo(heights.offset(anchor) + within);
    }
    this.slice.style.top = `${heights.offset(this.first)}px`;
  }

  place(first, last) {
    const wanted = new Map();
    for (let index = first; index <= last; index++) {
      const key = this.source.keyAt(index);
      const node = this.nodes.get(key) ?? this.source.make(index);
      this.source.update(node, index);
      wanted.set(key, node);
    }
    for (const [key, node] of this.nodes) if (!wanted.has(key)) node.remove();
    let next = this.slice.firstChild;
    for (const node of wanted.values()) {
      if (node === next) next = next.nextSibling;
      else this.slice.insertBefore(node, next);
    }
    this.nodes = wanted;
    this.first = first;
    this.slice.style.top = `${this.heights.offset(first)}px`;
  }

  measure(first, last) {
    let changed = false;
    for (let index = first; index <= last; index++) {
      const key = this.source.keyAt(index);
      const height = this.nodes.get(key).getBoundingClientRect().height;
      this.measured.set(key, height);
      if (Math.abs(this.heights.heights[index] - height) < 0.5) continue;
      this.heights.set(index, height);
      changed = true;
    }
    return changed;
  }
}
