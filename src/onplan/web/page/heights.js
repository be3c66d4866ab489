// The heights of rows, most of them guessed: offsets and the row at an offset in logarithmic time (a Fenwick tree).

export class Heights {
  constructor() {
    this.reset(0, () => 0);
  }

  reset(count, heightOf) {
    this.count = count;
    this.room = Math.max(16, 2 ** Math.ceil(Math.log2(count + 1)));
    this.heights = new Float64Array(this.room);
    this.tree = new Float64Array(this.room + 1);
    for (let index = 0; index < count; index++) this.heights[index] = heightOf(index);
    for (let index = 1; index <= this.room; index++) {
      this.tree[index] += this.heights[index - 1];
      const parent = index + (index & -index);
      if (parent <= this.room) this.tree[parent] += this.tree[index];
    }
  }

  resize(count, heightOf) {
    if (count > this.room) {
      const known = this.heights;
      const knownCount = this.count;
      this.reset(count, (index) => (index < knownCount ? known[index] : heightOf(index)));
      return;
    }
    for (let index = count; index < this.count; index++) this.set(index, 0);
    const before = this.count;
    this.count = count;
    for (let index = before; index < count; index++) this.set(index, heightOf(index));
  }

  set(index, height) {
    const change = height - this.heights[index];
    if (change === 0) return;
    this.heights[index] = height;
    for (let node = index + 1; node <= this.room; node += node & -node) this.tree[node] += change;
  }

  offset(index) {
    let sum = 0;
    for (let node = index; node > 0; node -= node & -node) sum += this.tree[node];
    return sum;
  }

  total() {
    return this.offset(this.count);
  }

  at(y) {
    let node = 0;
    let rest = y;
    for (let stride = this.room; stride > 0; stride >>= 1) {
      const next = node + stride;
      if (next > this.room || this.tree[next] > rest) continue;
      rest -= this.tree[next];
      node = next;
    }
    return Math.min(node, Math.max(0, this.count - 1));
  }
}
