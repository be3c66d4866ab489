// The tool lens: what the model sees of a tool beside what the runtime calls, and what would leak between them.

import { append, h } from './dom.js';
import { counted, number } from './words.js';

export class Lens {
  constructor(box, run) {
    this.box = box;
    this.run = run;
    this.chosen = null;
    this.leaking = false;
  }

  draw() {
    const { tools } = this.run;
    if (tools.length === 0) {
      this.box.replaceChildren(h('p', { class: 'empty' }, 'This session offered no tools.'));
      return;
    }
    this.chosen = tools.find((tool) => tool.name === this.chosen?.name) ?? clearest(tools);
    this.box.replaceChildren();
    append(this.box, [this.menu(tools), this.faces(this.chosen)]);
  }

  menu(tools) {
    const filled = tools.reduce((sum, tool) => sum + (tool.runtime?.length ?? 0), 0);
    const seen = tools.reduce((sum, tool) => sum + Object.keys(tool.input_schema?.properties ?? {}).length, 0);
    return h('nav', { class: 'tool-menu', 'aria-label': 'Tools' },
      h('h2', {}, counted(tools.length, 'tool')),
      h('ul', {}, tools.map((tool) => h('li', {}, h('button', {
        type: 'button', 'aria-current': tool.name === this.chosen.name ? 'true' : undefined, onclick: () => this.choose(tool),
      }, h('code', {}, tool.name), tool.runtime?.length ? h('span', { class: 'chip filled' }, `+${tool.runtime.length}`) : null)))),
      h('p', { class: 'quiet' }, `The model sees ${counted(seen, 'parameter')}; the runtime fills ${number(filled)} more.`));
  }

  choose(tool) {
    this.chosen = tool;
    this.draw();
    this.box.querySelector('[aria-current]').focus();
  }

  faces(tool) {
    const runtime = tool.runtime ?? [];
    const names = new Set(runtime.map((param) => param.name));
    const schema = this.leaking ? tool.leaked : tool.input_schema;
    return h('div', { class: 'lens' },
      h('header', {}, h('h2', {}, h('code', {}, tool.name)), runtime.length > 0 && this.toggle()),
      h('p', { class: 'lens-description' }, tool.description),
      h('div', { class: 'panes' },
        h('section', { class: 'pane seen', 'aria-label': 'What the model sees' }, h('h3', {}, 'What the model sees'),
          h('pre', {}, schemaLines(schema, names)), h('details', {}, h('summary', {}, 'the whole schema'), h('pre', {}, JSON.stringify(schema, null, 2)))),
        h('section', { class: 'pane called', 'aria-label': 'What the runtime calls' }, h('h3', {}, 'What the runtime calls'),
          h('pre', {}, signatureLines(tool, runtime)))),
      h('p', { class: 'lens-count', role: 'status' }, this.count(tool, runtime)));
  }

  toggle() {
    const input = h('input', { type: 'checkbox', role: 'switch', id: 'leak', onchange: () => {
      this.leaking = input.checked;
      this.draw();
      this.box.querySelector('#leak').focus();
    } });
    input.checked = this.leaking;
    return h('label', { class: 'switch' }, input, h('span', {}, 'Take the injection away'));
  }

  count(tool, runtime) {
    const seen = Object.keys((this.leaking ? tool.leaked : tool.input_schema)?.properties ?? {}).length;
    const called = Object.keys(tool.input_schema?.properties ?? {}).length + runtime.length;
    const faces = `${counted(seen, 'parameter')} on the left, ${number(called)} on the right.`;
    if (runtime.length === 0) return `${faces} The two views agree: nothing is filled in.`;
    const more = tool.leaked_size - tool.seen_size;
    if (!this.leaking) {
      return `${faces} The runtime fills the gap of ${number(runtime.length)}; `
        + `taking the injection away would put ${number(more)} more characters into every request.`;
    }
    const names = runtime.map((param) => param.name).join(', ');
    return `${faces} ${names} leaked: ${number(more)} more characters in every request, `
      + `and the model has to invent the ${runtime.length === 1 ? 'value' : 'values'}.`;
  }
}

// The tool where the two views are furthest apart: the model sends nothing, the runtime fills all.
function clearest(tools) {
  const filled = tools.filter((tool) => tool.runtime?.length);
  return filled.find((tool) => Object.keys(tool.input_schema?.properties ?? {}).length === 0) ?? filled[0] ?? tools[0];
}

function schemaLines(schema, leaked) {
  const properties = Object.entries(schema?.properties ?? {});
  if (properties.length === 0) return '{}';
  const required = new Set(schema.required ?? []);
  return ['{\n', properties.map(([name, value]) => {
    const words = leaked.has(name) ? value.description ?? 'any' : typeWords(value);
    return h('span', { class: leaked.has(name) ? 'leaked' : '' }, '  ', h('b', {}, JSON.stringify(name)), `: "${words}${required.has(name) ? '' : ' (optional)'}"\n`);
  }), '}'];
}

function typeWords(schema) {
  if (schema.enum) return schema.enum.map(String).join(' | ');
  if (schema.type === 'array') return `array of ${schema.items ? typeWords(schema.items) : 'any'}`;
  const kinds = [schema, ...(schema.anyOf ?? [])].map((kind) => kind.type).filter(Boolean);
  return kinds.join(' or ') || 'any';
}

function signatureLines(tool, runtime) {
  const required = new Set(tool.input_schema?.required ?? []);
  const seen = Object.entries(tool.input_schema?.properties ?? {});
  return [`${tool.name}(\n`,
    seen.map(([name, schema]) => h('span', {}, '  ', h('b', {}, name), `: ${typeWords(schema)}${required.has(name) ? '' : ' = …'},\n`)),
    runtime.map((param) => h('span', { class: 'injected' }, '  ', h('b', {}, param.name), `: ${param.type},`, h('i', {}, '  filled in by the runtime'), '\n')),
    ')'];
}
