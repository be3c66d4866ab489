// Elements from plain values. Text reaches the page as text nodes only: nothing here parses markup.

const SVG_SPACE = 'http://www.w3.org/2000/svg';

export function h(tag, props = {}, ...children) {
  return filled(document.createElement(tag), props, children);
}

export function svg(tag, props = {}, ...children) {
  return filled(document.createElementNS(SVG_SPACE, tag), props, children);
}

function filled(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? '' : String(value));
  }
  append(node, children);
  return node;
}

export function append(node, children) {
  for (const child of [children].flat(4)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export function byId(id) {
  return document.getElementById(id);
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setAttributes(node, values) {
  for (const [name, value] of Object.entries(values)) {
    if (node.getAttribute(name) !== String(value)) node.setAttribute(name, String(value));
  }
}

export function button(label, onclick, props = {}, ...children) {
  return h('button', { type: 'button', onclick, ...props }, ...(children.length ? children : [label]));
}

const ICONS = {
  play: 'M5 3.5v9l7.5-4.5z',
  pause: 'M4.5 3.5h2.5v9H4.5zM9 3.5h2.5v9H9z',
  back: 'M10.5 3.5L6 8l4.5 4.5',
  forward: 'M5.5 3.5L10 8l-4.5 4.5',
  first: 'M4 3.5v9M12 3.5L7.5 8l4.5 4.5',
  last: 'M12 3.5v9M4 3.5L8.5 8 4 12.5',
  check: 'M4.2 8.300l2.5 2.5 5-5.3',
  link: 'M6.8 9.200l2.4-2.400M7.2 5.200l1.3-1.300a2.5 2.5 0 0 1 3.6 3.600l-1.3 1.300M8.8 10.800l-1.3 1.300a2.5 2.5 0 0 1-3.6-3.600l1.3-1.3',
  theme: 'M8 2.500a5.5 5.5 0 1 0 0 11zM8 2.500a5.5 5.5 0 0 1 0 11',
  close: 'M4 4l8 8M12 4l-8 8',
  zoom: 'M2.5 5V3.5h3M13.5 5V3.5h-3M2.5 11v1.5h3M13.5 11v1.5h-3M5.5 8h5M8 5.5v5',
  up: 'M4 9.500L8 5.500l4 4',
  down: 'M4 6.500l4 4 4-4',
  plus: 'M8 3.500v9M3.5 8h9',
  edit: 'M3.5 12.500l.6-2.6 6.2-6.2 2 2-6.2 6.200zM9.2 4.800l2 2',
  undo: 'M5.5 3.500L3 6l2.5 2.500M3 6h6a3.2 3.2 0 0 1 0 6.500H6.5',
  redo: 'M10.5 3.500L13 6l-2.5 2.500M13 6H7a3.2 3.2 0 0 0 0 6.500h2.5',
};
const SOLID = new Set(['play', 'pause']);

export function icon(name) {
  const drawn = name === 'theme'
    ? [svg('circle', { cx: 8, cy: 8, r: 5.5 }), svg('path', { d: 'M8 2.5a5.5 5.5 0 0 1 0 11z', class: 'solid' })]
    : [svg('path', { d: ICONS[name], class: SOLID.has(name) ? 'solid' : undefined })];
  return svg('svg', { class: 'glyph', viewBox: '0 0 16 16', 'aria-hidden': 'true' }, drawn);
}
