/** Sends the overview as it changes, as server-sent events. Idle while nobody listens. */
import type { ServerResponse } from 'node:http';
import type { Overview } from './page/wire.js';

export interface Events {
  /** Answers with a stream that lasts until the client leaves, or `stop`. */
  attach(reply: ServerResponse, headers: Record<string, string>): void;
  stop(): void;
}

const TICK_MS = 250;
/** A comment keeps connections open that an intermediary would find idle. */
const SILENCE_TICKS = 60;
/** Enough for one person's browser windows; more are refused. */
const MOST_LISTENERS = 32;
/** A client that stops reading gets no more events beyond this many unsent bytes. */
const MOST_UNSENT = 64 * 1024;

export function createEvents(overview: () => Overview): Events {
  const listeners = new Set<ServerResponse>();
  let timer: NodeJS.Timeout | undefined;
  let last = '';
  let silence = 0;

  function tick(): void {
    const current = overview();
    const text = comparable(current);
    silence++;
    if (text !== last) send(`data: ${JSON.stringify(current)}\n\n`);
    else if (silence >= SILENCE_TICKS) send(': nothing new\n\n');
    last = text;
  }

  function send(text: string): void {
    silence = 0;
    for (const reply of listeners) if (reply.writableLength < MOST_UNSENT) reply.write(text);
  }

  return {
    attach(reply, headers) {
      if (listeners.size >= MOST_LISTENERS) {
        reply.writeHead(503, headers).end();
        return;
      }
      reply.writeHead(200, { ...headers, 'content-type': 'text/event-stream; charset=utf-8' });
      reply.write(`retry: 1000\ndata: ${JSON.stringify(overview())}\n\n`);
      listeners.add(reply);
      timer ??= setInterval(tick, TICK_MS);
      reply.once('close', () => {
        listeners.delete(reply);
        if (listeners.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      });
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
      for (const reply of listeners) reply.end();
    },
  };
}

/** While jobs are under way each moment is another one; else time alone changes nothing. */
function comparable(overview: Overview): string {
  return JSON.stringify(overview.jobs.unfinished > 0 ? overview : { ...overview, now: '' });
}
