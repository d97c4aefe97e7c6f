/** Sends the overview whenever it changes, as server-sent events. Does nothing while nobody listens. */
import type { ServerResponse } from 'node:http';
import type { Overview } from './api.js';

export interface Events {
  /** Answers with a stream that lasts until the client leaves, or until `stop`. */
  attach(reply: ServerResponse, headers: Record<string, string>): void;
  stop(): void;
}

const TICK_MS = 250;
/**
 * After this many ticks without a change (15 s), a comment is sent, so that no proxy closes the connection as
 * idle.
 */
const SILENCE_TICKS = 60;
/** Maximum number of open streams: enough for one person's windows. More are refused with 503. */
const MOST_LISTENERS = 32;
/** A client with this many unsent bytes has stopped reading, and gets no more events until it reads again. */
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

/** The overview as text, to see whether it has changed. While a job is unfinished, time alone is a change. */
function comparable(overview: Overview): string {
  return JSON.stringify(overview.jobs.unfinished > 0 ? overview : { ...overview, now: '' });
}
