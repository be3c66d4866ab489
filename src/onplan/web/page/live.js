// A running session: the first run from the server, then what is new in it, with the gap closed after a break.

export function access() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const query = new URLSearchParams(location.search);
  return fragment.get('token') ?? query.get('token') ?? '';
}

export async function fetchRun(token) {
  const answer = await fetch('api/run', { headers: { Authorization: `Bearer ${token}` }, cache: 'no-store' });
  if (!answer.ok) throw new Error(await problemOf(answer));
  return answer.json();
}

export async function send(token, path, body) {
  const answer = await fetch(`api/${path}`, {
    method: 'POST', headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` }, body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await problemOf(answer));
  return answer.json().catch(() => ({}));
}

async function problemOf(answer) {
  const text = await answer.text();
  try {
    return JSON.parse(text).error ?? text;
  } catch {
    return text || `the server answered ${answer.status}`;
  }
}

const FIRST_WAIT = 500;
const LONGEST_WAIT = 8000;

export class Follower {
  // heard: { piece(run), state('live' | 'waiting' | 'trouble' | 'refused', words), lost() }
  constructor(token, run, heard) {
    this.token = token;
    this.run = run;
    this.heard = heard;
    this.wait = FIRST_WAIT;
  }

  start() {
    const query = new URLSearchParams({ token: this.token, after: String(this.run.seq) });
    this.source = new EventSource(`api/events?${query}`);
    this.source.onopen = () => {
      this.wait = FIRST_WAIT;
      this.heard.state('live');
    };
    this.source.addEventListener('run', (event) => {
      this.heard.state('live');
      this.take(JSON.parse(event.data));
    });
    this.source.addEventListener('trouble', (event) => {
      const { error } = JSON.parse(event.data);
      this.heard.state(error ? 'trouble' : 'live', error);
    });
    this.source.onerror = () => this.broken();
  }

  // A piece that does not follow what is here (the log was salvaged, say) means: begin again.
  take(piece) {
    if (piece.after === this.run.seq) this.heard.piece(piece);
    else if (piece.after < this.run.seq && piece.seq <= this.run.seq && piece.after > 0) return;
    else {
      this.source.close();
      this.heard.lost();
    }
  }

  // The browser's own retry would ask for what came after a stale number: a new source asks for the right one.
  broken() {
    this.source.close();
    this.heard.state('waiting');
    setTimeout(() => this.again(), this.wait);
    this.wait = Math.min(this.wait * 2, LONGEST_WAIT);
  }

  // An event source does not tell a server that is gone from one that refuses: the latter is final.
  async again() {
    try {
      const answer = await fetch('api/seq', { headers: { Authorization: `Bearer ${this.token}` }, cache: 'no-store' });
      if (answer.ok) this.start();
      else if (answer.status === 401) this.heard.state('refused', 'The player was started anew and has another address now: open the one that it shows.');
      else this.broken();
    } catch {
      this.broken();
    }
  }
}
